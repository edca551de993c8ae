package middleware

import (
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/toolview"
)

// Blueprint is what settings and a program together ask of a session. It is a plain value; making one opens nothing.
type Blueprint struct {
	Suite *Suite
	// Layers and Documents are what the meta map and the segment overrides come from.
	Layers    []meta.Layer
	Documents meta.Documents
	// Lists are the settings' allow and deny lists, WithoutSearch what becomes of deferred tools without tool search.
	Lists         toolview.Lists
	WithoutSearch toolview.Fallback
	LateDirect    bool
	// Model is the name of the model; "" is the program's default.
	Model string
	// Root is the folder that the session works in, an absolute path.
	Root string
}
