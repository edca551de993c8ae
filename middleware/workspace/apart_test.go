package workspace

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// apart is a workspace and that of a child that works in a folder of its own below it.
func apart(t *testing.T, o Options) (above, child *bench) {
	t.Helper()
	above = open(t, o)
	above.put("secrets/a.txt", "theirs\n")
	above.put(".git/own/secrets/a.txt", "own\n")
	root := above.path(".git/own")
	inst, err := above.inst.Child(t.Context(), middleware.Env{Owner: Name, Project: middleware.Project{Root: root}, Agent: middleware.Agent{Name: "apart", Depth: 1}})
	require.NoError(t, err)
	return above, seat(t, root, New(o), inst)
}

func TestAChildWithAFolderOfItsOwnWorksThereAlone(t *testing.T) {
	for _, o := range []Options{{}, {NoSandbox: true}} {
		above, child := apart(t, o)
		require.Contains(t, child.do("Read", args{"path": "secrets/a.txt"}), "own")
		child.do("Write", args{"path": "new.txt", "content": "x"})
		require.FileExists(t, above.path(".git/own/new.txt"))
		require.Contains(t, child.do("Bash", args{"command": "pwd"}), child.root)
		link(t, above.path("secrets"), child.path("link"))
		for _, path := range []string{above.path("secrets/a.txt"), "../../secrets/a.txt", "link/a.txt"} {
			require.Contains(t, child.refuse("Read", args{"path": path}), "a folder of its own")
			require.Contains(t, child.refuse("Write", args{"path": path, "content": "x"}), "a folder of its own")
		}
		require.Contains(t, above.do("Read", args{"path": "secrets/a.txt"}), "theirs", "the session above is where it was")
		grandchild, err := child.inst.Child(t.Context(), middleware.Env{Owner: Name, Project: middleware.Project{Root: child.root}, Agent: middleware.Agent{Depth: 2}})
		require.NoError(t, err)
		require.Contains(t, seat(t, child.root, New(o), grandchild).refuse("Read", args{"path": above.path("secrets/a.txt")}), "a folder of its own")
	}
}

// A rule about a relative path begins in the folder of the session that has it. It is about the child's copy too, however
// the child spells it, and about the file itself.
func TestARuleAboutAPathHoldsInTheFolderOfAChildsOwn(t *testing.T) {
	above, child := apart(t, Options{})
	frame, err := toolview.NewFrame(toolview.Lists{Deny: []toolview.Selector{{Text: "Edit(secrets/**)"}}})
	require.NoError(t, err)
	m := New(Options{})
	policy := &toolview.Policy{Frames: []*toolview.Frame{frame}, Place: toolview.PlaceOf(above.root, "")}
	view := toolview.NewDeriver([]toolview.Band{{Owner: Name, Set: m.Tools, State: child.inst.State}}, nil, nil).View(policy, nil)
	refused := func(tool string, in args) bool {
		raw, err := json.Marshal(in)
		require.NoError(t, err)
		_, bad := view.Call("u", tool, raw)
		return bad != nil
	}
	for _, at := range []string{".", child.root, filepath.Join(child.root, "x", "..")} {
		free, denied := filepath.Join(at, "free.txt"), filepath.Join(at, "secrets", "a.txt")
		require.False(t, refused("Write", args{"path": free, "content": "x"}), free)
		require.True(t, refused("Write", args{"path": denied, "content": "x"}), denied)
		require.False(t, refused("Bash", args{"command": "echo x > " + free}), free)
		require.True(t, refused("Bash", args{"command": "echo x > " + denied}), denied)
	}
	for _, there := range []string{above.path("secrets/a.txt"), "../../secrets/a.txt"} {
		require.True(t, refused("Bash", args{"command": "echo x > " + there}), there)
	}
	require.False(t, refused("LS", args{"path": "."}))
}
