// Package models makes models of their names, as settings and command lines write them.
package models

import (
	"context"
	"fmt"
	"os"
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
	// Providers say where vendors are, by name; what they leave empty comes from the environment.
	Providers map[string]Provider
	// Env reads the environment; nil = os.Getenv.
	Env func(string) string

	mu      sync.Mutex
	scripts map[string]*script.Script
	vendors map[string]vendor
}

// Provider is what settings say of a vendor.
type Provider struct {
	// BaseURL is its server; "" = from the environment, or the vendor's own.
	BaseURL string
	// KeyEnv is the variable that holds its key; "" = the usual one.
	KeyEnv string
}

// vendor is an adapter.
type vendor interface {
	Models(name string) (middleware.ModelFunc, error)
	Check(context.Context) error
}

// Models makes the model of a name: "offline" (or ""), "script:FILE", or VENDOR/MODEL with one of Vendors. One file is
// one script for the life of the factory, so that a fork plays on where its parent is. A vendor is sent nothing until its
// model is asked.
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
	v, err := f.vendor(name)
	if err != nil {
		return nil, err
	}
	m, err := v.Models(name)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return m, nil
}

// Check tells whether a model's vendor is there and takes the key, without spending tokens. A model without a vendor is
// there when it can be made.
func (f *Factory) Check(ctx context.Context, name string) error {
	if _, err := f.Models(name); err != nil || !strings.Contains(name, "/") || strings.HasPrefix(name, "script:") {
		return err
	}
	v, err := f.vendor(name)
	if err != nil {
		return err
	}
	if err := v.Check(ctx); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	return nil
}

func (f *Factory) getenv(name string) string {
	if f.Env == nil {
		return os.Getenv(name)
	}
	return f.Env(name)
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
