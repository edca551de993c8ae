package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// places says where agent files are. Files of other harnesses in the user's home are read only when the caller leaves
// it to this build where its own home is.
func places(o config.Options, l *config.Loaded) subagent.LoadOptions {
	p := subagent.LoadOptions{Root: l.Root, PeriHome: l.Home, CheckHooks: checkHooks}
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

// checkHooks says what of an agent's hooks could not run.
func checkHooks(raw json.RawMessage) error {
	_, err := hook.Entries(raw)
	return err
}

// hooked reports whether an agent has hooks of its own.
func hooked(c *subagent.Catalog) bool {
	return slices.ContainsFunc(c.All(), func(d subagent.Definition) bool { return d.Extra(toolview.ExtraHooks) != nil })
}

// widening are the definitions of the project that ask for a wider permission mode than the default, or bring hooks or servers.
func widening(c *subagent.Catalog) []subagent.Definition {
	var out []subagent.Definition
	for _, d := range c.All() {
		if d.Origin.Layer == subagent.Project && (wide(&d) || d.Extra(toolview.ExtraHooks) != nil || d.Extra(toolview.ExtraServers) != nil) {
			out = append(out, d)
		}
	}
	return out
}

func wide(d *subagent.Definition) bool { return d.Mode == "acceptEdits" || d.Mode == "bypass" }

// why says what an agent wants trust for.
func why(d *subagent.Definition) string {
	var out []string
	if wide(d) {
		out = append(out, "its permission mode is "+d.Mode)
	}
	if d.Extra(toolview.ExtraHooks) != nil {
		out = append(out, "its hooks run commands")
	}
	if d.Extra(toolview.ExtraServers) != nil {
		out = append(out, "its servers are started")
	}
	return strings.Join(out, ", ") + ", and what it is told may change"
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
		// Those that could not run were found when the file was read.
		entries, _ := hook.Entries(d.Extra(toolview.ExtraHooks))
		for _, found := range (hook.Options{Hooks: entries}).Unfired() {
			found.Key = key + "." + found.Key
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
		"background", "hidden", "isolation", "hooks":
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
