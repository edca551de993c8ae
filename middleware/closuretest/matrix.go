package closuretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session"
)

// MatrixVersion names the JSON of a Matrix.
const MatrixVersion = "peri.verify/v1"

// Matrix is what closing each middleware of a project takes away, and what stays behind that should not. Its lists are
// never nil, and in the order of the chain, of the surfaces or of the files.
type Matrix struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// Surfaces are the kinds of facts that the project's session has, children's apart.
	Surfaces []string `json:"surfaces"`
	Rows     []Row    `json:"middlewares"`
	// Facts are all of the session's, without children's. A page computes from them what a closing would take.
	Facts []Item `json:"facts"`
	// Leaks are of the session as it is and of every closing. Mentions are users' texts that name a tool which the session
	// as it is lacks.
	Leaks    []Leak    `json:"leaks"`
	Mentions []Mention `json:"mentions"`
}

// OK reports whether nothing leaks and no user's text names what is not there.
func (m *Matrix) OK() bool { return len(m.Leaks)+len(m.Mentions) == 0 }

// Row is one middleware of the chain.
type Row struct {
	Name     string   `json:"name"`
	Doc      string   `json:"doc"`
	State    string   `json:"state"`
	Cause    string   `json:"cause"`
	Requires []string `json:"requires"`
	// Closed says that closing it was looked at. What follows is empty otherwise.
	Closed bool `json:"closed"`
	// Owns and Takes count facts by surface: its own, and all that leave with it. Child is the same of a fork.
	Owns  map[string]int `json:"owns"`
	Takes map[string]int `json:"takes"`
	Child int            `json:"child"`
	// Cascades are the middlewares that close with it, Direct the deferred tools that become direct.
	Cascades []string `json:"cascades"`
	Direct   []string `json:"direct"`
	Leaks    []Leak   `json:"leaks"`
	// Texts are the users' that would still name its tools.
	Texts []Mention `json:"texts"`
}

// Item is a fact with what decides when it leaves.
type Item struct {
	session.Fact
	// Needs are the tools without all of which a segment leaves; Finder is set for a tool that leaves with the last
	// deferred one.
	Needs  []string `json:"needs,omitempty"`
	Finder bool     `json:"finder,omitempty"`
}

// Verify closes each open middleware of a project in turn and tells what leaves and what stays behind. The error says
// why nothing could be looked at.
func Verify(ctx context.Context, p Project) (_ *Matrix, err error) {
	own := &project{Project: p}
	defer func() { err = errors.Join(err, own.close(context.WithoutCancel(ctx))) }()
	l, first, err := beginIn(ctx, Config{Middlewares: p.Blueprint.Suite.All(), Only: p.Only, Ways: p.Ways, Turns: 1}, own)
	if l != nil {
		defer os.RemoveAll(l.dir)
	}
	if err != nil {
		return nil, err
	}
	if len(first) > 0 {
		return nil, fmt.Errorf("closuretest: %s", first[0].Text)
	}
	sets := [][]string{nil}
	for i := range l.base.links {
		at := &l.base.links[i]
		wanted := p.Only == nil || slices.Contains(p.Only, at.Name)
		if at.Name != probeName && at.Instance != nil && wanted {
			sets = append(sets, []string{at.Name})
		}
	}
	trials := make([]*trial, len(sets))
	leaks := make([][]Leak, len(sets))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				trials[i] = l.trial(sets[i])
				trials[i].each(ctx, func(_ check, found []Leak) { leaks[i] = append(leaks[i], found...) })
			}
		})
	}
	for i := range sets {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return l.matrix(trials, leaks), nil
}

