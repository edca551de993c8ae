package hook_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/hook"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// bench is a folder with hooks and a session that runs them.
type bench struct {
	t        *testing.T
	dir      string
	hooks    []hook.Entry
	rules    permission.Options
	approver session.Approver
	more     []middleware.Middleware
	ran      []string // arguments of the calls of Shell that ran
	notes    []string
	s        *session.Session
}

func newBench(t *testing.T) *bench { return &bench{t: t, dir: t.TempDir()} }

// on adds a command hook whose script is shell text; $1 is the folder of the test.
func (b *bench) on(event, matcher, text string) *hook.Entry {
	b.hooks = append(b.hooks, hook.Entry{
		Event: event, Matcher: matcher, Type: "command", Command: text,
		Origin: meta.Origin{Layer: "global", File: "settings.yaml", Line: len(b.hooks) + 1},
	})
	return &b.hooks[len(b.hooks)-1]
}

type shellArgs struct {
	Command string `json:"command,omitempty"`
}

type task struct {
	Agent      string `json:"agent,omitempty"`
	Prompt     string `json:"prompt,omitempty"`
	Fork       bool   `json:"fork,omitempty"`
	Background bool   `json:"background,omitempty"`
	Collect    string `json:"collect,omitempty"`
}

func (b *bench) tools() middleware.Middleware {
	shell := toolview.New(toolview.Tool{
		Decl: toolview.Decl{Name: "Shell", Aliases: []string{"run_command"}}, Doc: "Runs.", Effects: toolview.Runs,
	}, func(_ context.Context, _ any, _ *toolview.Call, in shellArgs) (*message.Result, error) {
		b.ran = append(b.ran, in.Command)
		if in.Command == "fail" {
			return message.Fail("it broke"), nil
		}
		return message.Say("ran " + in.Command), nil
	})
	delegate := toolview.NewFlow(toolview.Tool{Decl: toolview.Decl{Name: "Delegate"}, Doc: "Delegates.", Effects: toolview.Internal},
		func(_ context.Context, _ any, _ *toolview.Call, in task, h toolview.Host) (*message.Result, error) {
			return h.Spawn(toolview.Spawn{
				Agent: in.Agent, Prompt: in.Prompt, Fork: in.Fork, Background: in.Background, Collect: in.Collect, Wait: true,
			})
		})
	return middleware.Middleware{Name: "Tools", Doc: "owns tools", Tools: toolview.MustSet(shell, delegate)}
}

func (b *bench) open(steps map[string][]script.Step) *session.Session { return b.openAs("", steps) }

func (b *bench) openAs(id string, steps map[string][]script.Step) *session.Session {
	b.t.Helper()
	h, err := hook.New(hook.Options{Hooks: b.hooks, Mode: b.rules.Mode})
	require.NoError(b.t, err)
	if b.rules.Mode == "" {
		b.rules.Mode = "bypass"
	}
	p, err := permission.New(b.rules)
	require.NoError(b.t, err)
	suite, err := middleware.NewSuite(append([]middleware.Middleware{h, p, b.tools()}, b.more...)...)
	require.NoError(b.t, err)
	s, err := session.New(b.t.Context(), session.Options{
		ID: id, Blueprint: middleware.Blueprint{Suite: suite, Root: b.dir}, Models: script.For(steps).Models, Store: &memory.Store{}, Approver: b.approver,
	})
	require.NoError(b.t, err)
	b.s = s
	b.t.Cleanup(func() { require.NoError(b.t, s.Close(context.Background())) })
	return s
}

// play takes one turn whose model makes one call of Shell after another, and returns the results.
func (b *bench) play(commands ...string) []string {
	b.t.Helper()
	var steps []script.Step
	for _, c := range commands {
		raw, err := json.Marshal(shellArgs{c})
		require.NoError(b.t, err)
		steps = append(steps, script.Do("Shell", string(raw)))
	}
	b.open(map[string][]script.Step{"": append(steps, script.Say("done"), script.Say("done again"))})
	return b.turn("go")
}

func (b *bench) turn(text string) (results []string) {
	b.t.Helper()
	for e, err := range b.s.Prompt(b.t.Context(), session.Text(text)) {
		require.NoError(b.t, err)
		switch e.Kind {
		case message.CallEnd:
			results = append(results, e.Result.Text())
		case message.Note:
			b.notes = append(b.notes, e.Text)
		}
	}
	return results
}

// file is what a hook wrote.
func (b *bench) file(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, name))
	require.NoError(b.t, err)
	return strings.TrimSpace(string(raw))
}

// payload is an event as a hook read it.
func (b *bench) payload(name string) map[string]any {
	b.t.Helper()
	var m map[string]any
	require.NoError(b.t, json.Unmarshal([]byte(b.file(name)), &m), name)
	return m
}

// answering is an approver that gives one answer and keeps what it was asked.
type answering struct {
	allow    bool
	requests []session.Request
}

func (a *answering) Approve(_ context.Context, r []session.Request) ([]session.Approval, error) {
	a.requests = append(a.requests, r...)
	out := make([]session.Approval, len(r))
	for i := range out {
		out[i].Allow = a.allow
	}
	return out, nil
}
