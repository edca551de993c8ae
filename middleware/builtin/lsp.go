package builtin

import (
	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware/lsp"
)

// languageServers is the wiring of lsp.servers.
func languageServers(s *config.Settings) lsp.Options {
	var o lsp.Options
	for _, from := range s.LSP {
		one := lsp.Server{Name: from.Name, Command: from.Command.V, Disabled: !from.Enabled.V, Origin: from.Origin}
		for _, a := range from.Args {
			one.Args = append(one.Args, a.Text)
		}
		for _, p := range from.Env {
			if one.Env == nil {
				one.Env = map[string]string{}
			}
			one.Env[p.Name] = p.Text
		}
		for _, l := range from.Languages {
			one.Languages = append(one.Languages, l.Text)
		}
		o.Servers = append(o.Servers, one)
	}
	return o
}
