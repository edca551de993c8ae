package subagent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// LoadOptions says where definitions come from.
type LoadOptions struct {
	// Root is the project's folder; "" = no project.
	Root string
	// Home is the user's home folder; "" = no user.
	Home string
	// PeriHome is the folder of the user's peri files; "" = .peri in Home.
	PeriHome string
	// Others also reads the folders of other harnesses in Home.
	Others bool
	// Plugins are where plugins that apply have agents, in order of precedence.
	Plugins []Place
	// Trusted lets the project's files and settings widen a permission mode and bring hooks.
	Trusted bool
	// CheckHooks says what of an agent's hooks could not run, as joined *meta.Error; nil = only their shape is checked.
	CheckHooks func(json.RawMessage) error
	// Overlay is laid over the definitions, by name and field.
	Overlay map[string]Fields
	// Extra are definitions from elsewhere (plugins), between a user's and the built-in ones. They are taken as they are.
	Extra []Definition
}

// Place is a folder of agent files, or one of them (.md), within what a plugin may reach.
type Place struct {
	// Root is the plugin's folder, Path the place in it, with slashes.
	Root, Path string
	// Shown is how people know Root.
	Shown string
}

// folder is one place of agent files. Its files are reached through root, so that no link leads out of it.
type folder struct {
	layer, root, dir string
	// shown is how people know dir.
	shown   string
	dialect dialect
	only    string // one file of dir; "" = all
}

// dialect is whose rules an agent file follows.
type dialect uint8

const (
	periDialect dialect = iota
	claudeDialect
	opencodeDialect
)

// places are the folders of one level, in order of precedence.
func places(layer, root, shown string) []folder {
	return []folder{
		{layer: layer, root: root, dir: ".claude/agents", shown: shown + ".claude/agents", dialect: claudeDialect},
		{layer: layer, root: root, dir: ".opencode/agents", shown: shown + ".opencode/agents", dialect: opencodeDialect},
		{layer: layer, root: root, dir: ".opencode/agent", shown: shown + ".opencode/agent", dialect: opencodeDialect},
	}
}

// folders are the places in order of precedence.
func (o LoadOptions) folders() []folder {
	var out []folder
	if o.Root != "" {
		out = append(out, folder{layer: Project, root: o.Root, dir: ".peri/agents", shown: ".peri/agents"})
		out = append(out, places(Project, o.Root, "")...)
	}
	switch {
	case o.PeriHome != "":
		out = append(out, folder{layer: User, root: o.PeriHome, dir: "agents", shown: filepath.ToSlash(filepath.Join(o.PeriHome, "agents"))})
	case o.Home != "":
		out = append(out, folder{layer: User, root: o.Home, dir: ".peri/agents", shown: "~/.peri/agents"})
	}
	if o.Home != "" && o.Others {
		out = append(out, places(User, o.Home, "~/")...)
	}
	for _, p := range o.Plugins {
		f := folder{layer: Plugin, root: p.Root, dir: p.Path, shown: path.Join(p.Shown, p.Path), dialect: claudeDialect}
		if strings.EqualFold(path.Ext(p.Path), ".md") {
			f.dir, f.shown, f.only = path.Dir(f.dir), path.Dir(f.shown), path.Base(f.dir)
		}
		out = append(out, f)
	}
	return out
}

// Load reads the catalog: project over user over plugins over built-in, .peri over .claude within a level, then what
// settings lay over it. Nothing in a file makes it fail: a file that cannot be taken as it is written is a diagnostic,
// and its agent is absent, also at the levels below, since another agent must not answer to its name. Diagnostics are in
// the order of reading.
func Load(o LoadOptions) (*Catalog, []meta.Diagnostic) {
	l := loader{o: o, by: map[string]source{}}
	for _, f := range o.folders() {
		l.folder(f)
	}
	for _, d := range slices.Concat(o.Extra, builtIns()) {
		l.add(d.Name, source{def: &d})
	}
	l.overlay()
	var defs []Definition
	for _, s := range l.by {
		if s.def != nil {
			defs = append(defs, *s.def)
		}
	}
	return NewCatalog(defs...), l.diags
}

