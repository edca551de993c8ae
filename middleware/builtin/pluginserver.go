package builtin

import (
	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/mcp"
	"github.com/metaharness/peri/middleware/plugin"
)

// broughtServer is a server as whoever connects servers reads it.
type broughtServer struct {
	Name    string            `json:"name"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Origin  meta.Origin       `json:"origin,omitzero"`
}

// serversOf are the plugin's MCP servers. One that could not be connected is left out alone, and so is one with fields
// that are the user's settings to write: ignoring what narrows it would open more than was meant.
func serversOf(p *plugin.Found) (out []broughtServer, found []meta.Diagnostic) {
	for _, doc := range p.Servers {
		list, notes := config.ServersIn(doc.Raw, doc.At, doc.Key)
		found = append(found, notes...)
		for i := range list {
			s := &list[i]
			b := broughtServer{
				Name: s.Name, Command: p.Expand(s.Command.V), URL: p.Expand(s.URL.V), Origin: s.Origin,
				Env: expanded(p, texts(s.Env)), Headers: expanded(p, texts(s.Headers)),
			}
			for _, a := range s.Args {
				b.Args = append(b.Args, p.Expand(a.Text))
			}
			bad := mcp.Options{Servers: []mcp.Server{{
				Name: b.Name, Command: b.Command, Args: b.Args, Env: b.Env, URL: b.URL, Headers: b.Headers, Origin: b.Origin,
			}}}.Check()
			switch {
			case s.Enabled.Set && !s.Enabled.V:
			case bad != nil:
				found = append(found, leftOut(bad, s.Origin))
			case s.Trusted.Set || s.Tools.Allow != nil || s.Tools.Deny != nil || s.Direct != nil:
				found = append(found, meta.Diagnostic{
					Severity: meta.SeverityError, Code: "left_out", Origin: s.Origin,
					Message: "a plugin's server " + s.Name + " cannot say trusted, direct or tools; it is left out", Suggestion: "write them for it in mcp.servers",
				})
			default:
				out = append(out, b)
			}
		}
	}
	return out, found
}

func expanded(p *plugin.Found, values map[string]string) map[string]string {
	for name, value := range values {
		values[name] = p.Expand(value)
	}
	return values
}
