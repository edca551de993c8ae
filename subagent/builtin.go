package subagent

import (
	"embed"
	"fmt"

	"github.com/metaharness/peri/meta"
)

//go:embed agents/*.md
var files embed.FS

// builtIns are the compiled-in definitions. A broken one is a mistake of the build and panics.
func builtIns() []Definition {
	var out []Definition
	entries, err := files.ReadDir("agents")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		raw, err := files.ReadFile("agents/" + e.Name())
		if err != nil {
			panic(err)
		}
		doc, ok, bad := split(raw)
		if !ok || bad != nil {
			panic(fmt.Sprintf("subagent: built-in %s: %+v", e.Name(), bad))
		}
		r := define(doc, meta.Origin{Layer: BuiltIn}, periDialect, true)
		if len(r.bad)+len(r.notes) > 0 {
			panic(fmt.Sprintf("subagent: built-in %s: %+v", e.Name(), append(r.bad, r.notes...)))
		}
		out = append(out, r.def)
	}
	return out
}