// source is where a name was first met. A nil def blocks it.
type source struct {
	def  *Definition
	real string
}

type loader struct {
	o     LoadOptions
	by    map[string]source
	diags []meta.Diagnostic
}

// add takes a definition unless a higher one has its name.
func (l *loader) add(name string, s source) {
	before, taken := l.by[name]
	if !taken {
		l.by[name] = s
		return
	}
	if before.def != nil && s.def != nil && s.def.Origin.Layer != BuiltIn && before.real != s.real {
		l.report(meta.SeverityInfo, "agent_shadowed", s.def.Origin, fmt.Sprintf("agent %s is the one of %s; this one is not used", name, before.def.source()), "")
	}
}

func (l *loader) report(severity meta.Severity, code string, origin meta.Origin, message, suggestion string) {
	l.diags = append(l.diags, meta.Diagnostic{Severity: severity, Code: code, Key: "agents", Origin: origin, Message: message, Suggestion: suggestion})
}

func (l *loader) folder(f folder) {
	root, err := filepath.EvalSymlinks(f.root)
	if err != nil {
		return // no such project or home: nothing to read
	}
	origin := meta.Origin{Layer: f.layer, File: f.shown}
	dir, err := inside(root, f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		l.report(meta.SeverityError, "agent_folder", origin, err.Error(), "make it a folder inside "+f.root)
		return
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		l.report(meta.SeverityError, "agent_folder", origin, err.Error(), "")
		return
	}
	defer opened.Close()
	if f.only != "" {
		l.entry(f, root, opened, f.only)
		return
	}
	entries, err := fs.ReadDir(opened.FS(), dir)
	if err != nil {
		l.report(meta.SeverityError, "agent_folder", origin, err.Error(), "make it a readable folder")
		return
	}
	for _, e := range entries {
		l.entry(f, root, opened, e.Name())
	}
}

// inside resolves the links of a path below root and refuses one that leads out of it.
func inside(root, rel string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		return "", plain(err)
	}
	out, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(out) {
		return "", errors.New("a link that leads out of its folder is not followed")
	}
	return filepath.ToSlash(out), nil
}

// plain is an error without the machine's own paths, which the diagnostic's origin gives better.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// entry reads NAME.md, or NAME/agent.md. What else stands in the folder is no agent.
func (l *loader) entry(f folder, root string, opened *os.Root, name string) {
	rel := path.Join(f.dir, name)
	origin := meta.Origin{Layer: f.layer, File: path.Join(f.shown, name)}
	ext := path.Ext(name)
	stem, markdown := strings.TrimSuffix(name, ext), strings.EqualFold(ext, ".md")
	real, err := inside(root, rel)
	if err != nil && !markdown && ext != "" {
		return
	}
	if err != nil {
		l.refuse(stem, origin, problem{message: err.Error(), suggestion: "put the file itself there"})
		return
	}
	info, err := opened.Stat(real)
	if err == nil && info.IsDir() {
		stem = name
		rel, origin.File = path.Join(rel, "agent.md"), path.Join(origin.File, "agent.md")
		if real, err = inside(root, rel); errors.Is(err, fs.ErrNotExist) {
			l.skipped(f, opened, path.Dir(rel), name)
			return
		}
		markdown = true
	}
	if !markdown {
		return
	}
	var raw []byte
	if err == nil {
		raw, err = read(opened, real)
	}
	if err != nil {
		l.refuse(stem, origin, problem{message: plain(err).Error(), suggestion: "make it a readable file"})
		return
	}
	l.file(f, stem, path.Join(root, real), origin, raw)
}

