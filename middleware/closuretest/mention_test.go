package closuretest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextNamesAToolByTheHouseRule(t *testing.T) {
	for name, c := range map[string]struct {
		text, tool string
		names      bool
	}{
		"an inner capital stands bare":           {"Then call TodoWrite again.", "TodoWrite", true},
		"a digit stands bare":                    {"see h2 there", "h2", true},
		"an underscore stands bare":              {"see web_fetch there", "web_fetch", true},
		"an uncommon word stands bare":           {"run it in Bash, please", "Bash", true},
		"a common word does not":                 {"Read the file first.", "Read", false},
		"a common word in backticks does":        {"Use `Read` first.", "Read", true},
		"a common word in quotes does":           {`Use "Read" first.`, "Read", true},
		"a common word in other quotes does":     {"Use “Read” first.", "Read", true},
		"a quoted sentence does not":             {`He said "Read the file".`, "Read", false},
		"a call in backticks does":               {"Use `Read(path)` first.", "Read", true},
		"a word between two spans does not":      {"`a` Read `b`", "Read", false},
		"a stray backtick ends with its line":    {"a ` b\nRead `x`", "Read", false},
		"a fence is no span":                     {"```\nRead\n```", "Read", false},
		"a method in backticks does not":         {"Call `io.Read` here.", "Read", false},
		"a file in backticks does not":           {"See `Read.md` here.", "Read", false},
		"another tool's longer name does not":    {"Use BashStart.", "Bash", false},
		"a part before a hyphen does":            {"a Bash-like shell", "Bash", true},
		"emphasis does not hide":                 {"use _TodoWrite_ or **Bash**", "TodoWrite", true},
		"case counts":                            {"use todowrite", "TodoWrite", false},
		"a possessive is no quote":               {"the user's Read of it", "Read", false},
		"a name at the end of a sentence counts": {"Never use `Agent`.", "Agent", true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.names, scan(c.text).tool(c.tool)) })
	}
}

func TestTextNamesARouteOnlyWhereACommandCouldStand(t *testing.T) {
	for text, names := range map[string]bool{
		"type /todos now": true, "`/todos`": true, "(/todos)": true, "/todos": true, "/todos, then": true, "Notes:/todos": true,
		"a/todos": false, "/todos/x": false, "./todos": false, "/todos.md": false, "/todosx": false, "https://x/todos": false, "{dir}/todos": false,
		"ends with /todos.": true,
	} {
		require.Equal(t, names, scan(text).slash["todos"], text)
	}
	require.True(t, scan("type /Notes:todos now").slash["Notes:todos"])
}

func TestSchemaIsReadWhereItSpeaks(t *testing.T) {
	got := pieces(json.RawMessage(`{"type":"object","title":"T","properties":{"description":{"type":"string","description":"D","enum":["a","b"]},
		"x":{"default":"c","items":{"const":"d"}}},"$defs":{"y":{"examples":["e"]}}}`))
	var texts []string
	for _, p := range got {
		texts = append(texts, p.text)
	}
	require.ElementsMatch(t, []string{"T", "description", "x", "D", "a", "b", "c", "d", "e"}, texts)
}

func TestMisspeltNameHasTheSameShape(t *testing.T) {
	require.Equal(t, "AvkvDypal_1-h", misspell("TodoWrite_1-a"))
	require.NotEqual(t, "Read", misspell("Read"))
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"Use `Read` first.", "``` x", "/todos `", "“Read”", "a\xff`b", "_-_", "/a:b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := scan(text)
		for w := range m.quoted {
			require.True(t, m.bare[w], "a quoted word is a word")
		}
		require.True(t, scan("`TodoWrite`\n"+text).tool("TodoWrite"), "what follows hides nothing")
	})
}
