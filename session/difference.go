package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Difference is what one surface has and another lacks.
type Difference struct{ Gained, Lost Surface }

// Since tells what became of an earlier surface, or of another session's.
func (s Surface) Since(before Surface) Difference {
	return Difference{Gained: s.Minus(before), Lost: before.Minus(s)}
}

// Empty reports whether both were the same.
func (d Difference) Empty() bool { return len(d.Gained)+len(d.Lost) == 0 }

// String is a line for each fact, lost ones with a minus and gained ones with a plus, a changed one's two together.
func (d Difference) String() string {
	type row struct {
		mark string
		Fact
	}
	var rows []row
	for _, f := range d.Lost {
		rows = append(rows, row{"- ", f})
	}
	for _, f := range d.Gained {
		rows = append(rows, row{"+ ", f})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Surface, b.Surface), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owner, b.Owner))
	})
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.mark + Surface{r.Fact}.String())
	}
	return b.String()
}

// Has reports whether a surface of these facts has something of that name, such as "tool", "Read".
func (s Surface) Has(surface, name string) bool {
	return slices.ContainsFunc(s, func(f Fact) bool { return f.Surface == surface && f.Name == name })
}

// ParseSurface reads what String wrote; docs are not in it. A name or detail with a line end cannot be told apart.
func ParseSurface(text string) (Surface, error) {
	var out Surface
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		f := strings.SplitN(line, " ", 4)
		if len(f) < 3 {
			return nil, fmt.Errorf("session: %q is no fact: it is surface, name, owner and detail", line)
		}
		fact := Fact{Surface: f[0], Name: f[1], Owner: f[2]}
		if len(f) == 4 {
			fact.Detail = f[3]
		}
		out = append(out, fact)
	}
	return out, nil
}
