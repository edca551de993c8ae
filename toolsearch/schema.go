package toolsearch

import "encoding/json"

// deepest is how far into a schema its arguments are read.
const deepest = 12

// scan reads a JSON Schema for the names, docs and allowed values of arguments without building it: a catalogue of
// thousands is read at every start. The schema is taken to be valid JSON; of what is not, the front is read.
type scan struct {
	raw  []byte
	at   int
	name func(string)
	doc  func(string)
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

func (s *scan) value(as role, depth int) bool {
	s.space()
	if s.at >= len(s.raw) || depth > deepest {
		return false
	}
	switch s.raw[s.at] {
	case '{':
		return s.object(as, depth)
	case '[':
		return s.array(as, depth)
	case '"':
		from, ok := s.skip()
		if ok && (as == prose || as == values) {
			s.doc(s.text(from))
		}
		return ok
	}
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return true
		}
		s.at++
	}
	return true
}

func (s *scan) object(as role, depth int) bool {
	s.at++
	for {
		s.space()
		if s.at >= len(s.raw) {
			return false
		}
		switch s.raw[s.at] {
		case '}':
			s.at++
			return true
		case ',':
			s.at++
			continue
		case '"':
		default:
			return false
		}
		from, ok := s.skip()
		if !ok {
			return false
		}
		key := s.raw[from : s.at-1]
		next := nothing
		switch as {
		case aSchema, schemas:
			next = keyword(key, depth)
		case properties:
			s.name(s.text(from))
			next = aSchema
		}
		s.space()
		if s.at >= len(s.raw) || s.raw[s.at] != ':' {
			return false
		}
		s.at++
		if !s.value(next, depth+1) {
			return false
		}
	}
}

// keyword is what stands under a key of a schema. The outermost description is the tool's own again, or a title.
func keyword(key []byte, depth int) role {
	switch string(key) {
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

func (s *scan) array(as role, depth int) bool {
	s.at++
	for {
		s.space()
		if s.at >= len(s.raw) {
			return false
		}
		switch s.raw[s.at] {
		case ']':
			s.at++
			return true
		case ',':
			s.at++
			continue
		}
		if as != values && as != schemas {
			as = nothing
		}
		if !s.value(as, depth+1) {
			return false
		}
	}
}

func (s *scan) space() {
	for s.at < len(s.raw) && (s.raw[s.at] == ' ' || s.raw[s.at] == '\n' || s.raw[s.at] == '\t' || s.raw[s.at] == '\r') {
		s.at++
	}
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
	for _, c := range inside {
		if c == '\\' {
			var out string
			if json.Unmarshal(s.raw[from-1:s.at], &out) != nil {
				return ""
			}
			return out
		}
	}
	return string(inside)
}
