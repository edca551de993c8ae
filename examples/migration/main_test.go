package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the goldens")

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == forge {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEveryFolderGivesTheFactsThatItsLockHolds(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	folders, err := filepath.Glob("*/.peri")
	require.NoError(t, err)
	require.Len(t, folders, 5)
	for _, f := range folders {
		folder := filepath.Dir(f)
		t.Run(folder, func(t *testing.T) {
			require.Contains(t, string(page), "`"+folder+"/`", "the page names every folder")
			var out strings.Builder
			require.NoError(t, facts(t.Context(), &out, folder, true))
			golden := filepath.Join(folder, ".peri", "lock.txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
		})
	}
}

func TestTheReviewerIsNotStartedWithoutItsServer(t *testing.T) {
	var out strings.Builder
	require.NoError(t, facts(t.Context(), &out, "reviewer", false))
	require.Contains(t, out.String(), "reviewer: session: agent reviewer (.peri/agents/reviewer.md): it was not started, since it needs servers that are not there: forge")
}
