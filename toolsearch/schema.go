package toolsearch

import (
	"encoding/json"
	"strings"
)

// deepest is how far into a schema its arguments are read.
const deepest = 12

// scan reads a JSON Schema for the names, docs and allowed values of arguments without building it: a catalogue of
// thousands is read at every start. The schema is taken to be valid JSON; of what is not, the front is read.
type scan struct {
	raw   string
	at    int
	names []string
	docs  []string // and values
}

// read starts anew with a schema.
func (s *scan) read(raw []byte) {
	*s = scan{raw: string(raw), names: s.names[:0], docs: s.docs[:0]}
	s.value(aSchema, 0)
}

// role is what the strings and keys of a value are.
type role uint8

const (
	nothing    role = iota
	aSchema         // an object of keywords
	properties      // an object of names and schemas
	prose           // a string to be read
	schemas         // a schema or an array of them
	values          // an array of strings to be read
)

// value passes a value and keeps what of it is to be read. It is false where the JSON ends or is none.
func (s *scan) value(as role, depth int) bool {
	if !s.space() || depth > deepest {
		return false
	}
	switch s.raw[s.at] {
	case '{', '[':
		return s.members(as, depth)
	case '"':
		from, ok := s.skip()
		if ok && (as == prose || as == values) {
			s.docs = append(s.docs, s.text(from))
		}
		return ok
	}
	for s.at < len(s.raw) && strings.IndexByte(",}] \n\t\r", s.raw[s.at]) < 0 {
		s.at++
	}
	return true
}

// members passes an object or an array.
func (s *scan) members(as role, depth int) bool {
	object := s.raw[s.at] == '{'
	if !object && as != values && as != schemas {
		as = nothing
	}
	for s.at++; s.space(); {
		switch s.raw[s.at] {
		case '}', ']':
			s.at++
			return true
		case ',':
			s.at++
			continue
		}
		next := as
		if object {
			var ok bool
			if next, ok = s.key(as, depth); !ok {
				return false
			}
		}
		if !s.value(next, depth+1) {
			return false
		}
	}
	return false
}

// key passes a key with its colon, and says what its value is.
func (s *scan) key(as role, depth int) (next role, ok bool) {
	if s.raw[s.at] != '"' {
		return nothing, false
	}
	from, ok := s.skip()
	if !ok {
		return nothing, false
	}
	switch as {
	case aSchema, schemas:
		next = keyword(s.raw[from:s.at-1], depth)
	case properties:
		s.names = append(s.names, s.text(from))
		next = aSchema
	}
	if !s.space() || s.raw[s.at] != ':' {
		return nothing, false
	}
	s.at++
	return next, true
}

// keyword is what stands under a key of a schema. The outermost description is the tool's own again, or a title.
func keyword(key string, depth int) role {
	switch key {
	case "properties":
		return properties
	case "description", "title":
		if depth > 0 {
			return prose
		}
	case "enum", "const":
		return values
	case "items", "anyOf", "oneOf", "allOf", "prefixItems", "additionalProperties", "not":
		return schemas
	case "$defs", "definitions":
		return properties
	}
	return nothing
}

// space passes white space; it is false at the end.
func (s *scan) space() bool {
	for s.at < len(s.raw) && (s.raw[s.at] == ' ' || s.raw[s.at] == '\n' || s.raw[s.at] == '\t' || s.raw[s.at] == '\r') {
		s.at++
	}
	return s.at < len(s.raw)
}

// skip passes a string and returns where its inside begins.
func (s *scan) skip() (from int, ok bool) {
	s.at++
	from = s.at
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case '\\':
			s.at += 2
			continue
		case '"':
			s.at++
			return from, true
		}
		s.at++
	}
	return from, false
}

// text is the string that was just passed.
func (s *scan) text(from int) string {
	inside := s.raw[from : s.at-1]
	if strings.IndexByte(inside, '\\') < 0 {
		return inside
	}
	var out string
	if json.Unmarshal([]byte(s.raw[from-1:s.at]), &out) != nil {
		return ""
	}
	return out
}
