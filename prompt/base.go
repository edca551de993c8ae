package prompt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Rendered is one segment as this session says it: overrides applied, placeholders filled. It is plain data, so that
// a session stores its Base and says the same after a resume.
type Rendered struct {
	ID     string      `json:"id"`
	Owner  string      `json:"owner"`
	Zone   Zone        `json:"zone"`
	Order  int         `json:"order"`
	Text   string      `json:"text"`
	Needs  []string    `json:"needs,omitempty"`
	Word   string      `json:"word,omitempty"`
	Origin meta.Origin `json:"origin"`
	// Override says that Text came from a file and not from the owner.
	Override bool `json:"override,omitempty"`
}

// Base is every segment of a chain in prompt order. It is immutable and safe for concurrent use.
type Base struct {
	segments []Rendered
	cached   Block
}

// Render fixes one segment: the override of the state when there is one, placeholders filled from vars. ok is false
// for a segment that has nothing to say: all of its Vars are empty.
func Render(owner string, s Segment, state *meta.State, vars map[string]string) (r Rendered, ok bool) {
	r = Rendered{ID: s.ID, Owner: owner, Zone: s.Zone, Order: s.Order, Text: s.Text, Needs: s.Needs, Word: s.Word}
	if o, is := state.Override(s.ID); is {
		r.Text, r.Origin, r.Override = o.Text, o.Origin, true
	}
	empty := len(s.Vars) > 0
	for _, v := range s.Vars {
		empty = empty && strings.TrimSpace(vars[v]) == ""
	}
	if empty {
		return r, false
	}
	// A Cached text has no placeholders; filling it makes a literal \{{ what it stands for.
	r.Text = meta.Fill(r.Text, func(name string) (string, bool) { v := vars[name]; return v, true })
	return r, strings.TrimSpace(r.Text) != ""
}

// NewBase orders rendered segments. It takes the slice over.
func NewBase(segments []Rendered) *Base {
	slices.SortStableFunc(segments, func(a, b Rendered) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
	})
	b := &Base{segments: segments}
	b.cached = join(segments, func(r *Rendered) bool { return r.Zone == Cached })
	b.cached.EndsCache = true
	return b
}

// Segments returns the segments in prompt order. The slice is not to be changed.
func (b *Base) Segments() []Rendered { return b.segments }

// ForAgent is the base of a named child: its own text stands for the whole Cached zone, the Live zone stays.
func (b *Base) ForAgent(agent, body string, origin meta.Origin) *Base {
	out := []Rendered{{ID: "agent", Owner: agent, Text: strings.Trim(body, "\n"), Origin: origin}}
	for _, r := range b.segments {
		if r.Zone == Live {
			out = append(out, r)
		}
	}
	return NewBase(out)
}

// Prompt is the system prompt of one step: the segments that keep accepts. Cached ones are always kept.
func (b *Base) Prompt(keep func(*Rendered) bool) Prompt {
	p := Prompt{}
	if b.cached.Text != "" {
		p.blocks = append(p.blocks, b.cached)
	}
	if live := join(b.segments, func(r *Rendered) bool { return r.Zone == Live && keep(r) }); live.Text != "" {
		p.blocks = append(p.blocks, live)
	}
	return p
}

func join(segments []Rendered, keep func(*Rendered) bool) Block {
	var b strings.Builder
	var ids []string
	for i := range segments {
		if !keep(&segments[i]) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(segments[i].Text)
		ids = append(ids, segments[i].ID)
	}
	return Block{Text: b.String(), Segments: ids}
}

// Block is one piece of the system prompt. EndsCache marks the last one that a vendor may cache: it is a field, so
// that no text can forge it; adapters lower it and models never see it.
type Block struct {
	Text      string `json:"text"`
	EndsCache bool   `json:"ends_cache,omitempty"`
	// Segments are the ids of what the text is made of, in order.
	Segments []string `json:"segments,omitempty"`
}

// Prompt is the system prompt of a step. It is immutable; the zero value is empty.
type Prompt struct{ blocks []Block }

// System returns the blocks in order. The slice is shared and not to be changed.
func (p Prompt) System() []Block { return p.blocks }
