package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

func bringing(hooks string) []toolview.Extra {
	return []toolview.Extra{{Kind: toolview.ExtraHooks, Value: json.RawMessage(hooks), Needed: true}}
}

func TestWhatAnAgentsHooksLeftRunningEndsWithTheAgent(t *testing.T) {
	root := newState(middleware.Env{}, Options{Brought: true}, nil)
	kid, err := root.child(middleware.Env{Agent: middleware.Agent{Name: "kid", Depth: 1, Extras: bringing(`[{"event":"Stop","command":"true"}]`)}})
	require.NoError(t, err)
	below, err := kid.child(middleware.Env{Agent: middleware.Agent{Name: "below", Depth: 2}})
	require.NoError(t, err)
	require.Empty(t, root.hooks)
	require.Len(t, kid.hooks[SubagentStop], 1, "an agent's end is that of a sub-agent")
	require.Len(t, below.due(SubagentStop, "kid"), 1)
	require.Empty(t, below.due(SubagentStop, "below"), "and not that of those below it")
	require.NoError(t, kid.close(t.Context()))
	require.Error(t, kid.running.ctx.Err())
	require.NoError(t, root.running.ctx.Err())

	other, err := root.child(middleware.Env{Agent: middleware.Agent{Name: "kid", Extras: bringing(`[{"event":"Stop","command":"true"}]`)}})
	require.NoError(t, err)
	require.NotEqual(t, kid.hooks[SubagentStop][0].index, other.hooks[SubagentStop][0].index)
	require.NoError(t, root.close(t.Context()))
	require.Error(t, other.running.ctx.Err())

	for _, broken := range []string{`{}`, `[{"event":"PreToolUse","type":"command"}]`} {
		_, err = root.child(middleware.Env{Agent: middleware.Agent{Extras: bringing(broken)}})
		require.Error(t, err, "never without its guard")
	}
}

// In a folder of its own an agent could change the script that a relative command names.
func TestAHookRunsInTheProjectAndIsToldWhereItsAgentWorks(t *testing.T) {
	project, apart := t.TempDir(), t.TempDir()
	entries, err := compile([]Entry{{Event: PostToolUse, Type: "command", Command: `pwd > seen; echo "$PERI_PROJECT_DIR" >> seen; cat >> seen`}})
	require.NoError(t, err)
	root := newState(middleware.Env{Project: middleware.Project{Root: project}}, Options{}, entries)
	defer func() { require.NoError(t, root.close(t.Context())) }()
	kid, err := root.child(middleware.Env{Project: middleware.Project{Root: apart}, Agent: middleware.Agent{Name: "kid", Depth: 1}})
	require.NoError(t, err)
	for s, cwd := range map[*state]string{root: project, kid: apart} {
		s.observe(t.Context(), PostToolUse, nil, nil)
		seen, err := os.ReadFile(filepath.Join(project, "seen"))
		require.NoError(t, err)
		lines := strings.SplitN(string(seen), "\n", 3)
		require.Equal(t, []string{project, project}, lines[:2])
		var p struct {
			Cwd string `json:"cwd"`
		}
		require.NoError(t, json.Unmarshal([]byte(lines[2]), &p))
		require.Equal(t, cwd, p.Cwd)
	}
}
