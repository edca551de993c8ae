package subagent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// savingIn is a session in a folder.
func savingIn(t *testing.T, root string) (*middleware.Instance, *host) {
	m := New(Options{Catalog: catalog(t)})
	e := env(m)
	e.Project.Root = root
	return opened(t, m, e)
}

func TestASavedAgentIsALaterSessionsAgent(t *testing.T) {
	root := t.TempDir()
	_, h := savingIn(t, root)
	require.False(t, h.call(GenerateTool, `{"name":"quiet","description":"d","prompt":"p"}`).Error)
	require.NoDirExists(t, filepath.Join(root, ".peri"), "unasked it writes nothing")
	const poet = `{"name":"poet","description":"Rhymes: \"on\" demand,\n# always","systemPrompt":"---\nYou rhyme.\n\nYou do.","tools":["Read","Bash(git *)"],"saveToFile":true}`
	r := h.call(GenerateTool, poet)
	require.False(t, r.Error, r.Text())
	require.Contains(t, r.Text(), ".peri/agents/poet.md")
	c, diags := Load(LoadOptions{Root: root})
	require.Empty(t, diags)
	d, ok := c.Lookup("poet")
	require.True(t, ok)
	require.Equal(t, "Rhymes: \"on\" demand,\n# always", d.Description)
	require.Equal(t, "---\nYou rhyme.\n\nYou do.", d.Body)
	require.Equal(t, []string{"Read", "Bash(git *)"}, d.Tools)
	for args, want := range map[string][]string{
		`{"name":"bare","description":"d","prompt":"p","tools":[],"save":true}`: {},
		`{"name":"free","description":"d","prompt":"p","save":true}`:            nil,
	} {
		require.False(t, h.call(GenerateTool, args).Error)
		var in struct{ Name string }
		require.NoError(t, json.Unmarshal([]byte(args), &in))
		c, _ := Load(LoadOptions{Root: root})
		d, ok := c.Lookup(in.Name)
		require.True(t, ok)
		require.Equal(t, want, d.Tools, "no list stays no list, and an empty one empty")
	}
	left, err := filepath.Glob(filepath.Join(root, ".peri", "agents", ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestSavingReplacesNothingAndLeavesTheProjectByNoLink(t *testing.T) {
	const args = `{"name":"poet","description":"Rhymes.","prompt":"You rhyme.","save":true}`
	root, outside := write(t, map[string]string{".peri/agents/poet.md": "mine"}), t.TempDir()
	_, h := savingIn(t, root)
	r := h.call(GenerateTool, args)
	require.True(t, r.Error)
	require.Contains(t, r.Text(), ".peri/agents/poet.md exists and is not replaced")
	kept, err := os.ReadFile(filepath.Join(root, ".peri", "agents", "poet.md"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(kept))
	require.False(t, h.call(AgentTool, `{"agent":"poet","prompt":"p"}`).Error, "for this session it is there")

	for name, link := range map[string]string{"the folder": ".peri", "the agents' folder": ".peri/agents"} {
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755))
		require.NoError(t, os.Symlink(outside, filepath.Join(root, link)))
		_, h := savingIn(t, root)
		require.True(t, h.call(GenerateTool, args).Error, name)
	}
	root = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".peri", "agents"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(outside, "poet.md"), filepath.Join(root, ".peri", "agents", "poet.md")))
	_, h = savingIn(t, root)
	require.True(t, h.call(GenerateTool, args).Error, "a dangling link")
	found, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, found)

	_, h = savingIn(t, "")
	require.Contains(t, h.call(GenerateTool, args).Text(), "no project folder")
	require.True(t, h.call(GenerateTool, `{"name":"../poet","description":"d","prompt":"p","save":true}`).Error)
}

func TestSavingNamesTheFileThatGatesJudge(t *testing.T) {
	_, h := savingIn(t, t.TempDir())
	subjects := func(args string) []toolview.Subject {
		call, bad := h.view.Call("u", GenerateTool, json.RawMessage(args))
		require.Nil(t, bad)
		all, err := call.Subjects()
		require.NoError(t, err)
		return all
	}
	want := []toolview.Subject{{Kind: toolview.Path, Value: ".peri/agents/poet.md", Edit: true}}
	require.Equal(t, want, subjects(`{"name":"poet","description":"d","prompt":"p","saveToFile":true}`))
	require.Empty(t, subjects(`{"name":"poet","description":"d","prompt":"p"}`))
}
