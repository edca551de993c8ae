package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

// parts are the commands of a line.
func parts(line string) (out []toolview.Subject) {
	for _, s := range Subjects(line, "") {
		if s.Kind == toolview.Command {
			out = append(out, s)
		}
	}
	return out
}

func values(line string) (out []string) {
	for _, p := range parts(line) {
		out = append(out, p.Value)
	}
	return out
}

func TestALineIsTheCommandsInIt(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", []string{""}},
		{"# nothing", []string{"# nothing"}},
		{"a; b && c || d | e & f", []string{"a", "b", "c", "d", "e", "f"}},
		{"a $(b `c`) <(d)", []string{"a $(b `c`) <(d)", "b `c`", "c", "d"}},
		{"X=1 Y=2 a", []string{"a"}},
		{"env X=1 timeout 5 a b", []string{"a b"}},
		{"sudo a", []string{"sudo a", "a"}},
		{"bash -c 'a; b'", []string{"bash -c 'a; b'", "a", "b"}},
		{"f() { a; }; f", []string{"a", "f"}},
		{"a 'b", []string{"a 'b"}},
	} {
		require.Equal(t, c.want, values(c.line), c.line)
	}
}

func TestWhatIsWrittenAndWhatChangesAreTold(t *testing.T) {
	find := func(line, value string) toolview.Subject {
		for _, s := range Subjects(line, "") {
			if s.Kind == toolview.Path && s.Value == value {
				return s
			}
		}
		require.Fail(t, "no path "+value, line)
		return toolview.Subject{}
	}
	require.Equal(t, toolview.Subject{Kind: toolview.Path, Value: "x", Edit: true}, find("a > x", "x"), "the shell itself writes it")
	require.True(t, find("rm x", "x").Within, "the command writes it")
	require.True(t, find("a < x", "x").ReadOnly)
	require.True(t, find("cat d/x", "d/x").ReadOnly)
	require.False(t, find("tool d/x", "d/x").ReadOnly)
	require.False(t, find("tool d/x", "d/x").Edit)
	require.True(t, find("cd d && a > x", "d/x").Edit, "where a cd may have led")
	require.True(t, find("a > $x", "$x").Opaque)
	require.False(t, find("rm *.go", "*.go").Opaque, "which files there are is all that is open")
	for _, s := range Subjects("cd $d && a > x", "") {
		require.True(t, s.Kind != toolview.Path || s.Opaque, "nobody knows where: %+v", s)
	}
	for _, s := range Subjects("a > x", "sub") {
		require.True(t, s.Kind != toolview.Path || s.Value == "sub/x" || s.Value == "sub", "%+v", s)
	}
}

func TestNoLineIsTooLongOrTooDeep(t *testing.T) {
	long := parts("a " + strings.Repeat("x", mostText))
	require.Len(t, long, 1)
	require.True(t, long[0].Opaque)
	for _, line := range []string{
		strings.Repeat("nice ", 1000) + "rm x",
		strings.Repeat("$(", 1000) + "rm x" + strings.Repeat(")", 1000),
		strings.Repeat("{a,b}", 40),
		"echo {1..1000000000}",
		strings.Repeat("cd a;", 1000) + "rm x",
		strings.Repeat("eval ", 1000) + "rm x",
	} {
		opaque := false
		for _, s := range Subjects(line, "") {
			opaque = opaque || s.Opaque || s.Kind == toolview.Command && len(s.Also) > 0
		}
		require.True(t, opaque, line[:20])
	}
}

func TestTablesHoldNoNonsense(t *testing.T) {
	for name, w := range wrappers() {
		require.Equal(t, strings.ToLower(name), name)
		require.True(t, w.skip >= 0 && w.skip < 10, name)
	}
	for name := range harmlessTable() {
		_, wraps := wrappers()[name]
		require.True(t, !wraps || name == "env" || name == "command" || name == "arch", "%s runs others and is read-only", name)
		require.NotEmpty(t, name)
		require.False(t, shells[name], name)
	}
	for name := range editingTable() {
		h, ok := harmlessTable()[name]
		require.False(t, ok && h.any, "%s changes files with every option", name)
	}
	require.NotEmpty(t, inlineTable())
	require.True(t, loader("LD_PRELOAD") && loader("PATH") && loader("npm_config_x") && !loader("FOO"))
}

// FuzzNothingHides: a line that is read-only as a whole holds no command that is not read-only on its own, and reading a
// line neither fails nor hangs.
func FuzzNothingHides(f *testing.F) {
	for _, s := range []string{
		"ls", "git log | head", "cat <<EOF\n$(rm x)\nEOF", "x=$(rm y) ls", "bash -c 'ls; rm x'", "find . -exec rm {} +",
		"echo ${x:-`rm y`}", "env A=1 ls", "{rm,x}", "cd a; git status", "f(){ ls; }; f", "sed -n 1p a", "[[ a -eq b ]]",
		"timeout 5 cat x", "xargs cat", "printf '%s' $x", "> x", "test -v x", "trap 'rm x' EXIT", `$'\162m' x`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		all := Subjects(line, "")
		harmless := true
		for _, s := range all {
			harmless = harmless && s.ReadOnly && !s.Opaque
		}
		if !harmless {
			return
		}
		for _, s := range all {
			if s.Kind != toolview.Command || s.Value == line {
				continue
			}
			for _, own := range Subjects(s.Value, "") {
				require.True(t, own.ReadOnly && !own.Opaque || strings.HasPrefix(s.Value, "#"), "%q holds %q, which is %+v", line, s.Value, own)
			}
		}
	})
}
