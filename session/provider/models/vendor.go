package models

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/session/provider/openai"
)

// The names of the vendors.
const (
	Anthropic  = "anthropic"
	OpenAI     = "openai"
	Ollama     = "ollama"
	Compatible = "openai-compatible"
)

// Vendors are the names that begin VENDOR/MODEL.
func Vendors() []string { return []string{Anthropic, OpenAI, Ollama, Compatible} }

// vendor makes the adapter of a model's name, once.
func (f *Factory) vendor(model string) (vendor, error) {
	name, _, ok := strings.Cut(model, "/")
	if !ok || !slices.Contains(Vendors(), name) {
		return nil, fmt.Errorf("models: no adapter for %s in this build: write %s, script:FILE, or %s/MODEL",
			model, Default, strings.Join(Vendors(), "/MODEL, "))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.vendors[name]; ok {
		return v, nil
	}
	v, err := f.open(name)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	if f.vendors == nil {
		f.vendors = map[string]vendor{}
	}
	f.vendors[name] = v
	return v, nil
}

func (f *Factory) open(name string) (vendor, error) {
	set := f.Providers[name]
	switch name {
	case Anthropic:
		key := or(set.KeyEnv, "ANTHROPIC_API_KEY")
		return anthropic.New(anthropic.Options{
			Key: f.getenv(key), KeyEnv: key, BaseURL: or(set.BaseURL, f.getenv("ANTHROPIC_BASE_URL")),
		})
	case OpenAI:
		key := or(set.KeyEnv, "OPENAI_API_KEY")
		return openai.New(openai.Options{
			Key: f.getenv(key), KeyEnv: key, BaseURL: or(set.BaseURL, f.getenv("OPENAI_BASE_URL")),
		})
	case Ollama:
		base := set.BaseURL
		if base == "" {
			base = ollama(f.getenv("OLLAMA_HOST"))
		}
		return openai.New(openai.Options{
			Name: Ollama, API: openai.Chat, Key: f.getenv(or(set.KeyEnv, "OLLAMA_API_KEY")), BaseURL: base,
		})
	}
	return f.compatible(set)
}

// compatible takes OpenAI's key to no other server than the one that stands in the environment beside it.
func (f *Factory) compatible(set Provider) (vendor, error) {
	o := openai.Options{Name: Compatible, API: openai.Chat, BaseURL: set.BaseURL}
	usual := "OPENAI_COMPATIBLE_API_KEY"
	if o.BaseURL == "" {
		if o.BaseURL = f.getenv("OPENAI_BASE_URL"); o.BaseURL != "" {
			usual = "OPENAI_API_KEY"
		}
	}
	if o.BaseURL == "" {
		return nil, fmt.Errorf("%s: there is no server: set providers.%s.base_url in your settings, or OPENAI_BASE_URL", Compatible, Compatible)
	}
	if set.KeyEnv != "" {
		o.KeyEnv = set.KeyEnv // who names a variable wants a key
	}
	o.Key = f.getenv(or(set.KeyEnv, usual))
	return openai.New(o)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ollama reads OLLAMA_HOST as the program of that name does: a host, a port, both, or a URL. A server that listens on
// every address is asked on this machine.
func ollama(host string) string {
	const port = "11434"
	host = strings.TrimSpace(host)
	if host == "" {
		return "http://127.0.0.1:" + port + "/v1"
	}
	scheme := "http"
	if s, rest, ok := strings.Cut(host, "://"); ok {
		scheme, host = s, rest
	}
	host, path, _ := strings.Cut(host, "/")
	name, p, err := net.SplitHostPort(host)
	if err != nil {
		name, p = strings.Trim(host, "[]"), port
		if scheme == "https" {
			p = "443"
		}
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(name, p), Path: "/" + strings.TrimSuffix(path, "/")}
	if !strings.HasSuffix(u.Path, "/v1") {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/v1"
	}
	return u.String()
}
