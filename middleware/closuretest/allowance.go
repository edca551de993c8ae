package closuretest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Allowance excuses leaks. Empty fields match everything, Text a part; Why is needed.
type Allowance struct{ Check, Closed, Owner, Where, Text, Why string }

func (a *Allowance) meets(l *Leak) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	return same(a.Check, l.Check) && same(a.Closed, l.Closed) && same(a.Owner, l.Owner) && same(a.Where, l.Where) &&
		strings.Contains(l.Text, a.Text)
}

// excuses remembers which allowances excused something.
type excuses struct {
	mu   sync.Mutex
	used map[int]bool
}

// excuse drops the leaks that an allowance with a reason meets and returns the others, sorted.
func (f *excuses) excuse(allowed []Allowance, leaks []Leak) []Leak {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Leak
	for _, l := range leaks {
		i := slices.IndexFunc(allowed, func(a Allowance) bool { return a.Why != "" && a.meets(&l) })
		if i < 0 {
			out = append(out, l)
			continue
		}
		if f.used == nil {
			f.used = map[int]bool{}
		}
		f.used[i] = true
	}
	slices.SortStableFunc(out, func(a, b Leak) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Text, b.Text))
	})
	return out
}

func (f *excuses) unused(allowed []Allowance) []Leak {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Leak
	for i, a := range allowed {
		switch {
		case a.Why == "":
			out = append(out, Leak{Check: Allowances, Where: fmt.Sprintf("Allowed[%d]", i), Text: "has no Why"})
		case !f.used[i]:
			out = append(out, Leak{Check: Allowances, Where: fmt.Sprintf("Allowed[%d]", i), Text: "excuses no leak: remove it"})
		}
	}
	return out
}
