package subagent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/toolview"
)

//go:embed agent.md
var agentDoc string

//go:embed agentresult.md
var resultDoc string

//go:embed generateagent.md
var generateDoc string

// policy is what is frozen of the options for the life of a session.
type policy struct {
	Agents    []Definition `json:"agents"`
	Depth     int          `json:"depth"`
	Multitask int          `json:"multitask"`
	MaxTurns  int          `json:"max_turns"`
}

// roster is a catalog with all that is derived from it: what the model is told and what a call resolves against are
// the same list. It is immutable and shared by sessions.
type roster struct {
	limits  policy // without agents
	catalog *Catalog
	offered []string // names that the model is offered, in order
	tools   *toolview.Set
	barred  *toolview.Set // the tools at the depth limit
}

func newRoster(c *Catalog, limits policy) *roster {
	limits.Agents = nil
	r := &roster{limits: limits, catalog: c}
	for _, d := range c.All() {
		if d.offered() {
			r.offered = append(r.offered, d.Name)
		}
	}
	r.tools = toolview.MustSet(r.set("")...)
	r.barred = toolview.MustSet(r.set(fmt.Sprintf("the depth limit of %d is reached", limits.Depth))...)
	return r
}

// set makes the three tools. Agent's text and schema name the offered agents.
func (r *roster) set(unsupported string) []toolview.Tool {
	// The roster is shown and not enforced by the schema: an agent that is not there fails its own entry of `tasks`,
	// with the list, and one that was generated later can be called.
	agent := agentTool().WithExamples("agent", r.offered)
	agent.Doc = r.doc()
	tools := []toolview.Tool{agent, resultTool(), generateTool()}
	for i := range tools {
		tools[i].Unsupported = unsupported
	}
	return tools
}

func (r *roster) doc() string {
	if len(r.offered) == 0 {
		return trimmed(agentDoc) + "\n\nNo agents are listed: leave `agent` out."
	}
	var b strings.Builder
	b.WriteString(trimmed(agentDoc))
	b.WriteString("\n\nAgents:")
	for _, name := range r.offered {
		d, _ := r.catalog.Lookup(name)
		fmt.Fprintf(&b, "\n- `%s`: %s", name, strings.Join(strings.Fields(d.Description), " "))
	}
	return b.String()
}

// lookup finds an offered definition.
func (r *roster) lookup(name string) (*Definition, bool) {
	d, ok := r.catalog.Lookup(name)
	return d, ok && d.offered()
}

// describe is the answer to /agents.
func (r *roster) describe(generated []Definition) string {
	var b strings.Builder
	for _, d := range slices.Concat(r.catalog.All(), generated) {
		fmt.Fprintf(&b, "%s (%s)", d.Name, d.Origin.Layer)
		if d.Origin.File != "" {
			fmt.Fprintf(&b, " %s", d.Origin.File)
		}
		if d.Description == "" {
			b.WriteString(": no description, so it is not offered to the model\n")
			continue
		}
		if d.Hidden {
			b.WriteString(" (not offered to the model)")
		}
		fmt.Fprintf(&b, ": %s\n", strings.Join(strings.Fields(d.Description), " "))
	}
	if b.Len() == 0 {
		return "No agents."
	}
	return strings.TrimRight(b.String(), "\n")
}

func trimmed(text string) string { return strings.TrimSpace(text) }
