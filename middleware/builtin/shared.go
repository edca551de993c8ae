package builtin

import (
	"errors"
	"fmt"
	"os"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
)

// LoadShared is Load for what is the same on every machine: the project's committed file and files, and o.Set. The
// user's home, the local layer and the administrator's file are left out, and nothing is trusted, so that no session of
// it runs what the project brings.
func LoadShared(o config.Options, more ...middleware.Middleware) (*Setup, []meta.Diagnostic, error) {
	home, err := os.MkdirTemp("", "peri-nobody-")
	if err != nil {
		return nil, nil, fmt.Errorf("builtin: %w", err)
	}
	o.Home, o.Managed, o.Shared = home, "-", true
	s, diags, err := Load(o, more...)
	if err != nil {
		return nil, diags, errors.Join(err, os.RemoveAll(home))
	}
	s.nobody = home
	return s, diags, nil
}
