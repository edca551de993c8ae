package code

import (
	"regexp"
	"strings"
)

var (
	goModule  = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)
	goVersion = regexp.MustCompile(`(?m)^go\s+(\S+)`)
	javaWord  = regexp.MustCompile(`(?s)<(?:maven\.compiler\.release|java\.version)>\s*([^<\s]+)\s*<`)
)

// group is a pattern's first group in a text; "" = it does not match.
func group(p *regexp.Regexp, text string) string {
	if m := p.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func golang(f folder) []string {
	file := f.first("go.work", "go.mod")
	if file == "" {
		return nil
	}
	text := f.read(file)
	what := "Go" + version(group(goVersion, text))
	if m := plain(group(goModule, text)); m != "" {
		what += ", module " + m
	}
	if file == "go.work" && !f.has("go.mod") {
		return []string{line(what+", a workspace of several modules", file, "build and test each module in its own folder with `go build ./...` and `go test ./...`")}
	}
	vet := does("check", "go vet ./...")
	if f.first(".golangci.yml", ".golangci.yaml", ".golangci.toml") != "" {
		vet = does("check", "golangci-lint run")
	}
	return []string{line(what, file, does("build", "go build ./..."), does("test", "go test ./..."), vet)}
}

func rust(f folder) []string {
	if !f.has("Cargo.toml") {
		return nil
	}
	t := parseTables(f.read("Cargo.toml"))
	what := "Rust" + edition(t.text("package", "edition"))
	if n := plain(t.text("package", "name")); n != "" {
		what += ", crate " + n
	}
	all := ""
	if t.has("workspace") {
		what, all = what+", a workspace", " --workspace"
	}
	return []string{line(what, "Cargo.toml", does("build", "cargo build"+all), does("test", "cargo test"+all), does("check", "cargo clippy"+all))}
}

func edition(s string) string {
	if v := version(s); v != "" {
		return " edition" + v
	}
	return ""
}

func jvm(f folder) []string {
	var out []string
	if f.has("pom.xml") {
		mvn := "mvn"
		if f.has("mvnw") {
			mvn = "./mvnw"
		}
		out = append(out, line("Java"+version(group(javaWord, f.read("pom.xml")))+" with Maven", "pom.xml", does("build", mvn+" package"), does("test", mvn+" test")))
	}
	if file := f.first("build.gradle.kts", "build.gradle"); file != "" {
		gradle := "gradle"
		if f.has("gradlew") {
			gradle = "./gradlew"
		}
		what := "Java with Gradle"
		if strings.Contains(f.read(file), "kotlin") {
			what = "Kotlin with Gradle"
		}
		out = append(out, line(what, file, does("build", gradle+" build"), does("test", gradle+" test")))
	}
	return out
}

func dotnet(f folder) []string {
	for _, end := range []string{".sln", ".slnx", ".csproj", ".fsproj"} {
		if file := plain(f.ending(end)); file != "" {
			return []string{line(".NET", file, does("build", "dotnet build"), does("test", "dotnet test"))}
		}
	}
	return nil
}

func swift(f folder) []string {
	if !f.has("Package.swift") {
		return nil
	}
	return []string{line("Swift", "Package.swift", does("build", "swift build"), does("test", "swift test"))}
}

func cmake(f folder) []string {
	if !f.has("CMakeLists.txt") {
		return nil
	}
	test := ""
	if strings.Contains(strings.ToLower(f.read("CMakeLists.txt")), "enable_testing") {
		test = does("test", "ctest --test-dir build")
	}
	return []string{line("C or C++ with CMake", "CMakeLists.txt", does("build", "cmake -B build && cmake --build build"), test)}
}
