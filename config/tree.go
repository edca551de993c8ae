package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metaharness/peri/meta"
)

// kind is a set of what a value may be.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	text
	number
	list
	mapping
)

// value is one parsed value with its place. A tree is never changed once it is checked; merging builds new ones that
// share leaves.
type value struct {
	kind    kind
	at      meta.Origin
	scalar  any // bool, string or float64
	items   []*value
	members []member // in the order of the file
}

type member struct {
	name string
	at   meta.Origin // of the key
	*value
}

func (v *value) member(name string) (member, bool) {
	if v == nil {
		return member{}, false
	}
	for _, m := range v.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// set replaces or adds a member.
func (v *value) set(m member) {
	for i := range v.members {
		if v.members[i].name == m.name {
			v.members[i] = m
			return
		}
	}
	v.members = append(v.members, m)
}

// found says what stands there, for a message.
func (v *value) found() string {
	switch v.kind {
	case null:
		return "found null"
	case boolean:
		return fmt.Sprintf("found %t", v.scalar)
	case text:
		return "found the text " + strconv.Quote(clip(v.scalar.(string)))
	case number:
		return "found the number " + strconv.FormatFloat(v.scalar.(float64), 'g', -1, 64)
	case list:
		return "found a list"
	}
	return "found a map"
}

// clip keeps messages readable.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// badKey says what is wrong with a name, "" for nothing.
func badKey(name string) string {
	switch {
	case len(name) > maxKey:
		return fmt.Sprintf("a key of more than %d bytes", maxKey)
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return fmt.Sprintf("a key with a control character, %q", clip(name))
	}
	return ""
}

// plain gives the value as Go values, for hashing and for what callers decode themselves.
func (v *value) plain() any {
	switch v.kind {
	case list:
		out := make([]any, len(v.items))
		for i, item := range v.items {
			out[i] = item.plain()
		}
		return out
	case mapping:
		out := make(map[string]any, len(v.members))
		for _, m := range v.members {
			out[m.name] = m.plain()
		}
		return out
	case null:
		return nil
	}
	return v.scalar
}
