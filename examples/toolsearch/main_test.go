package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolsearch"
)

func TestARealCatalogueAnswers(t *testing.T) {
	v, err := view(catalog)
	require.NoError(t, err)
	x := toolsearch.New(v)
	require.Equal(t, 37, x.Len())
	for query, want := range map[string]string{
		"undo what I staged":                     "mcp__git__git_reset",
		"what is the current time":               "mcp__time__get_current_time",
		"convert 3pm from Berlin to New York":    "mcp__time__convert_time",
		"download the page https://example.com/": "mcp__fetch__fetch",
		"show the commit history":                "mcp__git__git_log",
		"rename a file":                          "mcp__filesystem__move_file",
		"what is in /home/me/music":              "mcp__filesystem__list_directory",
		"forget an entity":                       "mcp__memory__delete_entities",
		"read_graph":                             "mcp__memory__read_graph",
		"chekout a branch":                       "mcp__git__git_checkout",
	} {
		hits := x.Search(query, 1)
		require.Len(t, hits, 1, query)
		require.Equal(t, want, hits[0].Entry.Tool.Name, query)
	}
	require.Empty(t, x.Search("book a flight", 3))
}

func TestTheProgramSaysWhatItFoundAndWhy(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, catalog, "chekout a branch", "book a flight"))
	require.Contains(t, out.String(), "37 tools\n")
	require.Contains(t, out.String(), "mcp__git__git_checkout")
	require.Contains(t, out.String(), "chekout → checkout")
	require.Contains(t, out.String(), "nothing fits")
	err := run(&out, fstest.MapFS{"testdata/x.json": {Data: []byte("[")}})
	require.ErrorContains(t, err, "testdata/x.json")
}
