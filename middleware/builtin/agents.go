package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// places says where agent files are. Files of other harnesses in the user's home are read only when the caller leaves
// it to this build where its own home is.
func places(o config.Options, l *config.Loaded) subagent.LoadOptions {
	p := subagent.LoadOptions{Root: l.Root, PeriHome: l.Home}
	if sameFolder(filepath.Join(l.Root, ".peri"), l.Home) {
		p.Root = "" // the user's own folder, seen from its parent, is no project
	}
	if o.Home == "" && os.Getenv("PERI_HOME") == "" {
		if home, err := os.UserHomeDir(); err == nil {
			p.Home, p.Others = home, true
		}
	}
	return p
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// widening are the definitions of the project that ask for a wider permission mode than the default.
func widening(c *subagent.Catalog) []subagent.Definition {
	var out []subagent.Definition
	for _, d := range c.All() {
		if d.Origin.Layer == subagent.Project && (d.Mode == "acceptEdits" || d.Mode == "bypass") {
			out = append(out, d)
		}
	}
	return out
}

// risks are lines that trust depends on: the definitions whole, so that a change of what such an agent is told asks
// again.
func risks(wide []subagent.Definition) []string {
	var out []string
	for _, d := range wide {
		b, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("builtin: agent %s: %v", d.Name, err)) // plain text and numbers always marshal
		}
		sum := sha256.Sum256(b)
		out = append(out, "agent "+d.Name+" "+hex.EncodeToString(sum[:]))
	}
	return out
}

// doubts reports what of an agent's lists means nothing here: a list that is no list, which its spawn will be refused
// for, and selectors that no tool of the suite meets.
func doubts(c *subagent.Catalog, known []toolview.Band) []meta.Diagnostic {
	var out []meta.Diagnostic
	for _, d := range c.All() {
		spawn := d.Spawn()
		key := "agents." + d.Name
		frame, err := d.Frame()
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				out = append(out, meta.Diagnostic{
					Severity: meta.SeverityError, Code: "agent_selector", Key: key, Origin: d.Origin,
					Message: strings.TrimPrefix(line, spawn.Origin+": ") + "; the agent cannot be started",
				})
			}
			continue
		}
		for _, found := range frame.Unmatched(known) {
			found.Code, found.Key = "agent_selector", key
			out = append(out, found)
		}
	}
	return out
}

// overlay turns the settings' agents into fields over their definitions.
func overlay(agents []config.Agent) (map[string]subagent.Fields, []meta.Diagnostic) {
	out := map[string]subagent.Fields{}
	var diags []meta.Diagnostic
	for _, a := range agents {
		fields := subagent.Fields{Origin: a.Origin}
		for _, f := range a.Fields {
			if !lay(&fields, f) {
				diags = append(diags, notHonoured("agents."+a.Name+"."+f.Name, f.Origin))
			}
		}
		out[a.Name] = fields
	}
	return out, diags
}

// lay puts one field where it belongs. The settings' own check has made sure of its type.
func lay(into *subagent.Fields, f config.Field) bool {
	text, _ := f.Value.(string)
	switch f.Name {
	case "description":
		into.Description = &text
	case "model":
		into.Model = &text
	case "prompt":
		into.Prompt = &text
	case "permissionMode":
		into.Mode, into.ModeOrigin = &text, f.Origin
	case "maxTurns":
		n, _ := f.Value.(float64)
		turns := int(n)
		into.MaxTurns = &turns
	case "enabled":
		on, _ := f.Value.(bool)
		into.Enabled = &on
	case "tools", "disallowedTools", "skills", "mcp", "requiredMcpServers", "mcpServers", "delegates", "permission",
		"background", "hidden", "isolation":
		into.More = append(into.More, setting(f))
	default:
		return false
	}
	return true
}

func setting(f config.Field) subagent.Setting {
	s := subagent.Setting{Name: f.Name, Value: f.Value, Origin: f.Origin}
	for _, m := range f.Members {
		s.Members = append(s.Members, setting(m))
	}
	return s
}
