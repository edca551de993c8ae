package lower

import (
	"encoding/json"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Native shows a view's deferred tools as an API's own deferred tools: the model searches with the view's own search, is
// answered with references, and calls what it found by name; the transcript holds the same calls as without it, so that
// every gate sees them alike and a session may be resumed either way. A nil Native shows nothing so.
type Native struct {
	search, run *toolview.Tool
	direct      []*toolview.Tool
	deferred    []*toolview.Tool
	byName      map[string]*toolview.Tool
}

// NewNative is nil when the view has nothing deferred, or no pair of tools that finds and runs it.
func NewNative(v *toolview.View) *Native {
	if v == nil || !v.HasDeferred() {
		return nil
	}
	n := &Native{byName: map[string]*toolview.Tool{}}
	for _, t := range v.Direct() {
		switch {
		case t.Finder && t.Unwrap != nil:
			n.run = t
			continue
		case t.Finder:
			n.search = t
		}
		n.direct = append(n.direct, t)
	}
	if n.search == nil || n.run == nil || !forwards(n.run) {
		return nil
	}
	for e := range v.Deferred() {
		n.deferred = append(n.deferred, e.Tool)
		n.byName[e.Tool.Name] = e.Tool
	}
	return n
}

// forwards reports whether a tool runs others in the form that wrap writes.
func forwards(t *toolview.Tool) bool {
	inner, err := t.Unwrap(wrap("x", json.RawMessage(`{"y":1}`)))
	return err == nil && inner.Name == "x" && string(inner.Args) == `{"y":1}`
}

func wrap(name string, args json.RawMessage) json.RawMessage {
	b := append(Quote([]byte(`{"name":`), name), `,"arguments":`...)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return append(append(b, args...), '}')
}

// Direct are the tools that the model is shown at once.
func (n *Native) Direct(v *toolview.View) []*toolview.Tool {
	switch {
	case n != nil:
		return n.direct
	case v == nil:
		return nil
	}
	return v.Direct()
}

// Deferred are those that wait to be referred to.
func (n *Native) Deferred() []*toolview.Tool {
	if n == nil {
		return nil
	}
	return n.deferred
}

// Direction is the name and the arguments by which the model made a call.
func (n *Native) Direction(u *message.Use) (string, json.RawMessage) {
	if n != nil && u.Name == n.run.Name {
		if inner, err := n.run.Unwrap(u.Args); err == nil && n.byName[inner.Name] != nil {
			return inner.Name, inner.Args
		}
	}
	return u.Name, u.Args
}

// Proxy is the call that a use of a deferred tool stands for.
func (n *Native) Proxy(u *message.Use) *message.Use {
	if n == nil || n.byName[u.Name] == nil || len(u.Args) > 0 && !json.Valid(u.Args) {
		return u
	}
	return &message.Use{ID: u.ID, Name: n.run.Name, Args: wrap(u.Name, u.Args), Tool: u.Name}
}

// Found are the tools that a result of the search names; nil when the result is another tool's, or found nothing.
func (n *Native) Found(r *message.Result) []*toolview.Tool {
	if n == nil || r.Error || len(r.Structured) == 0 {
		return nil
	}
	var s struct {
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"tools"`
	}
	if json.Unmarshal(r.Structured, &s) != nil {
		return nil
	}
	var out []*toolview.Tool
	for _, t := range s.Tools {
		tool := n.byName[t.Name]
		if tool == nil || len(t.Schema) == 0 {
			return nil
		}
		out = append(out, tool)
	}
	return out
}

// Answers reports whether a result answers a search that m made.
func (n *Native) Answers(m *message.Message, r *message.Result) bool {
	if n == nil || m == nil {
		return false
	}
	for i := range m.Parts {
		if u := m.Parts[i].Use; u != nil && u.ID == r.UseID {
			return n.Searches(u.Name)
		}
	}
	return false
}

// Search is the name of the tool that finds, "" = there is none.
func (n *Native) Search() string {
	if n == nil {
		return ""
	}
	return n.search.Name
}

// Searches reports whether a name is that of the tool that finds.
func (n *Native) Searches(name string) bool { return n != nil && name == n.search.Name }
