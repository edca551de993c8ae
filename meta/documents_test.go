package meta_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
)

func folders(t testing.TB, global, project map[string]string) meta.Documents {
	t.Helper()
	var docs meta.Documents
	for _, f := range []struct {
		layer string
		files map[string]string
	}{{"global", global}, {"project", project}} {
		m := fstest.MapFS{}
		for name, text := range f.files {
			m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
		docs = append(docs, meta.Folder{Layer: f.layer, Dir: f.layer + "/meta", FS: m})
	}
	return docs
}

func replaceOnce(t testing.TB, s, old, new string) string {
	t.Helper()
	require.Contains(t, s, old)
	return strings.Replace(s, old, new, 1)
}

func TestOverrideReplacesTheWholeSegmentOnlyWhenTrue(t *testing.T) {
	docs := folders(t, map[string]string{"01_intro.md": "global"}, map[string]string{"01_intro.md": "project", "10_hitl.md": "p"})
	s, diags := freeze(t, docs, layer("global", "01_intro", true))
	require.Empty(t, diags)
	o, ok := s.Override("01_intro")
	require.True(t, ok)
	require.Equal(t, meta.Override{Text: "project", Origin: meta.Origin{Layer: "project", File: "project/meta/01_intro.md"}}, o)
	_, ok = s.Override("10_hitl")
	require.False(t, ok, "a file alone does nothing")

	s, diags = freeze(t, docs, layer("global", "01_intro", true), layer("project", "01_intro", false))
	require.Empty(t, diags)
	_, ok = s.Override("01_intro")
	require.False(t, ok, "false means the built-in text")

	s, _ = freeze(t, folders(t, map[string]string{"01_intro.md": "global"}, nil), layer("project", "01_intro", true))
	o, _ = s.Override("01_intro")
	require.Equal(t, "global", o.Text)
}

func TestOverrideTextIsTheSameOnEveryMachine(t *testing.T) {
	for name, raw := range map[string]string{
		"plain":               "a\nb",
		"final newline":       "a\nb\n",
		"CRLF":                "a\r\nb\r\n",
		"BOM":                 "\xEF\xBB\xBFa\nb\n",
		"BOM, CRLF and mixed": "\xEF\xBB\xBFa\r\nb\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, diags := freeze(t, folders(t, map[string]string{"01_intro.md": raw}, nil), layer("global", "01_intro", true))
			require.Empty(t, diags)
			o, _ := s.Override("01_intro")
			require.Equal(t, "a\nb", o.Text)
		})
	}
	s, _ := freeze(t, folders(t, map[string]string{"01_intro.md": "a\n\n"}, nil), layer("global", "01_intro", true))
	o, _ := s.Override("01_intro")
	require.Equal(t, "a\n", o.Text, "one final newline only")
}

func TestRefusedOverrideKeepsTheBuiltInTextAndNamesTheFile(t *testing.T) {
	for name, c := range map[string]struct{ segment, text, code, at, message string }{
		"empty":       {"01_intro", "", "override_refused", "project/meta/01_intro.md", "empty"},
		"blank":       {"01_intro", "\xEF\xBB\xBF \r\n\n", "override_refused", "project/meta/01_intro.md", "empty"},
		"not UTF-8":   {"01_intro", "ok\nb\xff", "override_refused", "project/meta/01_intro.md:2:2", "not UTF-8"},
		"too long":    {"01_intro", strings.Repeat("x", 64<<10+1), "override_refused", "project/meta/01_intro.md", "over 64 KiB"},
		"unknown":     {"07_runtime", "{{cwd}}\n at {{time}}", "override_refused", "project/meta/07_runtime.md:2:5", "unknown placeholder {{time}}; this segment has {{cwd}}, {{date}}"},
		"cached":      {"01_intro", "{{cwd}}", "override_refused", "project/meta/01_intro.md:1:1", "before the cache boundary"},
		"none at all": {"10_hitl", "{{ }}", "override_refused", "project/meta/10_hitl.md:1:1", "this segment has none"},
	} {
		t.Run(name, func(t *testing.T) {
			docs := folders(t, map[string]string{c.segment + ".md": "good"}, nil)
			s, _ := freeze(t, docs, layer("global", c.segment, true))
			_, ok := s.Override(c.segment)
			require.True(t, ok, "the key works with a good file")

			docs = folders(t, map[string]string{c.segment + ".md": "good"}, map[string]string{c.segment + ".md": c.text})
			s, diags := freeze(t, docs, layer("global", c.segment, true))
			_, ok = s.Override(c.segment)
			require.False(t, ok, "not the file of the lower folder either")
			require.Len(t, diags, 1)
			require.Equal(t, c.code, diags[0].Code)
			require.Equal(t, c.at, diags[0].Origin.String())
			require.Contains(t, diags[0].Message, c.message)
			require.Contains(t, diags[0].Message, "the built-in text is kept")
		})
	}
}

func TestMissingOverrideNamesTheKeyAndTheFolders(t *testing.T) {
	s, diags := freeze(t, folders(t, nil, nil), layer("project", "01_intro", true))
	_, ok := s.Override("01_intro")
	require.False(t, ok)
	require.Len(t, diags, 1)
	require.Equal(t, "project.yaml:2:3: warning: 01_intro is true but there is no 01_intro.md in project/meta or "+
		"global/meta; the built-in text is kept (write that file, or 01_intro: false)", diags[0].String())
	value, set := s.Explicit("01_intro")
	require.True(t, value && set)
}

