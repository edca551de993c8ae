package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Place is a folder whose folders are plugins.
type Place struct {
	// Layer says whose it is.
	Layer string
	// Dir is the folder, Shown how people know it.
	Dir, Shown string
	// Within is the folder that no link may lead out of; "" = links may lead anywhere.
	Within string
	// Sealed places want trust: their plugins have a digest.
	Sealed bool
}

// FindOptions say where plugins are. Fields reads a document's fields; its errors have their place.
type FindOptions struct {
	Places []Place
	Fields func(raw []byte, at meta.Origin) ([]Field, error)
}

// Field is one field of a document: a string, bool, float64, []any or map[string]any.
type Field struct {
	Name   string
	Value  any
	Origin meta.Origin
}

// Found is a plugin with where the things are that others read.
type Found struct {
	Plugin
	// Dir is its real folder, Shown how people know it.
	Dir, Shown string
	// Agents are folders of agent files and agent files, Skills folders of skills, from Dir and with slashes.
	Agents, Skills []string
	// Hooks and Servers are documents that hold some.
	Hooks, Servers []Document
	// Digest covers every file that it has. It is "" in a place that is not sealed.
	Digest string
}

// Document is a file's text, and the key in it under which something is.
type Document struct {
	Raw []byte
	At  meta.Origin
	Key string
}

// Expand puts the plugin's folder in the place of the variables for it.
func (f *Found) Expand(text string) string { return vars(f.Dir).Replace(text) }

// RootVars are the variables for a plugin's folder.
func RootVars() []string { return []string{"PERI_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"} }

func vars(dir string) *strings.Replacer {
	var pairs []string
	for _, v := range RootVars() {
		pairs = append(pairs, "${"+v+"}", dir)
	}
	return strings.NewReplacer(pairs...)
}

// Find reads the plugins of all places, the first place first and in one place by the names of the folders. Of two with
// one name the first is used. Nothing in a folder makes it fail: what cannot be used is a diagnostic.
func Find(o FindOptions) ([]Found, []meta.Diagnostic) {
	f := finder{o: o, real: map[string]bool{}}
	for _, p := range o.Places {
		f.place(p)
	}
	return f.found, f.diags
}

type finder struct {
	o     FindOptions
	found []Found
	real  map[string]bool // folders that were read
	diags []meta.Diagnostic
}

func (f *finder) report(severity meta.Severity, code string, at meta.Origin, message, suggestion string) {
	f.diags = append(f.diags, meta.Diagnostic{Severity: severity, Code: code, Key: "plugins", Origin: at, Message: message, Suggestion: suggestion})
}

func (f *finder) fail(at meta.Origin, message, suggestion string) {
	f.report(meta.SeverityError, "plugin_broken", at, message, suggestion)
}

func (f *finder) place(p Place) {
	at := meta.Origin{Layer: p.Layer, File: p.Shown}
	entries, err := os.ReadDir(p.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		f.fail(at, reason(err), "make it a readable folder")
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := meta.Origin{Layer: p.Layer, File: path.Join(p.Shown, e.Name())}
		real, err := filepath.EvalSymlinks(filepath.Join(p.Dir, e.Name()))
		if err != nil {
			f.fail(at, reason(err), "put the folder itself there")
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			continue // a file is no plugin
		}
		if p.Within != "" && !inside(p.Within, real) {
			f.fail(at, "a link that leads out of the project is not followed", "put the folder itself there")
			continue
		}
		if f.real[real] {
			continue // another link to what was read
		}
		f.real[real] = true
		f.folder(p, real, at)
	}
}

// inside reports whether a real path is below a folder.
func inside(dir, real string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && filepath.IsLocal(rel)
}

// reason is an error without the machine's own paths, which the diagnostic's origin gives better.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// manifests are where a manifest may stand, the first that is there counts.
var manifests = []string{".peri-plugin/plugin.json", ".peri-plugin/plugin.yaml", ".claude-plugin/plugin.json"}

// folder reads one plugin.
func (f *finder) folder(p Place, dir string, at meta.Origin) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.fail(at, reason(err), "make it a readable folder")
		return
	}
	defer root.Close()
	r := reader{finder: f, root: root, at: at, Found: Found{Dir: dir, Shown: at.File}}
	torn := r.walk(p.Sealed)
	if !r.manifest() {
		return
	}
	if torn != nil {
		r.refuse(r.at, "its files cannot be read for the user to trust them: "+reason(torn), "keep in it what it needs alone")
		return
	}
	for _, name := range r.outside {
		r.fail(r.place(name), "a link that leads out of the plugin, or nowhere, is not followed", "put the file itself there")
	}
	r.parts()
	if i := slices.IndexFunc(f.found, func(g Found) bool { return strings.EqualFold(g.Name, r.Name) }); i >= 0 {
		f.report(meta.SeverityInfo, "plugin_shadowed", r.Origin, fmt.Sprintf("plugin %s is the one of %s; this one is not used", r.Name, f.found[i].Shown), "")
		return
	}
	f.found = append(f.found, r.Found)
}

