// Package lower writes a request in a vendor's form: what all of them share. Bytes depend on nothing but what is lowered, so
// that a prefix that was sent once is sent again, also by a resumed session.
package lower

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Quote appends s as a JSON string. It escapes what JSON demands and no more; bytes that are no UTF-8 become U+FFFD.
func Quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(Escape(dst, s), '"')
}

// Escape appends s as it stands inside a JSON string.
func Escape(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// Args returns the arguments of a call as the JSON object that every vendor demands: {} for none, and
// {"arguments": …} around what is no object. The bytes are the same before and after a store has kept them: no space
// between tokens, and no escape of <, >, &, U+2028 and U+2029.
func Args(raw json.RawMessage) []byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return []byte("{}")
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return append(Quote([]byte(`{"arguments":`), string(raw)), '}')
	}
	plain := unescape(b.Bytes())
	if plain[0] == '{' {
		return plain
	}
	return append(append([]byte(`{"arguments":`), plain...), '}')
}

// unescape undoes the escapes that encoding/json makes for HTML. js is valid JSON.
func unescape(js []byte) []byte {
	if !bytes.Contains(js, []byte(`\u`)) {
		return js
	}
	out := make([]byte, 0, len(js))
	for i := 0; i < len(js); i++ {
		if js[i] != '\\' {
			out = append(out, js[i])
			continue
		}
		if js[i+1] == 'u' {
			if r := needless(string(js[i+2 : i+6])); r != "" {
				out = append(out, r...)
				i += 5
				continue
			}
		}
		out = append(out, js[i], js[i+1])
		i++
	}
	return out
}

func needless(code string) string {
	switch code {
	case "003c", "003C":
		return "<"
	case "003e", "003E":
		return ">"
	case "0026":
		return "&"
	case "2028":
		return "\u2028"
	case "2029":
		return "\u2029"
	}
	return ""
}

// Next appends a comma unless dst ends where a first element goes.
func Next(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '[' && dst[n-1] != '{' {
		return append(dst, ',')
	}
	return dst
}

// Blank reports whether a text holds nothing to read, which vendors refuse as a block.
func Blank(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
