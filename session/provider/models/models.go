// Package models makes models of their names, as settings and command lines write them.
package models

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/session/provider/script"
)

// Default is the model of a name that is empty.
const Default = "offline"

// Factory is what session.Options.Models wants. The zero value is ready; it is safe for concurrent use and not to be
// copied.
type Factory struct {
	// Dir is the folder that a script's relative path starts from; "" = the working directory.
	Dir string

	mu      sync.Mutex
	scripts map[string]*script.Script
}

// Models makes the model of a name: "offline" (or ""), or "script:FILE". One file is one script for the life of the
// factory, so that a fork plays on where its parent is.
func (f *Factory) Models(name string) (middleware.ModelFunc, error) {
	file, isScript := strings.CutPrefix(name, "script:")
	switch {
	case name == "" || name == Default:
		return offline.Model, nil
	case isScript && file != "":
		return f.script(file)
	case isScript:
		return nil, fmt.Errorf("models: %q names no file: write script:FILE", name)
	}
	return nil, fmt.Errorf("models: no adapter for %s in this build: write %s or script:FILE", name, Default)
}

func (f *Factory) script(file string) (middleware.ModelFunc, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(f.Dir, file)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.scripts[file]; ok {
		return s.Model, nil
	}
	s, err := script.File(file)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	if f.scripts == nil {
		f.scripts = map[string]*script.Script{}
	}
	f.scripts[file] = s
	return s.Model, nil
}
