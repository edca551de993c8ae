package defaultprompt_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/defaultprompt"
	"github.com/metaharness/peri/prompt"
)

func base(t *testing.T, m middleware.Middleware, env middleware.Env) *prompt.Base {
	t.Helper()
	env.Policy = m.Policy
	inst, err := m.Open(context.Background(), env)
	require.NoError(t, err)
	state := frozen(t)
	var out []prompt.Rendered
	for _, s := range m.Segments {
		if r, ok := prompt.Render(m.Name, s, state, inst.Vars); ok {
			out = append(out, r)
		}
	}
	return prompt.NewBase(out)
}

func frozen(t *testing.T) *meta.State {
	t.Helper()
	r, _, err := meta.Resolve(meta.Keys{})
	require.NoError(t, err)
	s, _ := meta.Freeze(r, nil)
	return s
}

func day(text string) func() time.Time {
	return func() time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			panic(err)
		}
		return at
	}
}

func text(b *prompt.Base) (cached, live string) {
	for _, block := range b.Prompt(func(*prompt.Rendered) bool { return true }).System() {
		if block.EndsCache {
			cached = block.Text
		} else {
			live = block.Text
		}
	}
	return cached, live
}

func TestSegmentsAreValidAndStandInOrder(t *testing.T) {
	m := defaultprompt.New(defaultprompt.Options{Persona: "a pirate"})
	require.NoError(t, middleware.Validate(m))
	var ids []string
	for _, s := range m.Segments {
		require.NoError(t, s.Check())
		require.Less(t, strings.Count(s.Text, "\n"), 60, s.ID)
		ids = append(ids, s.ID)
	}
	require.Equal(t, []string{
		"01_intro", "02_system", "03_doing_tasks", "04_actions", "05_using_tools", "06_tone_style", "07_runtime", "persona",
	}, ids)
}

func TestRuntimeFactsStandBehindTheBoundary(t *testing.T) {
	env := middleware.Env{Now: day("2026-03-01"), Model: "vendor/name-7", Project: middleware.Project{Root: "/home/ann/shop"}}
	m := defaultprompt.New(defaultprompt.Options{})
	cached, live := text(base(t, m, env))
	for _, fact := range []string{"2026-03-01, Sunday", "vendor/name-7", "/home/ann/shop", runtime.GOOS + "/" + runtime.GOARCH} {
		require.Contains(t, live, fact)
		require.NotContains(t, cached, fact)
	}
	env.Now, env.Model, env.Project.Root = day("2026-03-02"), "", ""
	later, liveLater := text(base(t, m, env))
	require.NotEqual(t, live, liveLater)
	require.Contains(t, liveLater, "not known")
	require.Equal(t, cached, later, "the prefix depends on no fact of the day")
}

func TestPersonaIsThereOnlyWhenItIsSet(t *testing.T) {
	env := middleware.Env{Now: day("2026-03-01")}
	_, with := text(base(t, defaultprompt.New(defaultprompt.Options{Persona: " dry {{root}} wit \n"}), env))
	require.Contains(t, with, "# Persona")
	require.Contains(t, with, "dry {{root}} wit")

	m := defaultprompt.New(defaultprompt.Options{Persona: " \n"})
	require.JSONEq(t, `{}`, string(m.Policy))
	_, without := text(base(t, m, env))
	require.NotContains(t, without, "# Persona")
	require.NotContains(t, without, "{{")
}

func TestResumedSessionKeepsItsPersona(t *testing.T) {
	first := defaultprompt.New(defaultprompt.Options{Persona: "formal"})
	second := defaultprompt.New(defaultprompt.Options{Persona: "chatty"})
	inst, err := second.Open(context.Background(), middleware.Env{Now: day("2026-03-01"), Policy: first.Policy})
	require.NoError(t, err)
	require.Equal(t, "formal", inst.Vars["persona"])

	_, err = second.Open(context.Background(), middleware.Env{Now: day("2026-03-01"), Policy: []byte("{")})
	require.ErrorContains(t, err, "stored policy")
}
