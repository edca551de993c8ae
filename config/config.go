// Package config reads the settings files of all layers into meta layers and typed settings, where every value keeps
// its file, line and column. It reads each file once and keeps nothing between calls.
package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Layer names, low to high.
const (
	Global  = "global"
	Project = "project"
	Local   = "local"
	Option  = "option"
	Managed = "managed"
)

// Error is one finding that stops session creation: where, which key, what was found and what to write.
type Error = meta.Error

// Options say what to read. The zero Options read what a program started in the working directory would.
type Options struct {
	Root    string // the project's folder; "" finds it from the working directory
	Home    string // "" is DefaultHome()
	Managed string // the administrator's file; "" is /etc/peri/settings.yaml, "-" is none
	// Shared leaves out the project's local layer, which is not committed.
	Shared bool
	// Set holds "path=value" pairs of the option layer, such as meta.WebMiddleware=false. Values are YAML; a later pair
	// replaces an earlier one. A name with a dot in it is quoted: mcp.servers."a.b".enabled=true.
	Set []string
	// Values are the option layer as Go values in the shape of the file: maps with text keys, slices, bool, string,
	// numbers. Set goes over it.
	Values map[string]any
	// Keys may be zero. With it, a meta key that one layer sets twice is reported with all other errors, and aliases
	// count in UntrustedClosings.
	Keys meta.Keys
	// Risks are further lines that trust depends on: what the caller found in the project's agent files, plugins and the
	// like. They only enter the digest.
	Risks []string
}

// LayerFile is one layer's file. File is "" for the option layer, and for others the place where it would be.
type LayerFile struct {
	Name, File      string
	Loaded, Trusted bool
}

// Loaded is all that the files say. It is read-only after Load.
type Loaded struct {
	Layers     []LayerFile  // low to high
	Meta       []meta.Layer // ready for meta.Resolve
	Settings   Settings
	Folders    meta.Documents
	Trust      Standing
	Root, Home string

	keys   meta.Keys
	merged *value
	open   []interface{ Close() error }
}

// Close releases the folders of override files. Nothing of Loaded but Folders needs them.
func (l *Loaded) Close() error {
	var errs []error
	for _, c := range slices.Backward(l.open) {
		errs = append(errs, c.Close())
	}
	l.open, l.Folders = nil, nil
	return errors.Join(errs...)
}

// layer is one layer while it is read.
type layer struct {
	LayerFile
	tree *value // nil when it says nothing
	meta []meta.Entry
}

// Load reads all layers. Its error joins every *Error of every file in a fixed order: by layer, then by position, then
// what only the merged whole shows. Diagnostics come in the same order. On error Loaded is nil.
func Load(o Options) (*Loaded, []meta.Diagnostic, error) {
	l, files, err := places(o)
	if err != nil {
		return nil, nil, err
	}
	l.keys = o.Keys
	var found problems
	layers := make([]*layer, len(files))
	for i, f := range files {
		layers[i] = &layer{LayerFile: f}
		errs, diags := len(found.errs), len(found.diags)
		if f.Name == Option {
			layers[i].tree = optionTree(o.Values, o.Set, &found)
			layers[i].Loaded = layers[i].tree != nil
		} else {
			layers[i].read(&found)
		}
		layers[i].check(&found)
		found.byPosition(errs, diags)
	}
	for _, y := range layers {
		l.Meta = append(l.Meta, meta.Layer{Name: y.Name, Entries: y.meta})
	}
	if o.Keys.Len() > 0 {
		if _, _, err := meta.Resolve(o.Keys, l.Meta...); err != nil {
			found.join(err)
		}
	}
	merged := merge(&tree, trees(layers))
	validate(merged, &found)
	if err := found.err(); err != nil {
		return nil, found.diags, err
	}
	if applied := judge(l, layers, o.Risks, &found); !l.Trust.Trusted {
		merged = merge(&tree, applied)
		dropBaseless(merged)
	}
	l.merged, l.Settings = merged, settings(merged)
	for _, y := range layers {
		y.Trusted = l.Trust.Trusted || !untrusted(y.Name)
		l.Layers = append(l.Layers, y.LayerFile)
	}
	if err := l.openFolders(); err != nil {
		return nil, found.diags, errors.Join(err, l.Close())
	}
	return l, found.diags, nil
}

func trees(layers []*layer) []*value {
	var out []*value
	for _, y := range layers {
		if y.tree != nil {
			out = append(out, y.tree)
		}
	}
	return out
}

// problems collects everything before anything is reported.
type problems struct {
	errs  []error
	diags []meta.Diagnostic
}

func (p *problems) fail(at meta.Origin, key, message, suggestion string) {
	p.errs = append(p.errs, &Error{Origin: at, Key: key, Message: message, Suggestion: suggestion})
}

func (p *problems) warn(code string, at meta.Origin, key, message, suggestion string) {
	p.diags = append(p.diags, meta.Diagnostic{
		Severity: meta.SeverityWarning, Code: code, Key: key, Origin: at, Message: message, Suggestion: suggestion,
	})
}

// join takes a joined error apart, so that the final one is a flat list.
func (p *problems) join(err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		p.errs = append(p.errs, many.Unwrap()...)
		return
	}
	p.errs = append(p.errs, err)
}

// below says whether what stands at path is already known to be incomplete: a part of it is refused, or a whole file.
func (p *problems) below(path string) bool {
	return slices.ContainsFunc(p.errs, func(err error) bool {
		var e *Error
		return errors.As(err, &e) && (e.Key == "" || e.Key == path || strings.HasPrefix(e.Key, path+"."))
	})
}

func (p *problems) err() error { return errors.Join(p.errs...) }

// byPosition orders what one layer found.
func (p *problems) byPosition(errs, diags int) {
	slices.SortStableFunc(p.errs[errs:], func(a, b error) int {
		var x, y *Error
		if !errors.As(a, &x) || !errors.As(b, &y) {
			return 0
		}
		return comparePlaces(x.Origin, x.Key, y.Origin, y.Key)
	})
	slices.SortStableFunc(p.diags[diags:], func(a, b meta.Diagnostic) int {
		return comparePlaces(a.Origin, a.Key, b.Origin, b.Key)
	})
}

func comparePlaces(a meta.Origin, aKey string, b meta.Origin, bKey string) int {
	switch {
	case a.Line != b.Line:
		return a.Line - b.Line
	case a.Column != b.Column:
		return a.Column - b.Column
	}
	return strings.Compare(aKey, bKey)
}
