package toolsearch

import (
	"strings"
	"unicode"
)

// terms splits a text into what the index holds: lower-case words cut at everything that is no letter or digit, each
// also cut at its inner capitals ("GitHub" is github, git and hub), and runs of CJK as single characters and pairs.
func terms(text string) []string {
	var out []string
	for _, w := range split(text) {
		if w.cjk {
			runes := []rune(w.text)
			for i, r := range runes {
				out = append(out, string(r))
				if i > 0 {
					out = append(out, string(runes[i-1:i+1]))
				}
			}
			continue
		}
		parts := humps(w.text)
		for _, p := range parts {
			out = append(out, stem(strings.ToLower(p)))
		}
		if len(parts) > 1 {
			out = append(out, stem(strings.ToLower(w.text)))
		}
	}
	return out
}

// word is a run of letters and digits as it was written, or a run of CJK.
type word struct {
	text string
	cjk  bool
}

func split(text string) []word {
	var out []word
	start, cjk := -1, false
	flush := func(end int) {
		if start >= 0 {
			out = append(out, word{text[start:end], cjk})
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case isCJK(r):
			if start < 0 || !cjk {
				flush(i)
				start, cjk = i, true
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if start < 0 || cjk {
				flush(i)
				start, cjk = i, false
			}
		case r == '\'' || r == '’':
			// "user's" stays one word and loses its ending in stem.
		default:
			flush(i)
		}
	}
	flush(len(text))
	return out
}

func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// humps cuts an identifier at its capitals: HTTPServerList is HTTP, Server, List.
func humps(w string) []string {
	runes := []rune(w)
	var out []string
	start := 0
	for i := 1; i < len(runes); i++ {
		up := unicode.IsUpper(runes[i])
		prev := unicode.IsUpper(runes[i-1])
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if up && (!prev || next) {
			out = append(out, string(runes[start:i]))
			start = i
		}
	}
	return append(out, string(runes[start:]))
}

// stem takes off what English puts behind a word most often, alike on both sides, so that "issues" finds "issue".
func stem(w string) string {
	for _, s := range [...]string{"'s", "’s", "'", "’"} {
		w = strings.TrimSuffix(w, s)
	}
	n := len(w)
	switch {
	case n > 4 && strings.HasSuffix(w, "ies"):
		w = w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "xes")):
		w = w[:n-2]
	case n > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:n-1]
	}
	switch n = len(w); {
	case n > 5 && strings.HasSuffix(w, "ing"):
		return undouble(w[:n-3])
	case n > 4 && strings.HasSuffix(w, "ed"):
		return undouble(w[:n-2])
	case n > 4 && strings.HasSuffix(w, "e"):
		return w[:n-1]
	}
	return w
}

// undouble makes "plann" "plan".
func undouble(w string) string {
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// filler are the words of an English question that say nothing of what is wanted. They are never looked up.
func filler(w string) bool {
	switch w {
	case "a", "an", "the", "and", "or", "of", "to", "in", "on", "for", "with", "from", "by", "at", "as", "is", "are",
		"was", "be", "been", "am", "it", "its", "this", "that", "these", "those", "i", "me", "my", "you", "your", "we",
		"our", "us", "they", "their", "he", "she", "his", "her", "can", "could", "would", "will", "should", "please",
		"do", "does", "did", "how", "what", "which", "who", "when", "where", "want", "need", "like", "some", "any",
		"have", "has", "had", "if", "so", "not", "no", "but", "also", "about", "into", "than", "then", "there",
		"im", "i'm", "id", "i'd", "let", "tool", "tools", "help", "use", "using":
		return true
	}
	return false
}
