package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// prefix is what the name of every tool and prompt of a server begins with.
const prefix = "mcp__"

const (
	longest = 64 // bytes of a name
	hashed  = 8  // hex digits that tell names apart which were cut or made safe
	widest  = 28 // bytes of a name that its server may take
)

// qualified is the name of what a server calls leaf: at most 64 of a-z A-Z 0-9 _ -, a function of the two names alone, and
// another one for every pair of them. A part that had to be cut or changed ends with a hash of it, so that the name stays
// with its owner whatever else there is.
func qualified(server, leaf string) string {
	s := part(server, widest, true)
	return prefix + s + "__" + part(leaf, longest-len(prefix)-len(s)-2, false)
}

// part is a text as a part of a name: itself where it is one already. Narrow says that "__" follows, which it is then not to
// hold, or make longer.
func part(text string, most int, narrow bool) string {
	b := []byte(text)
	for i, c := range b {
		if !safe(c) {
			b[i] = '_'
		}
	}
	kept := string(b)
	loose := narrow && (strings.Contains(kept, "__") || strings.Trim(kept, "_") != kept)
	if kept == text && len(kept) <= most && kept != "" && !loose {
		return kept
	}
	if loose {
		kept = strings.Trim(kept, "_")
		kept = strings.Join(strings.FieldsFunc(kept, func(r rune) bool { return r == '_' }), "_")
	}
	sum := sha256.Sum256([]byte(text))
	if cut := most - hashed - 1; len(kept) > cut {
		kept = strings.TrimRight(kept[:cut], "_")
	}
	if kept == "" {
		kept = "x"
	}
	return kept + "_" + hex.EncodeToString(sum[:])[:hashed]
}

func safe(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
