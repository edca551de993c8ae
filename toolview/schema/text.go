package schema

import (
	"bytes"
	"encoding/json"
)

// members is a JSON object in the order of its text.
type members []member

type member struct {
	key   string
	value []byte
}

func (m members) value(key string) []byte {
	for _, one := range m {
		if one.key == key {
			return one.value
		}
	}
	return nil
}

// readMembers returns nil for anything but an object.
func readMembers(raw []byte) members {
	var out members
	s := scanner{data: raw, deep: maxSchemaDepth}
	if s.peek() != '{' {
		return nil
	}
	empty, ok := s.enter('}', 0)
	for more := ok && !empty; more; {
		key, _, ok := s.key()
		if !ok {
			return nil
		}
		s.space()
		start := s.pos
		if !s.skip(1) {
			return nil
		}
		out = append(out, member{string(key), raw[start:s.pos]})
		if more, ok = s.next('}'); !ok {
			return nil
		}
	}
	return out
}

// readItems returns nil for anything but an array.
func readItems(raw []byte) [][]byte {
	var out [][]byte
	s := scanner{data: raw, deep: maxSchemaDepth}
	if s.peek() != '[' {
		return nil
	}
	empty, ok := s.enter(']', 0)
	for more := ok && !empty; more; {
		s.space()
		start := s.pos
		if !s.skip(1) {
			return nil
		}
		out = append(out, raw[start:s.pos])
		if more, ok = s.next(']'); !ok {
			return nil
		}
	}
	return out
}

// quote writes s as JSON, without the escapes meant for HTML.
func quote[T string | []byte](s T) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(string(s)) // a string and a buffer cannot fail
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// excerpt shortens s for a message to at most n bytes, at a character's edge.
func excerpt[T string | []byte](s T, n int) string {
	if len(s) <= n {
		return string(s)
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return string(s[:n]) + "…"
}
