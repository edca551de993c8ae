package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// plan is an edit up to the moment before it is written.
type plan struct {
	e     *Editor
	in    Edit
	fresh *Fresh
	done  *EditDone
	warn  []string

	id     string   // a key's name, or a skill's id
	key    meta.Key // zero for a skill
	skill  Skill
	effect string

	layer      LayerFile
	real       string // what the layer's file is, through links
	shelf      shelf
	books      sidecar
	there      bool        // the file exists
	away       bool        // the file goes: it came with our lines and would be empty
	mode       fs.FileMode // of the file that goes
	raw, out   []byte
	doc        *document
	records    []record // lines that came
	gone       []record // lines that went
	countThere int      // of the exact line, before
	countAfter int
}

func (e *Editor) load() (*Fresh, error) {
	load := e.Load
	if load == nil {
		load = func(o Options) (*Fresh, error) {
			l, _, err := Load(o)
			return &Fresh{Loaded: l}, err
		}
	}
	f, err := load(e.Options)
	if err != nil {
		return nil, err
	}
	return f, f.Loaded.Close()
}

// plan decides everything. Nothing is written yet, and p.out is nil when nothing needs to be.
func (e *Editor) plan(in Edit) (p *plan, err error) {
	p = &plan{e: e, in: in, done: &EditDone{DryRun: in.DryRun, CallerAgent: in.Agent, ConfigNotes: []string{}, Diff: []string{}}}
	p.done.Before.Index = -1
	if p.id = in.Key; p.id == "" {
		p.id = in.Skill
	}
	if err := in.check(); err != nil {
		return p, err
	}
	if p.fresh, err = e.load(); err != nil {
		return p, &EditError{Code: ConfigUnparsable, Message: "settings do not load, so nothing is written: " + err.Error()}
	}
	if err := p.resolve(); err != nil {
		return p, err
	}
	if err := p.choose(); err != nil {
		return p, err
	}
	if err := p.open(); err != nil {
		return p, err
	}
	if in.Key != "" {
		err = p.planKey()
	} else {
		err = p.planSkill()
	}
	if err != nil {
		return p, err
	}
	return p, p.finish()
}

// check refuses an edit that says too little or too much.
func (in Edit) check() error {
	missing := func(format string, args ...any) error {
		return &EditError{Code: MissingParam, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case in.Action != Enable && in.Action != Disable:
		return missing("action is %q: write enable or disable", in.Action)
	case (in.Key == "") == (in.Skill == ""):
		return missing("name one thing: a meta key, or a skill")
	case !slices.Contains([]string{"", Global, Project, Local}, in.Layer):
		return missing("layer is %q: write global, project or local", in.Layer)
	case !slices.Contains([]string{"", "deny", "ask"}, in.Effect):
		return missing("effect is %q: write deny or ask", in.Effect)
	case in.Effect != "" && (in.Skill == "" || in.Action == Enable):
		return missing("effect is for a skill that is disabled")
	}
	return nil
}

// resolve finds what is meant among what there is.
func (p *plan) resolve() error {
	if p.in.Key != "" {
		key, ok := p.e.Options.Keys.Lookup(p.in.Key)
		if !ok {
			near := meta.Nearest(p.in.Key, p.e.Options.Keys.Names())
			return &EditError{Code: KeyNotFound, Message: "there is no meta key " + p.in.Key, Near: near}
		}
		p.key, p.id = key, key.Name
		p.effect = fmt.Sprint(p.in.Action == Enable)
		return nil
	}
	p.effect = "allow"
	if p.in.Action == Disable {
		if p.effect = p.in.Effect; p.effect == "" {
			p.effect = "deny"
		}
	}
	var byName, names []string
	for _, s := range p.fresh.Skills {
		names = append(names, s.Name, s.ID)
		switch {
		case strings.EqualFold(s.ID, p.in.Skill):
			p.skill, p.id = s, s.ID
			return p.agentKnown()
		case strings.EqualFold(s.Name, p.in.Skill):
			byName = append(byName, s.ID)
			p.skill = s
		}
	}
	switch len(byName) {
	case 1:
		p.id = p.skill.ID
		return p.agentKnown()
	case 0:
		slices.Sort(names)
		return &EditError{Code: SkillNotFound, Message: "there is no skill " + p.in.Skill, Near: meta.Nearest(p.in.Skill, slices.Compact(names))}
	}
	return &EditError{Code: NameAmbiguous, Message: fmt.Sprintf("%d skills are called %s", len(byName), p.in.Skill), Candidates: byName}
}

func (p *plan) agentKnown() error {
	if _, ok := p.skill.of(p.in.Agent); !ok {
		return &EditError{Code: MissingParam, Message: "there is no agent " + p.in.Agent}
	}
	return nil
}

func (s *Skill) of(agent string) (SkillEffect, bool) {
	for _, a := range s.Agents {
		if a.Agent == agent {
			return a, true
		}
	}
	return SkillEffect{}, false
}

func (p *plan) note(format string, args ...any) {
	p.done.ConfigNotes = append(p.done.ConfigNotes, fmt.Sprintf(format, args...))
}

func (p *plan) layerFile(name string) (LayerFile, bool) {
	for _, f := range p.fresh.Loaded.Layers {
		if f.Name == name {
			return f, true
		}
	}
	return LayerFile{}, false
}

// choose picks the file and says why.
func (p *plan) choose() error {
	name := p.in.Layer
	switch {
	case name != "":
		p.note("%s settings, as asked", name)
	case p.in.Key != "":
		name = Project
		if _, ok := p.entry(Local); ok {
			name = Local
			p.note("local settings: they set %s already, above the project's", p.id)
		} else if _, ok := p.layerFile(Project); !ok {
			name = Global
			p.note("global settings: this folder's .peri is the user's own and no project")
		} else {
			p.note("project settings, as for every meta key")
		}
	default:
		name = Global
		if p.in.Action == Enable {
			name = p.ruled()
		}
		if name == Global {
			p.note("global settings, as for every skill")
		} else {
			p.note("%s settings: the exact rule is there", name)
		}
	}
	var ok bool
	if p.layer, ok = p.layerFile(name); !ok {
		return &EditError{Code: MissingParam, Message: "there are no " + name + " settings here: this folder's .peri is the user's own"}
	}
	return nil
}

// entry is what one layer says of the key.
func (p *plan) entry(layer string) (meta.Entry, bool) {
	return entryOf(p.fresh.Loaded, p.e.Options.Keys, layer, p.key.Name)
}

func entryOf(l *Loaded, keys meta.Keys, layer, key string) (meta.Entry, bool) {
	for _, y := range l.Meta {
		if y.Name != layer {
			continue
		}
		for _, e := range y.Entries {
			if k, ok := keys.Lookup(e.Key); ok && k.Name == key {
				return e, true
			}
		}
	}
	return meta.Entry{}, false
}

// open reads the file that is to be changed, and what earlier edits noted of it.
func (p *plan) open() error {
	failed := func(err error) error { return &EditError{Code: WriteFailed, Message: err.Error()} }
	p.done.TargetFile = p.layer.File
	root := p.fresh.Loaded.Root
	if p.layer.Name == Global {
		root = p.fresh.Loaded.Home
	}
	var err error
	if p.shelf, err = shelfOf(p.fresh.Loaded.Home, root); err != nil {
		return failed(err)
	}
	if p.books, err = p.shelf.read(); err != nil {
		p.warn = append(p.warn, "what earlier edits noted cannot be read and is not used: "+err.Error())
	}
	if p.real, err = realFile(p.layer.File); err != nil {
		return failed(err)
	}
	if p.real != p.layer.File {
		if info, err := os.Lstat(p.layer.File); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			p.note("%s is a link; what it leads to is written, %s", p.layer.File, p.real)
		}
	}
	p.raw, err = readFile(p.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.note("the file is not there yet and is made")
		p.books.forget(p.real)
	case err != nil:
		return failed(err)
	default:
		p.there = true
	}
	doc, bad := newDocument(p.raw, meta.Origin{Layer: p.layer.Name, File: p.layer.File})
	if bad != nil {
		return &EditError{Code: ConfigUnparsable, Message: bad.Error()}
	}
	p.doc = doc
	return nil
}

