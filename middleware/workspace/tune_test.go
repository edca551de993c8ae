package workspace

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTunedSandboxHoldsFromTheNextCallForChildrenToo(t *testing.T) {
	s := &state{shared: &shared{}}
	s.shared.live.Store(&settings{Sandbox: true})
	root := t.TempDir()
	box, err := newSandbox(&s.shared.live, root, &s.shared.spill)
	require.NoError(t, err)
	outside := t.TempDir()
	_, ok := box.area(outside)
	require.False(t, ok, "presence first: the sandbox holds")
	tune := s.shared.live.tune()
	for _, bad := range []string{`"false"`, `0`, `null`, `[]`} {
		_, err := tune["workspace.sandbox"](json.RawMessage(bad))
		require.Error(t, err, bad)
	}
	apply, err := tune["workspace.sandbox"](json.RawMessage("false"))
	require.NoError(t, err)
	_, ok = box.area(outside)
	require.False(t, ok, "a value that is only checked changes nothing")
	apply()
	_, ok = box.area(outside)
	require.True(t, ok)
}
