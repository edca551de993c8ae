package skillpreload_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/skillpreload"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// shelf keeps values of one child.
type shelf map[string][]byte

func (s shelf) Load(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := s[key]
	return v, ok, nil
}

func (s shelf) Save(_ context.Context, key string, value []byte) error {
	s[key] = value
	return nil
}

// child opens the middleware for an agent that wants skills, as a session does.
func child(t *testing.T, store middleware.Store, notices *[]string, wants ...string) *middleware.Instance {
	t.Helper()
	m := skillpreload.New(skillpreload.Options{})
	main, err := m.Open(t.Context(), middleware.Env{})
	require.NoError(t, err)
	require.Empty(t, main.Hooks.Set(), "a main session has nothing to wait for")
	raw, err := json.Marshal(wants)
	require.NoError(t, err)
	env := middleware.Env{Store: store, Notice: func(s string) { *notices = append(*notices, s) }}
	if len(wants) > 0 {
		env.Agent.Extras = []toolview.Extra{{Kind: toolview.ExtraPreload, Value: raw}}
	}
	in, err := main.Child(t.Context(), env)
	require.NoError(t, err)
	return in
}

func TestSkillsAreLoadedByTheToolThatLoadsThemOnceInALife(t *testing.T) {
	var notices []string
	var calls []string
	input := func() *middleware.Input {
		return &middleware.Input{
			Parts: []message.Part{{Kind: message.Text, Text: "Work."}},
			Call: func(in toolview.Inner) *message.Result {
				calls = append(calls, in.Name+string(in.Args))
				if string(in.Args) == `{"name":"gone"}` {
					return message.Fail("There is no skill `gone`.")
				}
				return message.Say("Tabs.")
			},
		}
	}
	store := shelf{}
	k := child(t, store, &notices, "style", "gone")
	in := input()
	require.NoError(t, k.Hooks.Input(t.Context(), in))
	require.Equal(t, []string{`Skill{"name":"style"}`, `Skill{"name":"gone"}`}, calls)
	require.Equal(t, "Work.\n\nTabs.", in.Text())
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "skill gone was not preloaded: There is no skill `gone`.")

	// Its next turn, and the same child in another process.
	for _, again := range []*middleware.Instance{k, child(t, store, &notices, "style", "gone")} {
		in = input()
		require.NoError(t, again.Hooks.Input(t.Context(), in))
		require.Equal(t, "Work.", in.Text())
	}
	require.Len(t, calls, 2)
	require.Nil(t, child(t, shelf{}, &notices).Hooks.Input, "an agent that wants none has no hook")
}
