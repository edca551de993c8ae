package workspace

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/prompt/message"
)

const (
	png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	pdf = "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
)

func TestReadShowsNumberedLines(t *testing.T) {
	var many strings.Builder
	for i := 1; i <= 2500; i++ {
		fmt.Fprintf(&many, "l%d\n", i)
	}
	for _, c := range []struct {
		name, content string
		in            args
		want          string
	}{
		{"no final newline", "a\nb", args{}, "     1\ta\n     2\tb\n"},
		{"CRLF and BOM", "\xef\xbb\xbfa\r\nb\r\n", args{}, "     1\ta\n     2\tb\n"},
		{"empty", "", args{}, "(the file is empty)"},
		{"a BOM alone", "\xef\xbb\xbf", args{}, "(the file is empty)"},
		{"offset and limit", many.String(), args{"offset": 10, "limit": 2}, "    10\tl10\n    11\tl11\n(lines 10 to 11 of 2500; continue with offset 12)\n"},
		{"offset 0", "a\n", args{"offset": 0}, "     1\ta\n"},
		{"to the end", "a\nb\nc\n", args{"offset": 3}, "     3\tc\n(lines 3 to 3 of 3)\n"},
		{"not UTF-8", "caf\xe9\n", args{}, "     1\tcaf\uFFFD\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, Options{})
			b.put("f", c.content)
			c.in["path"] = "f"
			require.Equal(t, c.want, b.do("Read", c.in))
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	b := open(t, Options{OutputCap: 1000})
	b.put("lines", strings.Repeat("x\n", 2500))
	got := b.do("Read", args{"path": "lines"})
	require.Less(t, len(got), 4200)
	require.Regexp(t, `\(lines 1 to \d+ of 2500; continue with offset \d+\)\n$`, got)

	b = open(t, Options{})
	b.put("lines", strings.Repeat("x\n", 2500))
	require.Contains(t, b.do("Read", args{"path": "lines"}), "(lines 1 to 2000 of 2500; continue with offset 2001)")
	b.put("long", strings.Repeat("é", 3000)+"\nnext\n")
	got = b.do("Read", args{"path": "long"})
	require.Contains(t, got, "é… (4000 more bytes)\n     2\tnext")

	f, err := os.Create(b.path("huge"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(maxFile+1))
	require.NoError(t, f.Close())
	require.Contains(t, b.refuse("Read", args{"path": "huge"}), "larger than 32 MiB")
}

func TestReadShowsImagesAndDocumentsAsContent(t *testing.T) {
	b := open(t, Options{})
	for _, c := range []struct {
		content string
		kind    message.Kind
		mime    string
	}{{png, message.Image, "image/png"}, {pdf, message.Document, "application/pdf"}} {
		b.put("f", c.content)
		r := b.try(t.Context(), "Read", args{"path": "f"})
		require.False(t, r.Error)
		require.Len(t, r.Parts, 2)
		require.Equal(t, message.Part{Kind: c.kind, MIME: c.mime, Data: []byte(c.content)}, r.Parts[1])
	}
	b.put("f", png+strings.Repeat("\x00", imageCap))
	require.Contains(t, b.refuse("Read", args{"path": "f"}), "at most 5242880")
}

func TestReadRefusesWhatIsNoText(t *testing.T) {
	b := open(t, Options{})
	b.put("bin", "ELF\x00\x01")
	b.put("dir/readme.md", "x\n")
	require.Contains(t, b.refuse("Read", args{"path": "bin"}), "binary")
	require.Contains(t, b.refuse("Read", args{"path": "dir"}), "list it instead")
	require.Contains(t, b.refuse("Read", args{"path": "dir/readme.md", "offset": 9}), "it has 1 lines")
	require.Equal(t, "dir/README.md does not exist: did you mean dir/readme.md?", b.refuse("Read", args{"path": "dir/README.md"}))
	require.Contains(t, b.refuse("Read", args{"path": "dir/readme.md/x"}), "not a directory")
	require.Contains(t, b.refuse("Read", args{"path": "a\x00b"}), "NUL")
}