// matrix puts together what was seen.
func (l *lab) matrix(trials []*trial, leaks [][]Leak) *Matrix {
	m := &Matrix{
		Version: MatrixVersion, Digest: l.base.digest, Surfaces: []string{}, Facts: []Item{}, Rows: []Row{}, Leaks: []Leak{},
		Mentions: l.mentionsOf(trials[0].lacked()),
	}
	for _, f := range l.base.surface {
		if f.Owner == probeName || strings.HasPrefix(f.Surface, session.ChildPrefix) {
			continue
		}
		if !slices.Contains(m.Surfaces, f.Surface) {
			m.Surfaces = append(m.Surfaces, f.Surface)
		}
		m.Facts = append(m.Facts, l.item(f))
	}
	slices.SortStableFunc(m.Surfaces, func(a, b string) int { return rank(a) - rank(b) })
	for _, some := range leaks {
		m.Leaks = append(m.Leaks, new(excuses).excuse(nil, some)...)
	}
	for i := range l.base.links {
		at := &l.base.links[i]
		if at.Name == probeName {
			continue
		}
		r := Row{
			Name: at.Name, Doc: at.Doc, State: string(at.Fate.Status), Cause: at.Fate.Cause, Requires: copied(at.Requires),
			Owns: map[string]int{}, Takes: map[string]int{}, Cascades: []string{}, Direct: []string{}, Leaks: []Leak{}, Texts: []Mention{},
		}
		for _, f := range m.Facts {
			if f.Owner == r.Name {
				r.Owns[f.Surface]++
			}
		}
		for k, t := range trials {
			if len(t.closed) == 1 && t.closed[0] == r.Name && t.seen != nil {
				r.closed(l, t)
				r.Leaks = append(r.Leaks, new(excuses).excuse(nil, leaks[k])...)
			}
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

// closed fills in what a closing took.
func (r *Row) closed(l *lab, t *trial) {
	r.Closed = true
	for i := range t.seen.links {
		if at := &t.seen.links[i]; at.Fate.Status == middleware.Cascaded && !l.base.gone[at.Name] {
			r.Cascades = append(r.Cascades, at.Name)
		}
	}
	now := at(t.seen.surface)
	for p, f := range at(l.base.surface) {
		if _, stays := now[p]; stays {
			continue
		}
		surface, child := strings.CutPrefix(f.Surface, session.ChildPrefix)
		p.surface = strings.Replace(p.surface, session.OnSearch, session.OnTool, 1)
		_, direct := now[p]
		switch {
		case child:
			r.Child++
		case surface == session.OnSearch && direct:
			r.Direct = append(r.Direct, f.Name)
		default:
			r.Takes[surface]++
		}
	}
	slices.Sort(r.Direct)
	r.Texts = l.mentionsOf(t.newlyLacked())
}

// item is a fact with what its owner declared of it.
func (l *lab) item(f session.Fact) Item {
	out := Item{Fact: f}
	switch f.Surface {
	case session.OnSegment:
		for _, r := range l.base.segments {
			if r.ID == f.Name {
				out.Needs = r.Needs
			}
		}
	case session.OnTool:
		e, _ := l.base.view.Lookup(f.Name)
		out.Finder = e.Tool != nil && e.Tool.Finder
	}
	return out
}

// rank orders the surfaces by what readers look for first; those that nobody foresaw come last.
func rank(surface string) int {
	known := fields[:]
	if i := slices.Index(known, surface); i >= 0 {
		return i
	}
	return len(known)
}

type spot struct{ surface, name, owner string }

// at finds facts by their place.
func at(s session.Surface) map[spot]session.Fact {
	out := make(map[spot]session.Fact, len(s))
	for _, f := range s {
		out[spot{f.Surface, f.Name, f.Owner}] = f
	}
	return out
}

func copied(s []string) []string { return append([]string{}, s...) }

// lacked are the suite's tools that the session lacks, with their owners: closed, denied, unsupported.
func (t *trial) lacked() map[string]string {
	out := map[string]string{}
	for _, n := range t.absent() {
		if _, alias := t.aliases[n.name]; n.what == "tool" && (!alias || distinct(n.name)) {
			out[n.name] = n.owner
		}
	}
	return out
}

// newlyLacked are those that a session with everything open has.
func (t *trial) newlyLacked() map[string]string {
	out := t.lacked()
	for name := range out {
		if _, had := t.base.view.Lookup(name); !had {
			delete(out, name)
		}
	}
	return out
}
