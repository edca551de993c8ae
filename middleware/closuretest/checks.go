package closuretest

import "context"

// Explanation is a check and what it proves, in one line.
type Explanation struct{ Check, Text string }

// Checks lists the checks in the order in which they run.
func Checks() []Explanation {
	out := []Explanation{
		{Suite, "the middlewares form a suite"},
		{Opens, "every session of the kit opens, takes its turns and closes"},
	}
	for _, c := range checks() {
		out = append(out, Explanation{c.name, c.explain})
	}
	return append(out, Explanation{Allowances, "every allowance has a reason and excuses a leak"})
}

// Names of what is reported outside the checks proper.
const (
	Suite      = "suite"
	Opens      = "opens"
	Allowances = "allowances"
)

// when says for which closed sets a check runs.
type when uint8

const (
	open when = 1 << iota // everything is open
	one                   // one middleware is closed
	two                   // a pair is closed
)

// check is one named property of a suite.
type check struct {
	name, explain string
	when          when
	run           func(context.Context, *trial)
	projects      bool // a project's settings can break it, and not the middlewares' code alone
}

func checks() []check {
	return []check{
		{Declared, "what an open session shows was declared by its owner", open | one, declared, true},
		{Exact, "closing removes exactly what the closed own, and survivors keep their order", one | two, exact, true},
		{Silent, "no text of another owner names what is absent", open | one | two, silent, true},
		{NeverBuilt, "a closed middleware is not opened", one | two, neverBuilt, true},
		{Unreachable, "a closed tool or route is answered like a misspelt one, by every way", one, unreachable, true},
		{NoResurrection, "no override and no host switch brings a closed middleware back", open | one, noResurrection, true},
		{Inherited, "children gain nothing and lose no gate", open | one, inherited, true},
		{Tails, "a contribution is in the tail and nowhere else, and leaves with its owner", open | one, tails, true},
		{Isolated, "two sessions of one suite do not see each other", open | one, isolated, false},
		{Frozen, "digest and prompt outlive turns, a resume and changed files", open, frozen, false},
		{StableOrder, "the system prompt and the tools are the same bytes in every step, creation and fork", open | one, stableOrder, false},
		{Closes, "what was opened is closed once, in reverse, and leaves no goroutine", open, closes, false},
		{Answers, "a gate answers for every call", open, answers, false},
		{Arguments, "what a tool wrapper runs is what was judged", open, arguments, false},
	}
}
