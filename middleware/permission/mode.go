package permission

import (
	"slices"
	"strings"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Mode says what happens to a call that no rule decides.
type Mode string

const (
	// Default asks about all that is not read-only.
	Default Mode = "default"
	// AcceptEdits also allows edits inside the project.
	AcceptEdits Mode = "acceptEdits"
	// Plan allows what is read-only and denies the rest.
	Plan Mode = "plan"
	// Bypass allows everything that no rule denies or asks about.
	Bypass Mode = "bypass"
	// DontAsk denies what Default would ask about.
	DontAsk Mode = "dontAsk"
)

// Modes are all modes in the order in which they are documented.
func Modes() []Mode { return []Mode{Default, AcceptEdits, Plan, Bypass, DontAsk} }

func known(m Mode) bool { return slices.Contains(Modes(), m) }

func modeNames() string {
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// class is the column of the mode table that a call stands in.
type class uint8

const (
	readOnly class = iota
	projectEdit
	otherwise
)

// cell is the mode table.
func (m Mode) cell(c class) middleware.Decision {
	switch {
	case m == Bypass || c == readOnly && known(m):
		return middleware.Allow
	case m == Default, m == AcceptEdits && c == otherwise:
		return middleware.Ask
	case m == AcceptEdits:
		return middleware.Allow
	}
	return middleware.Deny // plan, dontAsk, and what is no mode
}

// guarded is what a mode makes of a call that touches what decides about sessions.
func (m Mode) guarded() middleware.Decision {
	switch m {
	case Bypass:
		return middleware.Allow
	case DontAsk:
		return middleware.Deny
	}
	return middleware.Ask
}

// onlyLooks reports whether a call changes nothing outside the session. An internal tool may name a file that this one
// call of it writes.
func onlyLooks(e toolview.Effects, subjects []toolview.Subject) bool {
	if !e.Has(toolview.Internal) {
		return e.Has(toolview.ReadOnly) && !e.Has(toolview.OpenWorld)
	}
	for _, s := range subjects {
		if s.Kind == toolview.Path && s.Edit {
			return false
		}
	}
	return true
}

// onlyEdits reports whether files are all that a tool changes, so that its paths tell everything about it.
func onlyEdits(e toolview.Effects) bool {
	return e.Has(toolview.Edits) && e&(toolview.Runs|toolview.OpenWorld) == 0
}
