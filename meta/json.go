package meta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const stateVersion = 1

type stateJSON struct {
	Version   int            `json:"version"`
	Digest    string         `json:"digest"`
	Meta      []entryJSON    `json:"meta"`
	Overrides []overrideJSON `json:"overrides"`
}

type entryJSON struct {
	Key   string `json:"key"`
	Kind  string `json:"kind"`
	Value bool   `json:"value"`
	originJSON
}

type overrideJSON struct {
	Segment string `json:"segment"`
	Text    string `json:"text"`
	originJSON
}

type originJSON struct {
	Layer  string `json:"layer,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// MarshalJSON writes the canonical form, version 1. ParseState reads it back to a state that marshals to the same
// bytes.
func (s *State) MarshalJSON() ([]byte, error) {
	if s == nil {
		s = &State{}
	}
	out := stateJSON{
		Version:   stateVersion,
		Digest:    s.Digest(),
		Meta:      make([]entryJSON, len(s.entries)),
		Overrides: make([]overrideJSON, len(s.overrides)),
	}
	for i, e := range s.entries {
		out.Meta[i] = entryJSON{e.Key, e.kind.String(), e.Value, originJSON(e.Origin)}
	}
	for i, o := range s.overrides {
		out.Overrides[i] = overrideJSON{o.segment, o.Text, originJSON(o.Origin)}
	}
	return json.Marshal(out)
}

// ParseState reads what MarshalJSON wrote. A version it does not know, a field it does not know, an order or a digest
// that does not fit is an error: a state is never guessed.
func ParseState(b []byte) (*State, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("meta: state: %w", err)
	}
	if version.Version != stateVersion {
		return nil, fmt.Errorf("meta: state: unknown version %d, this build reads %d", version.Version, stateVersion)
	}
	var in stateJSON
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("meta: state: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("meta: state: data after the end")
	}
	s := &State{entries: make([]stated, len(in.Meta)), overrides: make([]override, len(in.Overrides))}
	for i, e := range in.Meta {
		kind, ok := parseKind(e.Kind)
		if !ok {
			return nil, fmt.Errorf("meta: state: key %q: unknown kind %q", e.Key, e.Kind)
		}
		if i > 0 && strings.Compare(in.Meta[i-1].Key, e.Key) >= 0 {
			return nil, fmt.Errorf("meta: state: key %q is out of order", e.Key)
		}
		s.entries[i] = stated{Entry{e.Key, e.Value, Origin(e.originJSON)}, kind}
	}
	for i, o := range in.Overrides {
		if i > 0 && strings.Compare(in.Overrides[i-1].Segment, o.Segment) >= 0 {
			return nil, fmt.Errorf("meta: state: override %q is out of order", o.Segment)
		}
		s.overrides[i] = override{o.Segment, Override{o.Text, Origin(o.originJSON)}}
	}
	if s.digest = s.sum(); s.digest != in.Digest {
		return nil, fmt.Errorf("meta: state: digest is %s, the content's is %s", in.Digest, s.digest)
	}
	return s, nil
}

// UnmarshalJSON is ParseState for a State that is part of something larger. Only a zero State can be filled: one that
// is frozen never changes.
func (s *State) UnmarshalJSON(b []byte) error {
	if s.digest != "" || s.entries != nil || s.overrides != nil {
		return errors.New("meta: state: already frozen")
	}
	read, err := ParseState(b)
	if err != nil {
		return err
	}
	*s = *read
	return nil
}

func parseKind(s string) (Kind, bool) {
	for _, k := range []Kind{Segment, Middleware, Policy} {
		if k.String() == s {
			return k, true
		}
	}
	return 0, false
}