// use makes a new text the one that further changes go on from.
func (p *plan) use(out []byte) error {
	doc, bad := newDocument(out, p.doc.at)
	if bad != nil {
		return &EditError{Code: ConfigUnparsable, Message: bad.Error()}
	}
	p.doc, p.out = doc, append([]byte{}, out...) // also an empty text is one that is written
	return nil
}

// byHand is for a file in which no line can be found or placed.
func (p *plan) byHand(err error, line string) error {
	return &EditError{Code: WriteFailed, Message: fmt.Sprintf("%s: %v; write %s yourself", p.layer.File, err, line)}
}

// finish checks the whole new document and shows the difference.
func (p *plan) finish() error {
	if p.out == nil {
		return nil
	}
	var found problems
	y := layer{LayerFile: p.layer, tree: p.doc.tree}
	y.check(&found)
	if _, _, err := meta.Resolve(p.e.Options.Keys, meta.Layer{Name: y.Name, Entries: y.meta}); err != nil {
		found.join(err)
	}
	if err := found.err(); err != nil {
		return &EditError{Code: ConfigUnparsable, Message: "the file would be wrong, so nothing is written: " + err.Error()}
	}
	if p.away = len(p.out) == 0 && slices.ContainsFunc(p.gone, func(r record) bool { return r.Made }); p.away {
		p.note("the file goes: an edit made it, and it would be empty")
	}
	p.done.Changed = true
	p.done.Diff = difference(p.raw, p.out)
	for _, r := range p.records {
		if r.Created != "" {
			p.done.CreatedBlock = &r.Created
		}
	}
	return nil
}

// difference is the lines that went and those that came.
func difference(old, new []byte) []string {
	a, b := splitLines(old), splitLines(new)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out := []string{}
	for _, line := range a {
		out = append(out, "-"+line)
	}
	for _, line := range b {
		out = append(out, "+"+line)
	}
	return out
}

func splitLines(raw []byte) []string {
	text := strings.TrimPrefix(string(raw), string(bom))
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func ruleOf(text string, at meta.Origin) *EditRule {
	return &EditRule{Text: text, Layer: at.Layer, File: at.File, Line: at.Line}
}

// dirs are the folders whose locks an edit takes, in the order that all take them.
func (p *plan) dirs() []string { return []string{string(p.shelf), filepath.Dir(p.real)} }
