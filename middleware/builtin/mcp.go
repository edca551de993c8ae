package builtin

import (
	"path/filepath"
	"time"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/mcp"
)

// servers are the MCP servers of the settings. An untrusted project's have been taken out of these.
func servers(l *config.Loaded) mcp.Options {
	o := mcp.Options{Outputs: filepath.Join(l.Home, "outputs")}
	for i := range l.Settings.MCP {
		s := &l.Settings.MCP[i]
		out := mcp.Server{
			Name: s.Name, Command: s.Command.V, URL: s.URL.V, Env: texts(s.Env), Headers: texts(s.Headers), Disabled: !s.Enabled.V,
			Trusted: s.Trusted.V, Direct: selectors(s.Direct), Deny: selectors(s.Tools.Deny), Origin: s.Origin,
			Timeout: time.Duration(s.Timeout.V * float64(time.Second)),
		}
		for _, a := range s.Args {
			out.Args = append(out.Args, a.Text)
		}
		for _, list := range s.Tools.Allow {
			out.Allow = append(out.Allow, selectors(list))
		}
		if s.OAuth.ClientID.Set || s.OAuth.Secret.Set {
			out.OAuth = &mcp.OAuth{ClientID: s.OAuth.ClientID.V, Secret: s.OAuth.Secret.V}
		}
		o.Servers = append(o.Servers, out)
	}
	return o
}

func texts(pairs []config.Pair) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[p.Name] = p.Text
	}
	return out
}
