package lower

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// most is the longest name and id that every vendor takes.
const most = 64

// Name makes a tool's name legal. The names of a view are legal as they are and stay; what a model made up is written so
// that it keeps apart from every other, and cannot make the vendor refuse all that follows.
func Name(name string) string {
	if legal(name) {
		return name
	}
	sum := hash(name)[:8]
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && plain(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if len(name) > most-9 {
		name = name[:most-9]
	}
	return name + "_" + sum
}

// ID makes the id of a call legal, the same for a use and its result.
func ID(id string) string {
	if legal(id) {
		return id
	}
	return "id_" + hash(id)[:24]
}

func legal(s string) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !plain(s[i]) {
			return false
		}
	}
	return true
}

func plain(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
