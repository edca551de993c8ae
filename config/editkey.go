package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metaharness/peri/meta"
)

// effective is what the layers make of a key, and the entry that decides, if one does. without leaves out a layer.
func (e *Editor) effective(l *Loaded, key meta.Key, without string) (value bool, by *meta.Entry) {
	value = key.Kind != meta.Segment && (e.Off == nil || !e.Off(key.Name))
	for _, y := range l.Meta {
		if y.Name == without {
			continue
		}
		if entry, ok := entryOf(l, e.Options.Keys, y.Name, key.Name); ok {
			entry.Origin.Layer = y.Name
			value, by = entry.Value, &entry
		}
	}
	return value, by
}

// metaTarget is where the document has, or would have, the key: under one of the map's names, in one of the key's own
// spellings.
func (d *document) metaTarget(key meta.Key) target {
	t := target{path: []string{"meta"}, name: key.Name}
	for _, path := range [][]string{{"meta_harness"}, {"config", "meta_harness"}} {
		if d.container(path) != nil {
			t.path = path
		}
	}
	if d.container([]string{"meta"}) != nil {
		t.path = []string{"meta"}
	}
	for _, spelling := range append([]string{key.Name}, key.Aliases...) {
		if _, ok := d.find(target{path: t.path, name: spelling}); ok {
			t.name = spelling
		}
	}
	return t
}

func opened(to bool) string {
	if to {
		return "enabled"
	}
	return "disabled"
}

// planKey changes one entry of the meta map.
func (p *plan) planKey() error {
	to := p.in.Action == Enable
	now, by := p.e.effective(p.fresh.Loaded, p.key, "")
	t := p.doc.metaTarget(p.key)
	p.done.Before.Index = slices.IndexFunc(membersOf(p.doc.container(t.path)), func(m member) bool { return m.name == t.name })
	if by != nil {
		p.done.Before.Rule = ruleOf(fmt.Sprintf("%s: %t", by.Key, by.Value), by.Origin)
	}
	v, there := p.doc.find(t)
	if there {
		p.countThere, p.countAfter = 1, 1
	}
	switch {
	case now == to:
		p.done.Reason = "already_" + opened(to)
		p.done.Message = p.id + " is " + opened(to) + " already"
		return nil
	case there && v.scalar == to:
		p.done.Reason = "covered_by_broader_rule"
		p.done.Message = fmt.Sprintf("%s says so already, and %s decides", p.layer.File, decider(by))
		return nil
	}
	rec := record{Key: p.id, Effect: fmt.Sprint(to), File: p.real, Time: time.Now().UTC()}
	own := p.books.find(p.real, p.id, "")
	if there && (own != nil || p.doc.marked(t)) {
		if without, _ := p.e.effective(p.fresh.Loaded, p.key, p.layer.Name); without == to {
			return p.takeOut(t, rec, own)
		}
	}
	return p.write(t, to, rec, own)
}

// takeOut removes a line that an edit wrote.
func (p *plan) takeOut(t target, rec record, own *record) error {
	var wrote insertion
	if own != nil {
		wrote, rec.Made = own.insertion, own.Made
	}
	out, err := p.doc.remove(t, wrote)
	if err != nil {
		return p.byHand(err, t.name+": "+rec.Effect)
	}
	p.gone, p.countAfter = append(p.gone, rec), 0
	p.done.Message = fmt.Sprintf("%s is %s: the line that said otherwise is gone", p.id, opened(rec.Effect == "true"))
	return p.use(out)
}

func (p *plan) write(t target, to bool, rec record, own *record) error {
	out, wrote, err := p.doc.set(t, to)
	if err != nil {
		return p.byHand(err, fmt.Sprintf("%s: %t", t.name, to))
	}
	switch {
	case wrote.Text != "":
		rec.insertion, rec.Made = wrote, !p.there
	case own != nil:
		// A line of ours with another value is still a line of ours.
		rec.insertion, rec.Made = own.insertion, own.Made
		rec.Text = rec.Text[:rec.At] + strings.Replace(rec.Text[rec.At:], leafText(!to), leafText(to), 1)
	}
	p.records, p.countAfter = append(p.records, rec), 1
	p.done.Message = p.id + " is " + opened(to)
	return p.use(out)
}

// marked says that the target's line carries our mark.
func (d *document) marked(t target) bool {
	s := d.locate(t)
	if s == nil || s.flow || s.end < 0 {
		return false
	}
	return strings.TrimSpace(string(d.raw[s.end:lineEnd(d.raw, s.end)])) == strings.TrimSpace(marker)
}

func decider(by *meta.Entry) string {
	if by == nil {
		return "the default"
	}
	if at := by.Origin.String(); by.Origin.File != "" {
		return at
	}
	return "the " + by.Origin.Layer + " layer"
}
