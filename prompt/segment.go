// Package prompt assembles what a model is told before the conversation: segments, each owned by a middleware, frozen
// into one Base when a session is created, and a Tail that is computed for every request.
package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Zone says on which side of the cache boundary a segment stands.
type Zone uint8

const (
	// Cached segments stand before the boundary. Their bytes do not change while the session lives, they have no
	// placeholders and they name no tool.
	Cached Zone = iota
	// Live segments stand behind it: frozen text that leaves while its owner is paused or the last tool that it
	// needs is gone.
	Live
)

func (z Zone) String() string {
	if z == Live {
		return "live"
	}
	return "cached"
}

// Segment is one text of the system prompt. Segments are ordered by zone, then Order, then ID; never by the chain.
type Segment struct {
	// ID is also the meta key and the stem of the override file.
	ID    string
	Zone  Zone
	Order int
	Text  string
	// Needs are the tools that the text is about (Live only): it is absent when a view has none of them.
	Needs []string
	// Word is the selector of a capability that brings no tool (Live only): the text is absent when a list leaves it
	// out.
	Word string
	// Vars are the {{placeholders}} that the text and its overrides may use (Live only). They are filled once, from
	// what the owner's Open returns; a segment all of whose Vars are empty is absent.
	Vars []string
}

var segmentID = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,63}$`)

// Check reports every defect of a segment.
func (s Segment) Check() error {
	var errs []error
	if !segmentID.MatchString(s.ID) {
		errs = append(errs, fmt.Errorf("segment id %q: use a-z, 0-9 and _", s.ID))
	}
	if strings.TrimSpace(s.Text) == "" {
		errs = append(errs, fmt.Errorf("segment %s has no text", s.ID))
	}
	if s.Zone == Cached && (len(s.Needs) > 0 || len(s.Vars) > 0 || s.Word != "") {
		errs = append(errs, fmt.Errorf("segment %s stands before the cache boundary: it can need no tool or word and fill no placeholder", s.ID))
	}
	if s.Zone > Live {
		errs = append(errs, fmt.Errorf("segment %s has no such zone", s.ID))
	}
	known := map[string]bool{}
	for _, v := range s.Vars {
		known[v] = true
	}
	meta.Fill(s.Text, func(name string) (string, bool) {
		if !known[name] {
			errs = append(errs, fmt.Errorf("segment %s has the placeholder {{%s}}, which its Vars lack", s.ID, name))
		}
		return "", true
	})
	return errors.Join(errs...)
}

// Key is the segment as a meta key.
func (s Segment) Key() meta.Key {
	return meta.Key{Name: s.ID, Kind: meta.Segment, Vars: s.Vars, Cached: s.Zone == Cached}
}