// reader reads one plugin's folder, out of which no link leads.
type reader struct {
	*finder
	Found
	root *os.Root
	at   meta.Origin
	bad  bool // it cannot be used at all
	// outside are the links that lead out of it, or nowhere.
	outside []string
}

// place is where a file of the plugin is.
func (r *reader) place(name string) meta.Origin {
	return meta.Origin{Layer: r.at.Layer, File: path.Join(r.at.File, name)}
}

var (
	legal      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	legalNames = "1 to 64 of a-z A-Z 0-9 _ . -, a letter or digit first"
)

// known are the fields of a manifest that have a meaning here, told those that only tell something.
var (
	known = []string{"name", "version", "description", "commands", "agents", "skills", "hooks", "mcpServers"}
	told  = []string{"$schema", "author", "homepage", "repository", "license", "keywords", "displayName", "category", "tags"}
)

// manifest reports whether the folder has one that says what the plugin is called.
func (r *reader) manifest() bool {
	for _, name := range manifests {
		raw, at, ok := r.file(name)
		if !ok {
			if r.bad {
				return false
			}
			continue
		}
		r.Origin = at
		fields, err := r.o.Fields(raw, at)
		if err != nil {
			r.broken(err, at, "the plugin is left out")
			return false
		}
		for _, f := range fields {
			r.field(f, Document{Raw: raw, At: at, Key: f.Name})
		}
		if r.Name == "" && !r.bad {
			r.refuse(at, "name is missing", "write name and what the plugin is called")
		}
		return !r.bad
	}
	r.report(meta.SeverityWarning, "plugin_skipped", r.at, "the folder has no manifest, so it is no plugin", "write "+manifests[2]+`: {"name": "…"}`)
	return false
}

// refuse leaves the whole plugin out.
func (r *reader) refuse(at meta.Origin, message, suggestion string) {
	r.bad = true
	r.fail(at, message+"; the plugin is left out", suggestion)
}

// broken reports an error with its own place.
func (r *reader) broken(err error, at meta.Origin, what string) {
	var e *meta.Error
	if !errors.As(err, &e) {
		e = &meta.Error{Origin: at, Message: reason(err)}
	}
	r.fail(cmp.Or(e.Origin, at), e.Message+"; "+what, e.Suggestion)
}

func (r *reader) field(f Field, doc Document) {
	text, isText := f.Value.(string)
	switch f.Name {
	case "name":
		if !isText || !legal.MatchString(text) {
			r.refuse(f.Origin, fmt.Sprintf("name: %v is no plugin's name", f.Value), "use "+legalNames)
			return
		}
		r.Name = text
	case "version", "description":
		if !isText {
			r.fail(f.Origin, f.Name+": write a text; it is left out", "")
			return
		}
		into := map[string]*string{"version": &r.Version, "description": &r.Description}[f.Name]
		*into = text
	case "hooks", "mcpServers":
		into := map[string]*[]Document{"hooks": &r.Hooks, "mcpServers": &r.Servers}[f.Name]
		if _, ok := f.Value.(map[string]any); ok {
			*into = append(*into, doc)
			return
		}
		for _, p := range r.paths(f) {
			r.document(into, p, f.Name, f.Origin)
		}
	case "agents":
		r.Agents = append(r.Agents, r.paths(f)...)
	case "skills":
		r.Skills = append(r.Skills, r.paths(f)...)
	case "commands":
		for _, p := range r.paths(f) {
			r.commands(p, f.Origin)
		}
	default:
		r.other(f)
	}
}

// other answers a field that has no meaning here.
func (r *reader) other(f Field) {
	if slices.Contains(told, f.Name) {
		return
	}
	suggestion := "remove it, if nothing else reads the manifest"
	if near := meta.Nearest(f.Name, known); len(near) > 0 {
		suggestion = "did you mean " + near[0] + "?"
	}
	r.report(meta.SeverityWarning, "not_honoured", f.Origin, f.Name+" is not honoured here and has no effect", suggestion)
}

// paths are the places in the plugin that a field names: one, or a list.
func (r *reader) paths(f Field) []string {
	list, ok := f.Value.([]any)
	if !ok {
		list = []any{f.Value}
	}
	var out []string
	for _, v := range list {
		text, ok := v.(string)
		clean := path.Clean(strings.TrimPrefix(vars("").Replace(text), "/"))
		switch {
		case !ok || text == "":
			r.fail(f.Origin, f.Name+": write a path, or a list of paths; it is left out", `such as "./extra"`)
		case strings.HasPrefix(text, "/") || !filepath.IsLocal(filepath.FromSlash(clean)):
			r.fail(f.Origin, fmt.Sprintf("%s: %s leads out of the plugin; it is left out", f.Name, text), "write a path inside the plugin")
		default:
			out = append(out, clean)
		}
	}
	return out
}
