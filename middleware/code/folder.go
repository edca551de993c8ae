package code

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	maxFile    = 256 << 10 // of a manifest; what is longer is looked at no further
	maxFolders = 200       // below the root that are looked into, when the root itself says nothing
	maxParts   = 12        // that are told of
)

// kind is one sort of project. It returns lines about a folder, nil when the folder is none.
type kind func(folder) []string

// kinds is every sort in the order in which they are told.
func kinds() []kind {
	return []kind{golang, rust, node, deno, python, jvm, dotnet, ruby, php, elixir, swift, cmake, recipes}
}

// describe tells of the project: of its root or, when that says nothing, of the folders right below.
func describe(files fs.FS) string {
	if lines := look(files, "."); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return ""
	}
	var parts []string
	seen, more := 0, 0
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" || plain(e.Name()) == "" {
			continue
		}
		if seen++; seen > maxFolders {
			break
		}
		lines := look(files, e.Name())
		if len(lines) == 0 {
			continue
		}
		if len(parts) == maxParts {
			more++
			continue
		}
		parts = append(parts, fmt.Sprintf("In `%s`:\n%s", e.Name(), strings.Join(lines, "\n")))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more folders hold projects of their own.", more))
	}
	return strings.Join(parts, "\n\n")
}

// look tells of one folder, one item a line.
func look(files fs.FS, dir string) []string {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil
	}
	f := folder{files: files, dir: dir, names: make([]string, 0, len(entries))}
	for _, e := range entries {
		f.names = append(f.names, e.Name())
	}
	var out []string
	for _, k := range kinds() {
		for _, line := range k(f) {
			out = append(out, "- "+line)
		}
	}
	return out
}

// folder is a folder with the names in it, sorted.
type folder struct {
	files fs.FS
	dir   string
	names []string
}

func (f folder) has(name string) bool {
	_, found := slices.BinarySearch(f.names, name)
	return found
}

// first is the first of the names that the folder has; "" = none.
func (f folder) first(names ...string) string {
	for _, n := range names {
		if f.has(n) {
			return n
		}
	}
	return ""
}

// ending is the first name with that ending.
func (f folder) ending(suffix string) string {
	for _, n := range f.names {
		if strings.HasSuffix(n, suffix) {
			return n
		}
	}
	return ""
}

// read is the beginning of a file; "" when it cannot be read.
func (f folder) read(name string) string {
	if !f.has(name) {
		return ""
	}
	file, err := f.files.Open(path.Join(f.dir, name))
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(string(raw), "\ufeff")
}

// words is what a name or version from a file may hold to be told on: such a file may come from anyone, and what it says
// is data.
var words = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._/+~:-]{0,119}$`)

// versions is one number of a version, or a mark between two.
var versions = regexp.MustCompile(`^(?:[<>=!~^]{0,3}v?[0-9][0-9A-Za-z.,*<>=!~^+-]{0,19}|[<>=!~^|,*-]{1,3})$`)

// plain is a name as it stands; "" when it is more than a name.
func plain(s string) string {
	if words.MatchString(s) {
		return s
	}
	return ""
}

// version is a version or a range of versions with a blank before it; "" when it is more than that.
func version(s string) string {
	out := ""
	for i, w := range strings.Fields(s) {
		if i == 6 || !versions.MatchString(w) {
			return ""
		}
		out += " " + w
	}
	return out
}

// quoted lists commands or names.
func quoted(list ...string) string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, "`"+s+"`")
		}
	}
	return strings.Join(out, ", ")
}

// does says what a command is for; "" without one.
func does(what, command string) string {
	if command == "" {
		return ""
	}
	return what + " with `" + command + "`"
}

// line is one item: what it is, where that stands, and the commands.
func line(what, file string, commands ...string) string {
	out := fmt.Sprintf("%s (`%s`)", what, file)
	var said []string
	for _, c := range commands {
		if c != "" {
			said = append(said, c)
		}
	}
	if len(said) > 0 {
		out += ": " + strings.Join(said, ", ")
	}
	return out + "."
}
