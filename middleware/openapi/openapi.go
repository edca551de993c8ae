// Package openapi makes deferred tools of the operations that OpenAPI documents describe: one tool an operation, with the
// operation's own schema. Documents of OpenAPI 3.0 and 3.1 and of Swagger 2.0 are read, as JSON or as YAML.
package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key, Prefix what the name of every tool begins with, Family the selector of them all.
const (
	Name   = "OpenAPIMiddleware"
	Prefix = "api__"
	Family = "openapi"
)

const (
	defaultCap     = 30_000
	defaultWait    = 5 * time.Second
	defaultTimeout = 60 * time.Second
)

// Options are what settings and the host say. The zero value is the default: no source.
type Options struct {
	Sources []Source `json:"sources,omitempty"`
	// AllowPrivate lets calls go to loopback, private and other addresses that are not of the public net, when only a
	// document names them. An address that settings name is reached in any case.
	AllowPrivate bool `json:"allow_private,omitempty"`
	// OutputCap bounds, in bytes, what a model sees of one answer; 0 = 30,000. The whole is kept in a file.
	OutputCap int `json:"output_cap,omitempty"`
	// Wait is how long opening a session waits for documents; 0 = 5 s. What comes later appears from then on.
	// Timeout bounds one call; 0 = 60 s.
	Wait    time.Duration `json:"-"`
	Timeout time.Duration `json:"-"`
}

// Source is one document.
type Source struct {
	Name string `json:"name"`
	// Document is a file, relative to the project's root, or an http or https address.
	Document string `json:"document"`
	// Base is the address that paths are appended to; "" = the document's own.
	Base string `json:"base,omitempty"`
	Auth Auth   `json:"auth,omitzero"`
	// Disabled keeps it known and unread.
	Disabled bool `json:"disabled,omitempty"`
	// Allow and Deny select among its operations, by operation id or tool name; nil Allow = no list, and every list of it
	// must allow.
	Allow  [][]toolview.Selector `json:"allow,omitempty"`
	Deny   []toolview.Selector   `json:"deny,omitempty"`
	Origin meta.Origin           `json:"origin,omitzero"`
}

// New makes the middleware. Every defect of the options is reported at once; a document is read when a session opens.
func New(o Options) (middleware.Middleware, error) {
	m := middleware.Middleware{
		Name:    Name,
		Doc:     "Calls web APIs by their OpenAPI documents: one tool for each operation.",
		Dynamic: Prefix,
	}
	if err := o.check(); err != nil {
		return m, err
	}
	m.Open = func(ctx context.Context, env middleware.Env) (*middleware.Instance, error) {
		frozen, err := readPolicy(env.Policy)
		if err != nil {
			return nil, err
		}
		return open(ctx, env, o.revive(frozen))
	}
	var err error
	// The zero options are a policy too: a resumed session must not get a wider one.
	if m.Policy, err = json.Marshal(o.frozen()); err != nil {
		return m, fmt.Errorf("openapi: policy: %w", err)
	}
	return m, nil
}

func readPolicy(raw json.RawMessage) (Options, error) {
	var o Options
	if len(raw) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return o, fmt.Errorf("openapi: the session's stored policy: %w", err)
	}
	return o, nil
}

// frozen is the options as a session stores them: without a secret.
func (o Options) frozen() Options {
	sources := make([]Source, len(o.Sources))
	for i, s := range o.Sources {
		s.Auth = s.Auth.frozen()
		sources[i] = s
	}
	o.Sources = sources
	return o
}

// revive gives frozen options what a policy does not hold: secrets that settings spell out, as far as the same source is
// still there and authenticates in the same way, and what bounds time.
func (o Options) revive(frozen Options) Options {
	frozen.Wait, frozen.Timeout = o.Wait, o.Timeout
	for i, f := range frozen.Sources {
		for _, s := range o.Sources {
			if s.Name == f.Name && s.Document == f.Document && s.Base == f.Base && s.Auth.frozen() == f.Auth {
				frozen.Sources[i].Auth = s.Auth
			}
		}
	}
	if frozen.OutputCap <= 0 {
		frozen.OutputCap = defaultCap
	}
	if frozen.Wait <= 0 {
		frozen.Wait = defaultWait
	}
	if frozen.Timeout <= 0 {
		frozen.Timeout = defaultTimeout
	}
	return frozen
}
