package atmention_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/atmention"
	"github.com/metaharness/peri/prompt/message"
)

const (
	png = "\x89PNG\r\n\x1a\n rest"
	pdf = "%PDF-1.7 rest"
)

func project() fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range map[string]string{
		"main.go": "one\ntwo\nthree\nfour\n", "src/a.go": "package a\n", "src/b/c.go": "package c\n",
		"my notes.md": "notes\n", "app/(group)/[id].tsx": "page\n", "odd:10": "odd\n", "node_modules/@types/x.d.ts": "types\n",
		"说明.md": "guide\n", "shot.png": png, "paper.pdf": pdf, "tool.bin": "a\x00b", "latin.txt": "caf\xe9",
		"bom.txt": "\ufeffmarked\n", "empty.txt": "",
	} {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

type run struct {
	parts   []message.Part
	notices []string
}

func (r run) text() string {
	var b strings.Builder
	for _, p := range r.parts {
		b.WriteString(p.Text)
		if p.Data != nil {
			fmt.Fprintf(&b, "<%s %s>", p.Kind, p.MIME)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// attach returns what a prompt brings along besides its own text.
func attach(t *testing.T, files fs.FS, root, prompt string) run {
	t.Helper()
	m := atmention.New(atmention.Options{})
	require.NoError(t, middleware.Validate(m))
	var r run
	inst, err := m.Open(context.Background(), middleware.Env{
		Project: middleware.Project{FS: files, Root: root},
		Notice:  func(s string) { r.notices = append(r.notices, s) },
	})
	require.NoError(t, err)
	in := &middleware.Input{Parts: []message.Part{{Kind: message.Text, Text: prompt}}}
	require.NoError(t, inst.Hooks.Input(context.Background(), in))
	require.Equal(t, prompt, in.Parts[0].Text, "what the user wrote stays as it is")
	r.parts = in.Parts[1:]
	return r
}

func TestMentionAttaches(t *testing.T) {
	for name, tc := range map[string]struct{ prompt, want string }{
		"file":             {"look at @main.go please", "[attached file main.go]\none\ntwo\nthree\nfour\n"},
		"dot slash":        {"@./src/../main.go", "[attached file main.go]\none"},
		"absolute":         {"@/project/main.go", "[attached file main.go]\none"},
		"end of sentence":  {"Is it in @src/a.go?", "[attached file src/a.go]\npackage a"},
		"in brackets":      {"(see @src/a.go).", "[attached file src/a.go]\npackage a"},
		"brackets in path": {"@app/(group)/[id].tsx.", "[attached file app/(group)/[id].tsx]\npage"},
		"at in path":       {"@node_modules/@types/x.d.ts", "[attached file node_modules/@types/x.d.ts]\ntypes"},
		"quoted":           {`read @"my notes.md", then go`, "[attached file my notes.md]\nnotes"},
		"quoted and lines": {`@"main.go":2`, "[attached file main.go, lines 2 of 4]\ntwo\n"},
		"lines":            {"@main.go:2-3", "[attached file main.go, lines 2-3 of 4]\ntwo\nthree\n\n"},
		"lines to the end": {"@main.go:3-", "[attached file main.go, lines 3- of 4]\nthree\nfour\n"},
		"line and column":  {"@main.go:2:17", "[attached file main.go, lines 2 of 4]\ntwo\n"},
		"lines as a link":  {"@main.go#L2-L3,", "lines 2-3 of 4]\ntwo\nthree\n"},
		"lines past end":   {"@main.go:3-99", "[attached file main.go, lines 3-99 of 4]\nthree\nfour\n"},
		"no such lines":    {"@main.go:9", "[not attached: main.go: it has no lines 9; it has 4]"},
		"lines backwards":  {"@main.go:3-2", "it has no lines 3-2"},
		"name like lines":  {"@odd:10", "[attached file odd:10]\nodd"},
		"folder":           {"what is in @src/", "[attached folder src, 2 entries]\na.go\nb/\n"},
		"project":          {"@./", "[attached folder ., 13 entries]\n"},
		"own script":       {"看看@说明.md，谢谢", "[attached file 说明.md]\nguide"},
		"run into script":  {"看看@src/a.go的内容", "[attached file src/a.go]\npackage a"},
		"image":            {"@shot.png", "[attached file shot.png]\n<image image/png>"},
		"document":         {"@paper.pdf", "[attached file paper.pdf]\n<document application/pdf>"},
		"byte order mark":  {"@bom.txt", "[attached file bom.txt]\nmarked"},
		"empty":            {"@empty.txt", "[attached file empty.txt]\n"},
		"binary":           {"@tool.bin", "[not attached: tool.bin: it is binary"},
		"other encoding":   {"@latin.txt", "[not attached: latin.txt: it is binary, or not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			r := attach(t, project(), "/project", tc.prompt)
			require.Contains(t, r.text(), tc.want)
		})
	}
}

func TestWhatAFileHoldsDecidesAndNotItsName(t *testing.T) {
	var gifs, jpegs bytes.Buffer
	dot := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	require.NoError(t, gif.Encode(&gifs, dot, nil))
	require.NoError(t, jpeg.Encode(&jpegs, dot, nil))
	files := fstest.MapFS{
		"photo.txt":  {Data: jpegs.Bytes()},
		"moving.png": {Data: gifs.Bytes()},
		"small.webp": {Data: []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")},
		"notes.png":  {Data: []byte("notes and no picture\n")},
		"icon.svg":   {Data: []byte("<svg xmlns='http://www.w3.org/2000/svg'/>\n")},
		"old.bmp":    {Data: append([]byte("BM"), make([]byte, 60)...)},
	}
	for name, want := range map[string]string{
		"photo.txt": "<image image/jpeg>", "moving.png": "<image image/gif>", "small.webp": "<image image/webp>",
		"notes.png": "notes and no picture", "icon.svg": "<svg ", "old.bmp": "it is binary",
	} {
		r := attach(t, files, "/project", "look at @"+name)
		require.Contains(t, r.text(), want, name)
		if strings.HasPrefix(want, "<image") {
			require.Equal(t, message.Image, r.parts[1].Kind)
			require.Equal(t, files[name].Data, r.parts[1].Data, "the file's own bytes")
		}
	}
}

func TestOtherAtSignsAttachNothing(t *testing.T) {
	require.NotEmpty(t, attach(t, project(), "/project", "@main.go").parts)
	for name, tc := range map[string]struct{ prompt, notice string }{
		"address":         {"mail ann@main.go", ""},
		"code span":       {"use `@main.go` there", ""},
		"fenced code":     {"```java\n@main.go\n```\ndone", ""},
		"in an URL":       {"https://example.org/@main.go", ""},
		"alone":           {"meet @ noon, @. or @", ""},
		"open quote":      {`@"main.go`, ""},
		"missing":         {"thanks @ann", "@ann stays text: there is no such file"},
		"above":           {"@../main.go", "it is outside the project"},
		"absolute":        {"@/etc/passwd", "it is outside the project"},
		"beside the root": {"@/projects/main.go", "it is outside the project"},
		"home":            {"@~/main.go", "it is outside the project"},
		"nul":             {"@main\x00.go", "stays text"},
	} {
		t.Run(name, func(t *testing.T) {
			r := attach(t, project(), "/project", tc.prompt)
			require.Empty(t, r.parts)
			if tc.notice == "" {
				require.Empty(t, r.notices)
				return
			}
			require.Len(t, r.notices, 1)
			require.Contains(t, r.notices[0], tc.notice)
		})
	}
}

func TestMentionsComeInOrderAndOnce(t *testing.T) {
	r := attach(t, project(), "/project", "@src/a.go @main.go\n```\ncode\n```\n@src/a.go and @main.go:1")
	require.Len(t, r.parts, 3)
	require.Contains(t, r.parts[0].Text, "src/a.go")
	require.Contains(t, r.parts[1].Text, "main.go]")
	require.Contains(t, r.parts[2].Text, "main.go, lines 1 of 4]")
}

func TestLongTextIsCutWithANote(t *testing.T) {
	files := project()
	files["big.txt"] = &fstest.MapFile{Data: []byte(strings.Repeat("straße\n", 60_000))}
	files["huge.txt"] = &fstest.MapFile{Data: []byte(strings.Repeat("0123456789abcde\n", 17<<16))}
	for _, name := range []string{"big.txt", "huge.txt"} {
		r := attach(t, files, "/project", "@"+name)
		require.Contains(t, r.text(), "["+name+" goes on: only 256 KiB")
		require.Less(t, len(r.text()), 257<<10)
		require.NotContains(t, r.text(), "\ufffd")
		require.Len(t, r.notices, 1)
	}
	r := attach(t, files, "/project", "@big.txt:59999-")
	require.Contains(t, r.text(), "lines 59999- of 60000]\nstraße\nstraße\n")
	require.Empty(t, r.notices)

	r = attach(t, files, "/project", "@huge.txt:2")
	require.Contains(t, r.text(), "[attached file huge.txt, lines 2 of the 1048576 in its first 16 MiB]\n0123456789abcde\n")
	r = attach(t, files, "/project", "@huge.txt:1100000")
	require.Contains(t, r.text(), "it has no lines 1100000; it has the 1048576 in its first 16 MiB]")
}

func TestAttachmentsOfOnePromptAreBoundTogether(t *testing.T) {
	files := project()
	var prompt strings.Builder
	for i := range 6 {
		name := fmt.Sprintf("big%d.txt", i)
		files[name] = &fstest.MapFile{Data: bytes.Repeat([]byte("a"), 250<<10)}
		prompt.WriteString("@" + name + " ")
	}
	r := attach(t, files, "/project", prompt.String()+"@main.go")
	require.Len(t, r.parts, 7)
	require.Contains(t, r.parts[3].Text, "[attached file big3.txt]")
	require.Contains(t, r.parts[4].Text, "[not attached: big4.txt: the attachments of one prompt may have 1024 KiB together]")
	require.Contains(t, r.parts[6].Text, "[attached file main.go]", "what still fits is attached")
	require.Len(t, r.notices, 2)

	files["big.png"] = &fstest.MapFile{Data: append([]byte(png), make([]byte, 5<<20)...)}
	r = attach(t, files, "/project", "@big.png")
	require.Contains(t, r.text(), "[not attached: big.png: images and PDFs may have 5 MiB]")
}

func TestPastedTextOfManyMentionsIsBound(t *testing.T) {
	r := attach(t, project(), "/project", strings.Repeat("@nobody ", 500))
	require.Empty(t, r.parts)
	require.Len(t, r.notices, 51)
	require.Contains(t, r.notices[50], "only the first 50 of 500")
}

func TestLargeFolderIsListedInPart(t *testing.T) {
	files := project()
	for i := range 300 {
		files[fmt.Sprintf("many/%03d", i)] = &fstest.MapFile{}
	}
	text := attach(t, files, "/project", "@many").text()
	require.Contains(t, text, "[attached folder many, 300 entries]\n000\n")
	require.Contains(t, text, "199\n[and 100 more]")
}

func TestLinksOutOfTheProjectAreRefused(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(inside, "plain"), []byte("plain"), 0o600))
	require.NoError(t, os.Symlink("plain", filepath.Join(inside, "near")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(inside, "far")))
	require.NoError(t, os.Symlink(outside, filepath.Join(inside, "folder")))
	root, err := os.OpenRoot(inside)
	require.NoError(t, err)
	defer root.Close()

	require.Contains(t, attach(t, root.FS(), inside, "@near").text(), "plain")
	require.Contains(t, attach(t, root.FS(), inside, "@"+filepath.Join(inside, "plain")).text(), "plain")
	for _, p := range []string{"@far", "@folder", "@folder/secret", "@" + filepath.Join(outside, "secret")} {
		r := attach(t, root.FS(), inside, p)
		require.Empty(t, r.parts, p)
		require.Len(t, r.notices, 1)
		require.NotContains(t, r.notices[0], "no such file")
	}
}

func TestChildsPromptAttachesNothing(t *testing.T) {
	inst, err := atmention.New(atmention.Options{}).Open(context.Background(), middleware.Env{Project: middleware.Project{FS: project()}})
	require.NoError(t, err)
	require.NotNil(t, inst.Hooks.Input)
	child, err := inst.Child(context.Background(), middleware.Env{})
	require.NoError(t, err)
	require.Nil(t, child.Hooks.Input)
}

func TestAScheduledPromptAttachesNothing(t *testing.T) {
	inst, err := atmention.New(atmention.Options{}).Open(context.Background(), middleware.Env{Project: middleware.Project{FS: project()}})
	require.NoError(t, err)
	for owner, more := range map[string]bool{"": true, "CronMiddleware": false} {
		in := &middleware.Input{Parts: []message.Part{{Kind: message.Text, Text: "@main.go"}}, Owner: owner}
		require.NoError(t, inst.Hooks.Input(context.Background(), in))
		require.Equal(t, more, len(in.Parts) > 1)
	}
}

func TestCancelledTurnStopsReading(t *testing.T) {
	inst, err := atmention.New(atmention.Options{}).Open(context.Background(), middleware.Env{Project: middleware.Project{FS: project()}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	in := &middleware.Input{Parts: []message.Part{{Kind: message.Text, Text: "@main.go"}}}
	require.NoError(t, inst.Hooks.Input(ctx, in))
	cancel()
	require.ErrorIs(t, inst.Hooks.Input(ctx, in), context.Canceled)
}

func FuzzMentions(f *testing.F) {
	for _, s := range []string{"@main.go:1-2", `@"my notes.md":3`, "看@说明.md，", "```\n@x", "@@@", "@./", "@a#L1-L2:3", "@\xff", "@)", "~~~\n@y\n~~~\n@main.go"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		r := attach(t, project(), "/project", prompt)
		if !strings.Contains(prompt, "@") {
			require.Empty(t, r.parts)
			require.Empty(t, r.notices)
		}
		require.LessOrEqual(t, len(r.parts), 2*51)
	})
}