// skipped tells of agents in a deeper folder, which nobody reads.
func (l *loader) skipped(f folder, opened *os.Root, rel, name string) {
	entries, err := fs.ReadDir(opened.FS(), rel)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.EqualFold(path.Ext(e.Name()), ".md") {
			l.report(meta.SeverityWarning, "agent_skipped", meta.Origin{Layer: f.layer, File: path.Join(f.shown, name, e.Name())},
				"files in deeper folders are not read", "move it to "+f.shown+", or name it agent.md")
		}
	}
}

// read looks before it opens, since opening a pipe would wait for a writer.
func read(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file but %s", info.Mode().Type())
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = fmt.Errorf("over %d KiB", maxFile>>10)
	}
	return raw, err
}

// file takes one file's text.
func (l *loader) file(f folder, stem, real string, origin meta.Origin, raw []byte) {
	doc, ok, bad := split(raw)
	if !ok {
		return
	}
	if bad != nil {
		l.refuse(stem, origin, *bad)
		return
	}
	r := define(doc, origin, f.dialect, f.layer != Project || l.o.Trusted)
	if f.dialect == opencodeDialect && r.def.Name == "" {
		r.def.Name = stem
	}
	r.complete()
	l.checkHooks(r)
	for _, n := range r.notes {
		l.tell(meta.SeverityWarning, "agent_field", origin, n)
	}
	name := cmp.Or(r.def.Name, stem)
	switch {
	case len(r.bad) > 0:
		l.refuse(name, origin, r.bad...)
	case r.off:
		l.add(name, source{real: real})
	default:
		if r.def.Description == "" {
			l.report(meta.SeverityWarning, "agent_undescribed", origin, fmt.Sprintf("agent %s has no description, so it is not offered to the model", name), "write description: and when to use it")
		}
		l.add(name, source{&r.def, real})
	}
}

// define reads a whole document.
func define(doc document, origin meta.Origin, d dialect, trusted bool) *reader {
	r := &reader{dialect: d, trusted: trusted}
	r.def.Origin = origin
	r.def.Brings = r.brings()
	for i := 0; i+1 < len(doc.fields); i += 2 {
		r.field(doc.fields[i], doc.fields[i+1])
	}
	if r.def.Body == "" {
		r.def.Body = doc.body
	}
	return r
}

// complete checks what only the whole can show.
func (r *reader) complete() {
	if len(r.bad) > 0 {
		return
	}
	if r.def.Name == "" {
		r.bad = append(r.bad, problem{2, 1, "name is missing", "write name: and the agent's name"})
	}
	if strings.TrimSpace(r.def.Body) == "" {
		r.bad = append(r.bad, problem{1, 1, "there is no text behind the front matter", "write what the agent is to do"})
	}
	_, err := r.def.Frame()
	for _, e := range findings(err) {
		r.bad = append(r.bad, problem{max(e.Origin.Line, 1), max(e.Origin.Column, 1), e.Message, e.Suggestion})
	}
}

// findings are the single findings of joined errors.
func findings(err error) []*meta.Error {
	var many interface{ Unwrap() []error }
	var one *meta.Error
	var out []*meta.Error
	switch {
	case err == nil:
	case errors.As(err, &many):
		for _, e := range many.Unwrap() {
			out = append(out, findings(e)...)
		}
	case errors.As(err, &one):
		out = append(out, one)
	default:
		out = append(out, &meta.Error{Message: err.Error()})
	}
	return out
}

// refuse leaves an agent out and blocks its name.
func (l *loader) refuse(name string, origin meta.Origin, bad ...problem) {
	for _, p := range bad {
		p.message += "; the agent is left out"
		l.tell(meta.SeverityError, "agent_broken", origin, p)
	}
	l.add(name, source{})
}

func (l *loader) tell(severity meta.Severity, code string, origin meta.Origin, p problem) {
	origin.Line, origin.Column = p.line, p.column
	l.report(severity, code, origin, p.message, p.suggestion)
}
