package toolsearch

import (
	"unicode"
	"unicode/utf8"
)

const longest = 40 // bytes of a word that is kept; what is longer is an id or a blob

// kind says what a word is a piece of.
type kind uint8

const (
	plain kind = iota
	part       // of an identifier with inner capitals
	whole      // that identifier
	pair       // two CJK characters
	lone       // one CJK character
)

// splitter cuts texts into lower-case words. Its buffers are used again, so that splitting allocates nothing; it
// belongs to one goroutine.
type splitter struct {
	buf  []byte
	ends []int
	// value says that the word at hand is written like a name or a number inside a text.
	value bool
}

// each calls yield with every word of a text: runs of letters and digits, cut at inner capitals into parts, with the
// whole behind them ("GitHub" is git, hub and github); of a run of CJK every character and every pair. The bytes are
// valid until yield returns.
func (s *splitter) each(text string, yield func(word []byte, k kind)) {
	for at := 0; at < len(text); {
		r, size := runeAt(text, at)
		switch {
		case isCJK(r):
			at = s.cjk(text, at, yield)
		case isWord(r):
			at = s.word(text, at, yield)
		default:
			at += size
		}
	}
}

func runeAt(text string, at int) (rune, int) {
	if c := text[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(text[at:])
}

func (s *splitter) word(text string, at int, yield func([]byte, kind)) int {
	s.buf, s.ends = s.buf[:0], s.ends[:0]
	first, _ := runeAt(text, at)
	s.value = at > 0 && unicode.IsUpper(first)
	if end, ok := simple(text, at); ok {
		s.buf = append(s.buf, text[at:end]...)
		s.buf[0] |= 'a' - 'A'
		give(s.buf, plain, yield)
		return end
	}
	var before, last rune
	digit := false
	for start := at; at < len(text); {
		r, size := runeAt(text, at)
		if (r == '\'' || r == '’') && at+size < len(text) && (text[at+size] == 's' || text[at+size] == 't') {
			// A possessive or a negation ends here; what is behind it is no word.
			for at += size; at < len(text) && isWord(rune(text[at])); at++ {
			}
			break
		}
		if !isWord(r) || isCJK(r) {
			break
		}
		digit = digit || '0' <= r && r <= '9'
		switch {
		case at > start && unicode.IsUpper(r) && !unicode.IsUpper(last):
			s.cut(len(s.buf))
		case unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before):
			s.cut(len(s.buf) - utf8.RuneLen(unicode.ToLower(last)))
		}
		s.buf = utf8.AppendRune(s.buf, unicode.ToLower(r))
		before, last = last, r
		at += size
	}
	if len(s.ends) == 0 {
		s.value = s.value || digit
		give(s.buf, plain, yield)
		return at
	}
	from := 0
	for _, end := range s.ends {
		give(s.buf[from:end], part, yield)
		from = end
	}
	give(s.buf[from:], part, yield)
	give(s.buf, whole, yield)
	return at
}

// simple finds the end of a word of letters a to z, the first perhaps a capital. Most words are simple.
func simple(text string, at int) (end int, ok bool) {
	end = at
	if 'A' <= text[end] && text[end] <= 'Z' {
		end++
	}
	for end < len(text) && 'a' <= text[end] && text[end] <= 'z' {
		end++
	}
	if end == at {
		return end, false
	}
	return end, end == len(text) || text[end] < utf8.RuneSelf && text[end] != '\'' && !isWord(rune(text[end]))
}

func give(word []byte, k kind, yield func([]byte, kind)) {
	if len(word) > 0 && len(word) <= longest {
		yield(word, k)
	}
}

func (s *splitter) cut(at int) {
	if at > 0 && (len(s.ends) == 0 || s.ends[len(s.ends)-1] < at) {
		s.ends = append(s.ends, at)
	}
}

func (s *splitter) cjk(text string, at int, yield func([]byte, kind)) int {
	s.value = false
	for size := 0; at < len(text); {
		r, w := utf8.DecodeRuneInString(text[at:])
		if !isCJK(r) {
			break
		}
		if size > 0 {
			s.buf = append(s.buf[:0], text[at-size:at+w]...)
			yield(s.buf, pair)
		}
		s.buf = append(s.buf[:0], text[at:at+w]...)
		yield(s.buf, lone)
		size, at = w, at+w
	}
	return at
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
