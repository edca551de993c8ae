package closuretest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
)

// verified is the matrix of a suite with nothing set.
func verified(t *testing.T, list []middleware.Middleware) *closuretest.Matrix {
	t.Helper()
	suite, err := middleware.NewSuite(list...)
	require.NoError(t, err)
	m, err := closuretest.Verify(t.Context(), closuretest.Project{Blueprint: middleware.Blueprint{Suite: suite, Root: t.TempDir()}})
	require.NoError(t, err)
	return m
}

func page(t *testing.T, p closuretest.Page) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, p.WriteHTML(&b))
	return b.String()
}

func TestVerifyFindsNothingInAHealthyProject(t *testing.T) {
	m := verified(t, healthy())
	require.True(t, m.OK(), "%v", m.Leaks)
	require.Len(t, m.Rows, len(healthy()))
	for _, r := range m.Rows {
		require.Equal(t, r.State == "live", r.Closed, "%s: what is closed already is looked at as it is", r.Name)
		require.Equal(t, r.Closed, r.Takes["chain"] > 0, r.Name)
	}
}

func TestVerifyNamesALeakInTheRowOfItsClosing(t *testing.T) {
	m := verified(t, mentions()["in a tool's doc"].spoil(healthy()))
	require.False(t, m.OK())
	for _, r := range m.Rows {
		if r.Name == "Notes" {
			require.Len(t, r.Leaks, 1)
			require.Equal(t, "tool Say: doc", r.Leaks[0].Where)
			continue
		}
		require.Empty(t, r.Leaks, r.Name)
	}
}

func TestPageRefersToNothingOutsideAndIsReadableWithoutScripts(t *testing.T) {
	html := page(t, closuretest.Page{Title: "a project", Matrix: verified(t, healthy())})
	for _, word := range []string{"://", "src=", "<link", "@import", "url("} {
		require.NotContains(t, html, word)
	}
	body, _, _ := strings.Cut(html, "<script")
	for _, want := range []string{"Notes", "TakeNote", "/notes", "20_notes", "Closed means gone."} {
		require.Contains(t, body, want)
	}
}

func TestPageEscapesWhatOthersNamed(t *testing.T) {
	const evil = `</script><img onerror=alert(1)>"'&`
	m := &closuretest.Matrix{
		Surfaces: []string{evil}, Facts: []closuretest.Item{{Fact: middleware.Fact{Surface: evil, Name: evil, Owner: evil}}},
		Rows:     []closuretest.Row{{Name: evil, Doc: evil, State: evil, Cause: evil, Requires: []string{evil}, Cascades: []string{evil}, Closed: true, Texts: []closuretest.Mention{{File: evil, Text: evil}}}},
		Leaks:    []closuretest.Leak{{Check: evil, Text: evil}},
		Mentions: []closuretest.Mention{{File: evil, Tool: evil, Why: evil, Text: evil}},
	}
	html := page(t, closuretest.Page{Title: evil, Matrix: m, Diagnostics: []meta.Diagnostic{{Message: evil}}})
	require.NotContains(t, html, "<img")
	require.Equal(t, 2, strings.Count(html, "</script>"))
	require.Greater(t, strings.Count(html, "&lt;img"), 10, "it is shown as what it is")
}
