package schema

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// scanner pulls JSON tokens out of bytes. Its methods report false once the text is broken; why and at has the first
// defect. It is stricter than encoding/json: see the package's comment.
type scanner struct {
	data []byte
	pos  int
	deep int // the deepest nesting allowed
	why  string
	at   int
}

func (s *scanner) fail(why string) bool {
	if s.why == "" {
		s.why, s.at = why, s.pos
	}
	return false
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// end reports whether nothing but white space follows.
func (s *scanner) end() bool {
	if s.peek(); s.pos < len(s.data) {
		return s.fail("something after the end of the arguments")
	}
	return true
}

// text reads a string and returns what stands between its quotes, still escaped if escaped.
func (s *scanner) text() (raw []byte, escaped, ok bool) {
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			raw = s.data[start:s.pos]
			s.pos++
			return raw, escaped, true
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil, false, false
			}
		case c < ' ':
			return nil, false, s.fail("a raw control character in a string; write it as an escape such as \\n")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && n == 1 {
				return nil, false, s.fail("a string that is not UTF-8")
			}
			s.pos += n
		}
	}
	return nil, false, s.fail("a string without its closing quote")
}

func (s *scanner) escape() bool {
	if s.pos+1 >= len(s.data) {
		return s.fail("a string without its closing quote")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
		_, n := unicodeEscape(s.data[s.pos:])
		if n == 0 {
			return s.fail("a broken \\u escape, or half of a surrogate pair")
		}
		s.pos += n
		return true
	}
	return s.fail("an unknown escape in a string")
}

// unicodeEscape reads \uXXXX, or a pair of them that forms one code point. n is 0 if b starts with neither.
func unicodeEscape(b []byte) (r rune, n int) {
	r, ok := hex4(b)
	switch {
	case !ok, r >= 0xdc00 && r <= 0xdfff:
		return 0, 0
	case r < 0xd800 || r > 0xdbff:
		return r, 6
	}
	low, ok := hex4(b[6:])
	if !ok || low < 0xdc00 || low > 0xdfff {
		return 0, 0
	}
	return (r-0xd800)<<10 | (low - 0xdc00) + 0x10000, 12
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// plain returns the characters a scanned string means; without escapes these are raw itself.
func plain(raw []byte, escaped bool) []byte {
	if !escaped {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] == 'u' {
			r, n := unicodeEscape(raw[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		c := raw[i+1]
		if at := bytes.IndexByte([]byte("bfnrt"), c); at >= 0 {
			c = "\b\f\n\r\t"[at]
		}
		out = append(out, c)
		i += 2
	}
	return out
}

// number reads a number that fits a float64.
func (s *scanner) number() (lit []byte, ok bool) {
	start := s.pos
	if s.pos < len(s.data) && s.data[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.data) && s.data[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return nil, s.fail("a broken number")
	}
	exponent := false
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return nil, s.fail("a broken number")
		}
	}
	if s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e' {
		exponent = true
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		if !s.digits() {
			return nil, s.fail("a broken number")
		}
	}
	lit = s.data[start:s.pos]
	if exponent || len(lit) > 300 {
		if _, err := strconv.ParseFloat(string(lit), 64); err != nil {
			s.pos = start
			return nil, s.fail("a number too large to be kept")
		}
	}
	return lit, true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.fail("something that is not JSON")
	}
	s.pos += len(w)
	return true
}

// enter steps into an object or array at the given depth; empty reports that it closed at once.
func (s *scanner) enter(closer byte, depth int) (empty, ok bool) {
	if depth >= s.deep {
		return false, s.fail("nesting deeper than " + strconv.Itoa(s.deep) + " levels")
	}
	s.pos++
	if s.peek() == closer {
		s.pos++
		return true, true
	}
	return false, true
}

// next steps over the comma or closer after a member.
func (s *scanner) next(closer byte) (more, ok bool) {
	switch s.peek() {
	case ',':
		s.pos++
		return true, true
	case closer:
		s.pos++
		return false, true
	case 0:
		return false, s.fail("the end of the text inside an object or array")
	}
	return false, s.fail("something else where a comma or the closing bracket belongs")
}

// key reads an object's key and its colon. The key aliases the data unless it has escapes.
func (s *scanner) key() (key []byte, at int, ok bool) {
	if s.peek() != '"' {
		return nil, s.pos, s.fail("something else where a quoted key belongs")
	}
	at = s.pos
	raw, escaped, ok := s.text()
	if !ok {
		return nil, at, false
	}
	if s.peek() != ':' {
		return nil, at, s.fail("a key without its colon")
	}
	s.pos++
	return plain(raw, escaped), at, true
}

// skip reads one value of any shape.
func (s *scanner) skip(depth int) bool {
	switch s.peek() {
	case '{':
		return s.skipObject(depth)
	case '[':
		empty, ok := s.enter(']', depth)
		for more := ok && !empty; more; {
			if !s.skip(depth + 1) {
				return false
			}
			more, ok = s.next(']')
		}
		return ok
	case '"':
		_, _, ok := s.text()
		return ok
	}
	return s.scalar()
}

func (s *scanner) skipObject(depth int) bool {
	var seen keySet
	empty, ok := s.enter('}', depth)
	for more := ok && !empty; more; {
		key, at, ok := s.key()
		if !ok {
			return false
		}
		if !seen.add(key) {
			s.pos = at
			return s.fail("the key " + quote(key) + " twice in one object")
		}
		if !s.skip(depth + 1) {
			return false
		}
		if more, ok = s.next('}'); !ok {
			return false
		}
	}
	return ok
}

func (s *scanner) scalar() bool {
	if s.pos >= len(s.data) {
		return s.fail("the end of the text where a value belongs")
	}
	switch s.data[s.pos] {
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	if c := s.data[s.pos]; c != '-' && (c < '0' || c > '9') {
		return s.fail("something that is not JSON")
	}
	_, ok := s.number()
	return ok
}

// keySet finds keys that repeat. The first few live in an array, so that small objects cost nothing.
type keySet struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

// add reports false if key was added before.
func (k *keySet) add(key []byte) bool {
	if k.many == nil {
		for _, old := range k.few[:k.n] {
			if bytes.Equal(old, key) {
				return false
			}
		}
		if k.n < len(k.few) {
			k.few[k.n] = key
			k.n++
			return true
		}
		k.many = make(map[string]struct{}, 4*len(k.few))
		for _, old := range k.few {
			k.many[string(old)] = struct{}{}
		}
	}
	if _, twice := k.many[string(key)]; twice {
		return false
	}
	k.many[string(key)] = struct{}{}
	return true
}