func TestLiteralBracesAreNoPlaceholder(t *testing.T) {
	for _, text := range []string{`a \{{cwd}} b`, "a {{ b", "}} {{\n}}", "{{" + strings.Repeat("x", 300) + "}}"} {
		s, diags := freeze(t, folders(t, map[string]string{"01_intro.md": text}, nil), layer("global", "01_intro", true))
		require.Empty(t, diags, text)
		o, ok := s.Override("01_intro")
		require.True(t, ok)
		require.Equal(t, text, o.Text, "filling is the prompt's")
	}
}

func TestFillReplacesPlaceholdersOnce(t *testing.T) {
	fill := func(name string) (string, bool) {
		v, ok := map[string]string{"cwd": "{{date}}", "date": "today"}[name]
		return v, ok
	}
	for text, want := range map[string]string{
		"plain":                 "plain",
		"{{cwd}} {{ date }}":    "{{date}} today",
		`\{{cwd}} {{date}}`:     "{{cwd}} today",
		"{{nobody}} {{date}}":   "{{nobody}} today",
		"{{date}} \\{{x}} {{ a": "today {{x}} {{ a",
	} {
		require.Equal(t, want, meta.Fill(text, fill), text)
	}
}

func TestOverridesTogetherHaveALimit(t *testing.T) {
	var keys []meta.Key
	files := map[string]string{}
	l := meta.Layer{Name: "global"}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		keys = append(keys, meta.Key{Name: id, Kind: meta.Segment})
		files[id+".md"] = strings.Repeat("x", 60<<10)
		l.Entries = append(l.Entries, meta.Entry{Key: id, Value: true})
	}
	ks, err := meta.NewKeys(keys)
	require.NoError(t, err)
	r, _, err := meta.Resolve(ks, l)
	require.NoError(t, err)
	s, diags := meta.Freeze(r, folders(t, files, nil))
	require.Len(t, diags, 1)
	require.Contains(t, diags[0].Message, "over 256 KiB")
	_, ok := s.Override("d")
	require.True(t, ok)
	_, ok = s.Override("e")
	require.False(t, ok)
}

func TestSafetyTextMayBeReplacedAndIsReported(t *testing.T) {
	s, diags := freeze(t, folders(t, map[string]string{"10_hitl.md": "go on"}, nil), layer("global", "10_hitl", true))
	_, ok := s.Override("10_hitl")
	require.True(t, ok)
	require.Len(t, diags, 1)
	require.Equal(t, meta.SeverityInfo, diags[0].Severity)
	require.Equal(t, "override_safety", diags[0].Code)
}

func TestOnlyRegularFilesInsideTheFolderAreRead(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "meta")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "secret.md"), []byte("secret"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real.md"), []byte("inside"), 0o644))
	require.NoError(t, os.Symlink("real.md", filepath.Join(dir, "01_intro.md")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	docs := append(folders(t, map[string]string{"01_intro.md": "lower"}, nil)[:1], meta.Folder{Layer: "project", Dir: dir, FS: root.FS()})

	s, diags := freeze(t, docs, layer("project", "01_intro", true))
	require.Empty(t, diags)
	o, _ := s.Override("01_intro")
	require.Equal(t, "inside", o.Text, "a link that stays inside is a file of the folder")

	for name, make := range map[string]func(path string) error{
		"a link that leaves": func(p string) error { return os.Symlink("../secret.md", p) },
		"an absolute link":   func(p string) error { return os.Symlink(filepath.Join(base, "secret.md"), p) },
		"a dangling link":    func(p string) error { return os.Symlink("nothing.md", p) },
		"a folder":           func(p string) error { return os.Mkdir(p, 0o755) },
		"a pipe":             pipe,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "01_intro.md")
			require.NoError(t, os.Remove(file))
			require.NoError(t, make(file))
			s, diags := freeze(t, docs, layer("project", "01_intro", true))
			_, ok := s.Override("01_intro")
			require.False(t, ok)
			require.Len(t, diags, 1)
			require.Equal(t, "override_unreadable", diags[0].Code)
			require.Equal(t, file, diags[0].Origin.File)
			require.Contains(t, diags[0].Suggestion, "regular file")
		})
	}
}

func FuzzOverride(f *testing.F) {
	for _, seed := range []string{"", "a\n", "\xEF\xBB\xBFa\r\n", "{{cwd}}", `\{{cwd}}`, "{{{{", "{{\n}}", "\xff", "{{x}}\n{{cwd}}", strings.Repeat("{{", 100)} {
		f.Add([]byte(seed))
	}
	keys := testKeys(f)
	r, _, err := meta.Resolve(keys, layer("global", "01_intro", true, "07_runtime", true))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw []byte) {
		fs := fstest.MapFS{"01_intro.md": {Data: raw}, "07_runtime.md": {Data: raw}}
		s, diags := meta.Freeze(r, meta.Documents{{Layer: "global", Dir: "meta", FS: fs}})
		kept := 0
		for _, id := range []string{"01_intro", "07_runtime"} {
			o, ok := s.Override(id)
			if !ok {
				continue
			}
			kept++
			require.NotEmpty(t, strings.TrimSpace(o.Text))
			require.NotContains(t, o.Text, "\r\n")
			meta.Fill(o.Text, func(name string) (string, bool) {
				require.Equal(t, "07_runtime", id, "a cached text has no placeholder")
				require.Contains(t, []string{"cwd", "date"}, name)
				return "", true
			})
		}
		require.Equal(t, 2, kept+len(diags), "each file is loaded or reported")
		b, err := s.MarshalJSON()
		require.NoError(t, err)
		back, err := meta.ParseState(b)
		require.NoError(t, err)
		require.Equal(t, s.Digest(), back.Digest())
	})
}
