package toolview

// Policy is everything outside the tools themselves that decides what a view holds. It is immutable and compared by
// pointer: a host's change swaps the whole value.
type Policy struct {
	// Agent is the child that the view belongs to; "" for a main session or a fork of it.
	Agent string
	// Frames are the lists that narrow this view: the settings' and the host's, or the agent's own.
	Frames []*Frame
	// Ancestors are frames whose deny lists bind even what an agent's own definition brings.
	Ancestors []*Frame
	// Paused holds the names of middlewares that the host switched off.
	Paused map[string]bool
	// WithoutSearch says what becomes of deferred tools while no finder is there.
	WithoutSearch Fallback
	// LateDirect makes a tool that appears late direct, at the cost of one cache write; otherwise it is deferred.
	LateDirect bool
	// Place is where the paths of scoped entries begin.
	Place Place
}

// Fallback is the setting tools.without_search.
type Fallback string

const (
	// Direct is the default: deferred tools become direct.
	Direct Fallback = "direct"
	// Hide leaves them out of the view.
	Hide Fallback = "hide"
	// Refuse makes session creation fail.
	Refuse Fallback = "error"
)

// free reports whether the policy restricts no tool of an owner.
func (p *Policy) free(owner string) bool {
	if p.Paused[owner] {
		return false
	}
	for _, f := range p.Frames {
		if !f.free() {
			return false
		}
	}
	return true
}

// judge is the gates listed, denied and active for one tool.
func (p *Policy) judge(b *Band, t *Tool) (Gate, Selector) {
	for _, f := range p.Frames {
		if g, s := f.judge(b.Owner, &t.Decl, t.Finder); g != "" {
			return g, s
		}
	}
	if b.Brought {
		for _, f := range p.Ancestors {
			if f == nil {
				continue
			}
			if s, ok := f.deny.denies(b.Owner, &t.Decl); ok {
				return GateDenied, s
			}
		}
	}
	if p.Paused[b.Owner] {
		return GateActive, Selector{Text: "paused by the host"}
	}
	return "", Selector{}
}
