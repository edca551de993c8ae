package meta

import (
	"cmp"
	"slices"
	"strings"
)

const (
	nearestMax  = 3   // more than three proposals are no help
	nearestLong = 128 // bytes; no name is longer, and distance is quadratic
)

// Nearest returns up to three candidates that name may have been meant to be, best first, ties by name; none when
// nothing is near. Case is ignored, a swapped pair counts as one edit, and a word inside the other counts as near.
func Nearest(name string, candidates []string) []string {
	if len(name) < 2 || len(name) > nearestLong {
		return nil
	}
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, c := range candidates {
		if s, ok := nearness(name, c); ok {
			found = append(found, scored{c, s})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found {
		// A clear winner stands alone: a second proposal is worth reading only when it is about as near.
		if len(out) == nearestMax || len(out) > 0 && f.score > found[0].score+1 {
			break
		}
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// nearness is the number of edits. The suffix that all middlewares share says nothing, so it is left out on both
// sides; otherwise any short name would be near any other.
func nearness(name, candidate string) (int, bool) {
	const suffix = "middleware"
	n, c := strings.ToLower(name), strings.ToLower(candidate)
	nt, named := strings.CutSuffix(n, suffix)
	ct, _ := strings.CutSuffix(c, suffix)
	limit := func(s string) int { return max(1, len(s)/3) }
	best, ok := within(nt, ct, limit(nt))
	ok = ok && best < len(nt)
	if !named {
		if d, near := within(n, c, limit(n)); near && (!ok || d < best) {
			best, ok = d, true
		}
	}
	if short := min(len(nt), len(ct)); !ok && short >= 3 && (strings.Contains(nt, ct) || strings.Contains(ct, nt)) {
		return max(limit(nt), 2), true
	}
	return best, ok
}

// within spares the work where lengths alone say no.
func within(a, b string, limit int) (int, bool) {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return 0, false
	}
	d := distance(a, b)
	return d, d <= limit
}

// distance is Damerau's, restricted to adjacent swaps, over bytes.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
