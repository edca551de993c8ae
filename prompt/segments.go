package prompt

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed segments/*.md
var texts embed.FS

// Text is the default text of a built-in segment, from segments/<id>.md. An id without a file is a mistake of the
// wiring and panics.
func Text(id string) string {
	b, err := texts.ReadFile("segments/" + id + ".md")
	if err != nil {
		panic(fmt.Sprintf("prompt: no default text for segment %s", id))
	}
	return strings.TrimRight(string(b), "\n")
}
