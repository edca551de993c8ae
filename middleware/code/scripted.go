package code

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/tailscale/hujson"
)

// known are the tasks that are told of, in this order. Others stand in the files, for whoever looks.
func known() []string {
	return []string{"build", "compile", "test", "check", "lint", "typecheck", "type-check", "format", "fmt"}
}

func node(f folder) []string {
	if !f.has("package.json") {
		return nil
	}
	var p struct {
		Name           string          `json:"name"`
		PackageManager string          `json:"packageManager"`
		Scripts        map[string]any  `json:"scripts"`
		Engines        map[string]any  `json:"engines"`
		Workspaces     json.RawMessage `json:"workspaces"`
		Dev            map[string]any  `json:"devDependencies"`
		Deps           map[string]any  `json:"dependencies"`
	}
	if json.Unmarshal([]byte(f.read("package.json")), &p) != nil {
		return []string{line("JavaScript, with a manifest that cannot be parsed", "package.json")}
	}
	what := "JavaScript"
	if f.has("tsconfig.json") || p.Dev["typescript"] != nil || p.Deps["typescript"] != nil {
		what = "TypeScript"
	}
	if n, ok := p.Engines["node"].(string); ok && version(n) != "" {
		what += " for Node" + version(n)
	}
	if n := plain(p.Name); n != "" {
		what += ", package " + n
	}
	if len(p.Workspaces) > 0 || f.has("pnpm-workspace.yaml") {
		what += ", a workspace"
	}
	manager := manager(f, p.PackageManager)
	commands := []string{does("install", manager+" install")}
	for _, s := range known() {
		if text, ok := p.Scripts[s].(string); ok && !strings.Contains(text, "no test specified") {
			commands = append(commands, does(s, manager+" run "+s))
		}
	}
	return []string{line(what, "package.json", commands...)}
}

// manager is who installs packages: as the manifest says, else as the lock file does.
func manager(f folder, said string) string {
	name, _, _ := strings.Cut(said, "@")
	switch {
	case name == "npm", name == "pnpm", name == "yarn", name == "bun":
		return name
	case f.has("pnpm-lock.yaml"):
		return "pnpm"
	case f.has("yarn.lock"):
		return "yarn"
	case f.first("bun.lock", "bun.lockb") != "":
		return "bun"
	}
	return "npm"
}

func deno(f folder) []string {
	file := f.first("deno.json", "deno.jsonc")
	if file == "" {
		return nil
	}
	var p struct {
		Tasks map[string]any `json:"tasks"`
	}
	if raw, err := hujson.Standardize([]byte(f.read(file))); err == nil {
		_ = json.Unmarshal(raw, &p) // without tasks its own commands are left
	}
	commands := []string{does("test", "deno test"), does("check", "deno lint")}
	for _, s := range known() {
		if p.Tasks[s] != nil {
			commands = append(commands, does(s, "deno task "+s))
		}
	}
	return []string{line("Deno", file, commands...)}
}

func python(f folder) []string {
	file := f.first("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
	if file == "" {
		return nil
	}
	t := parseTables(f.read("pyproject.toml"))
	needs := t.text("project", "requires-python")
	what := "Python" + version(needs)
	name := t.text("project", "name")
	if name == "" {
		name = t.text("tool.poetry", "name")
	}
	if n := plain(name); n != "" {
		what += ", package " + n
	}
	by := ""
	switch {
	case f.has("uv.lock") || t.has("tool.uv"):
		by = "uv run "
	case f.has("poetry.lock") || t.has("tool.poetry"):
		by = "poetry run "
	case f.has("pdm.lock"):
		by = "pdm run "
	case f.has("Pipfile"):
		by = "pipenv run "
	}
	commands := []string{}
	switch {
	case f.has("tox.ini") || t.has("tool.tox"):
		commands = append(commands, does("test", by+"tox"))
	case f.has("noxfile.py"):
		commands = append(commands, does("test", by+"nox"))
	case f.has("manage.py"):
		commands = append(commands, does("test", by+"python manage.py test"))
	case f.first("pytest.ini", "conftest.py") != "" || t.has("tool.pytest") || strings.Contains(f.read("pyproject.toml")+f.read("requirements.txt"), "pytest"):
		commands = append(commands, does("test", by+"pytest"))
	case f.first("tests", "test") != "":
		commands = append(commands, does("test", by+"python -m unittest"))
	}
	if t.has("tool.ruff") || f.first("ruff.toml", ".ruff.toml") != "" {
		commands = append(commands, does("lint", by+"ruff check"))
	}
	if t.has("tool.mypy") || f.has("mypy.ini") {
		commands = append(commands, does("check types", by+"mypy ."))
	}
	return []string{line(what, file, commands...)}
}

func ruby(f folder) []string {
	if !f.has("Gemfile") {
		return nil
	}
	test := ""
	switch {
	case f.first(".rspec", "spec") != "":
		test = does("test", "bundle exec rspec")
	case f.has("Rakefile"):
		test = does("test", "bundle exec rake test")
	}
	return []string{line("Ruby", "Gemfile", does("install", "bundle install"), test)}
}

func php(f folder) []string {
	if !f.has("composer.json") {
		return nil
	}
	var p struct {
		Require map[string]any `json:"require"`
		Scripts map[string]any `json:"scripts"`
	}
	_ = json.Unmarshal([]byte(f.read("composer.json")), &p) // what cannot be parsed names no script
	needs, _ := p.Require["php"].(string)
	commands := []string{does("install", "composer install")}
	for _, s := range known() {
		if p.Scripts[s] != nil {
			commands = append(commands, does(s, "composer run "+s))
		}
	}
	if p.Scripts["test"] == nil && f.first("phpunit.xml", "phpunit.xml.dist") != "" {
		commands = append(commands, does("test", "vendor/bin/phpunit"))
	}
	return []string{line("PHP"+version(needs), "composer.json", commands...)}
}

func elixir(f folder) []string {
	if !f.has("mix.exs") {
		return nil
	}
	return []string{line("Elixir", "mix.exs", does("build", "mix compile"), does("test", "mix test"), does("check formatting", "mix format --check-formatted"))}
}

// targets are the names at the beginning of a line that a make file or just file has recipes for.
var (
	targets = regexp.MustCompile(`(?m)^@?([A-Za-z][A-Za-z0-9_-]*)\b[^\n=:]*:(?:[^=]|$)`)
	tasks   = regexp.MustCompile(`(?m)^  ([A-Za-z][A-Za-z0-9_-]*):`)
)

// recipes tells of task files, which say best how a project is built, whatever it is made of.
func recipes(f folder) []string {
	var out []string
	for _, k := range []struct {
		program, what string
		pattern       *regexp.Regexp
		names         []string
	}{
		{"make", "Make", targets, []string{"GNUmakefile", "makefile", "Makefile"}},
		{"just", "Just", targets, []string{"justfile", "Justfile", ".justfile"}},
		{"task", "Task", tasks, []string{"Taskfile.yml", "Taskfile.yaml"}},
	} {
		file := f.first(k.names...)
		if file == "" {
			continue
		}
		there := map[string]bool{}
		for _, m := range k.pattern.FindAllStringSubmatch(f.read(file), -1) {
			there[m[1]] = true
		}
		var commands []string
		for _, s := range append([]string{"all"}, known()...) {
			if there[s] {
				commands = append(commands, k.program+" "+s)
			}
		}
		if len(commands) > 0 {
			out = append(out, line(k.what, file, quoted(commands...)))
		}
	}
	return out
}
