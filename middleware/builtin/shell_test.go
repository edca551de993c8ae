package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/middleware/workspace"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

// court judges calls of the built-in suite under some rules, as a session would.
type court struct {
	t     testing.TB
	s     *session.Session
	judge *middleware.Judge
}

func newCourt(t testing.TB, o permission.Options) *court {
	t.Helper()
	suite, err := builtin.Suite(builtin.Options{Permission: o, Workspace: workspace.Options{BashAsync: true}})
	require.NoError(t, err)
	s, err := session.New(t.Context(), session.Options{
		Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}, Models: script.New().Models,
	})
	require.NoError(t, err)
	c := &court{t: t, s: s, judge: s.Chain().NewJudge(0)}
	t.Cleanup(func() {
		c.judge.Close()
		require.NoError(t, s.Close(context.Background()))
	})
	return c
}

func (c *court) call(tool string, args any) *toolview.Call {
	c.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(c.t, err)
	call, bad := c.s.View().Inner("1", toolview.Inner{Name: tool, Args: raw})
	if bad != nil {
		require.Fail(c.t, bad.Text())
	}
	return call
}

func (c *court) verdict(call *toolview.Call) middleware.Verdict {
	out := make([]middleware.Verdict, 1)
	c.judge.Calls(c.t.Context(), []*toolview.Call{call}, out)
	return out[0]
}

func (c *court) shell(line string) middleware.Verdict {
	return c.verdict(c.call("Bash", map[string]string{"command": line}))
}

func written(texts ...string) []permission.Rule {
	var out []permission.Rule
	for _, t := range texts {
		out = append(out, permission.Rule{Text: t, Origin: meta.Origin{Layer: "global", File: "settings.yaml", Line: 1}})
	}
	return out
}

// TestCommandsAreJudgedAsTheTablesSay plays testdata/shell: behind "+" the rules of the block, then one verdict and
// command a line, in which ␤ is a line break.
func TestCommandsAreJudgedAsTheTablesSay(t *testing.T) {
	files, err := filepath.Glob("testdata/shell/*.txt")
	require.NoError(t, err)
	rows := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for i, block := range strings.Split(string(text), "\n\n") {
				t.Run(fmt.Sprint(i), func(t *testing.T) { rows += playTable(t, filepath.Base(file), block) })
			}
		})
	}
	require.GreaterOrEqual(t, rows, 400)
}

func playTable(t *testing.T, file, block string) (rows int) {
	var o permission.Options
	var c *court
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "+mode":
			o.Mode = rest
		case "+allow":
			o.Allow = append(o.Allow, written(rest)...)
		case "+ask":
			o.Ask = append(o.Ask, written(rest)...)
		case "+deny":
			o.Deny = append(o.Deny, written(rest)...)
		default:
			if c == nil {
				c = newCourt(t, o)
			}
			rows++
			command := strings.ReplaceAll(rest, "␤", "\n")
			call := c.call("Bash", map[string]string{"command": command})
			if input, typed := strings.CutPrefix(command, "> "); file == "background.txt" && typed {
				call = c.call("BashStdin", map[string]string{"id": "shell-1", "input": input})
			} else if file == "background.txt" {
				call = c.call("BashStart", map[string]string{"command": command})
			}
			v := c.verdict(call)
			if v.Decision.String() != word {
				subjects, _ := call.Subjects()
				t.Errorf("%s: got %s (%s)\n%+v", line, v.Decision, v.Reason, subjects)
			}
		}
	}
	return rows
}

// FuzzWhatIsAllowedIsAllowedPartByPart: if a command runs unasked, every simple command in it runs unasked on its own.
func FuzzWhatIsAllowedIsAllowedPartByPart(f *testing.F) {
	files, err := filepath.Glob("testdata/shell/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		for line := range strings.Lines(string(text)) {
			if word, command, ok := strings.Cut(strings.TrimRight(line, "\n"), " "); ok && word != "#" && word[0] != '+' {
				f.Add(strings.ReplaceAll(command, "␤", "\n"))
			}
		}
	}
	opened := newCourt(f, permission.Options{
		Allow: written("Bash(git *)", "Bash(npm test)", "Bash(rm *)", "Edit(out/**)"),
		Ask:   written("Bash(git push *)"), Deny: written("Bash(rm -rf *)", "Edit(secrets/**)"),
	})
	f.Fuzz(func(t *testing.T, line string) {
		if line == "" || len(line) > 1000 {
			return
		}
		c := &court{t: t, s: opened.s, judge: opened.judge}
		whole := c.call("Bash", map[string]string{"command": line})
		if c.verdict(whole).Decision < middleware.Allow {
			return
		}
		subjects, err := whole.Subjects()
		require.NoError(t, err)
		for _, s := range subjects {
			if s.Kind != toolview.Command || s.Value == "" || strings.TrimSpace(line) == s.Value {
				continue
			}
			if v := c.shell(s.Value); v.Decision < middleware.Allow {
				t.Errorf("%q is allowed, and %q in it is not: %s", line, s.Value, v.Reason)
			}
		}
	})
}
