package exchange

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
)

// longest is how much of a vendor's word is kept, in bytes.
const longest = 2 << 10

// keyLike is what vendors repeat of a key, often with its middle hidden.
var keyLike = regexp.MustCompile(`\b(?:sk|pk|rk|xai|gsk|or)-[^\s"',]+`)

// Scrub makes a vendor's words fit to be shown: no key, in any form that a server may repeat it, and not too long.
func Scrub(text string, keys ...string) string {
	for _, k := range keys {
		if k == "" {
			continue
		}
		for _, form := range []string{k, url.QueryEscape(k), url.PathEscape(k), base64.StdEncoding.EncodeToString([]byte(k))} {
			text = strings.ReplaceAll(text, form, "[key]")
		}
	}
	text = keyLike.ReplaceAllString(text, "[key]")
	text = strings.ToValidUTF8(strings.TrimSpace(text), "�")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
