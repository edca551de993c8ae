package workspace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEditReplacesExactly(t *testing.T) {
	for _, c := range []struct {
		name, before string
		in           args
		after        string
	}{
		{"once", "a b c", args{"old": "b", "new": "x"}, "a x c"},
		{"all", "b b\nb", args{"old": "b", "new": "bb", "all": true}, "bb bb\nbb"},
		{"all, by its other name", "b b", args{"old_string": "b", "new_string": "", "replace_all": true}, " "},
		{"all, overlapping", "aaa", args{"old": "aa", "new": "x", "all": true}, "xa"},
		{"deletes lines", "a\nb\nc\n", args{"old": "b\n", "new": ""}, "a\nc\n"},
		{"CRLF is kept", "a\r\nb\r\nc\r\n", args{"old": "a\nb", "new": "x\ny\nz"}, "x\r\ny\r\nz\r\nc\r\n"},
		{"CRLF is kept by one line", "a\r\nb\r\n", args{"old": "b", "new": "x\ny"}, "a\r\nx\r\ny\r\n"},
		{"CRLF sent as such", "a\r\nb\r\n", args{"old": "a\r\nb", "new": "x\r\ny"}, "x\r\ny\r\n"},
		{"CRLF sent for LF", "a\nb\n", args{"old": "a\r\nb", "new": "x\r\ny"}, "x\ny\n"},
		{"mixed endings stay where they are", "a\nb\r\nc\r\nd\n", args{"old": "b\nc", "new": "x"}, "a\nx\r\nd\n"},
		{"a BOM is kept", "\xef\xbb\xbfa\nb", args{"old": "a", "new": "x"}, "\xef\xbb\xbfx\nb"},
		{"bytes that are no UTF-8 are kept", "caf\xe9\nb", args{"old": "b", "new": "x"}, "caf\xe9\nx"},
		{"dollars are letters", "a", args{"old": "a", "new": "$1 \\1"}, "$1 \\1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, Options{})
			b.put("f", c.before)
			c.in["path"] = "f"
			b.do("Edit", c.in)
			require.Equal(t, c.after, b.content("f"))
		})
	}
}

func TestEditRefusesWhatIsNotClear(t *testing.T) {
	for _, c := range []struct {
		name, before string
		in           args
		says         string
	}{
		{"empty", "a", args{"old": "", "new": "x"}, "`old` is empty"},
		{"the same", "a", args{"old": "a", "new": "a"}, "nothing would change"},
		{"not there", "a", args{"old": "zz", "new": "x"}, "does not stand in it: read the file again"},
		{"white space differs", "x\n\tif a  {\n", args{"old": "    if a {", "new": "x"}, "line 2 differs from it in white space alone"},
		{"twice", "a\nb\na\n", args{"old": "a", "new": "x"}, "2 times (lines 1, 3)"},
		{"overlapping itself", "aaa", args{"old": "aa", "new": "x"}, "2 times (lines 1, 1)"},
		{"binary", "a\x00", args{"old": "a", "new": "x"}, "binary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, Options{})
			b.put("f", c.before)
			c.in["path"] = "f"
			require.Contains(t, b.refuse("Edit", c.in), c.says)
			require.Equal(t, c.before, b.content("f"))
		})
	}
	b := open(t, Options{})
	require.Contains(t, b.refuse("Edit", args{"path": "none", "old": "a", "new": "b"}), "none does not exist")
}

func TestEditReturnsTheDifference(t *testing.T) {
	b := open(t, Options{})
	b.put("d/f.txt", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n")
	require.Equal(t, "--- d/f.txt\n+++ d/f.txt\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and\n 6\n 7\n 8\n",
		b.do("Edit", args{"path": "d/f.txt", "old": "5", "new": "five\nand"}))
}

func TestEditDoesNotCountAsReading(t *testing.T) {
	b := open(t, Options{})
	b.put("f", "a\nrest\n")
	b.do("Edit", args{"path": "f", "old": "a", "new": "b"})
	b.refuse("Write", args{"path": "f", "content": "x"})
	b.do("Read", args{"path": "f"})
	b.do("Edit", args{"path": "f", "old": "b", "new": "c"})
	b.do("Write", args{"path": "f", "content": "x"})
}

func FuzzRewriteKeepsWhatItDoesNotReplace(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\n", "\xef\xbb\xbfx\r\r\n\r\n", "\r\n", "\n\r", "\xff\r\n"} {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, raw []byte, old string) {
		b := parse(raw)
		require.Equal(t, string(raw), string(b.rewrite(nil, "x")))
		old = plain(old)
		if old == "" {
			return
		}
		spans, err := b.spans(old, true)
		if err != nil {
			return
		}
		// Replaced text that is put back gives the text that was there.
		again := parse(b.rewrite(spans, old))
		require.Equal(t, plain(b.text), plain(again.text))
	})
}
