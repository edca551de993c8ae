package closuretest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/session"
)

// judged keeps what a check fails with.
type judged struct {
	*testing.T
	said string
}

func (judged) Context() context.Context             { return context.Background() }
func (j *judged) Fatalf(format string, args ...any) { j.said = fmt.Sprintf(format, args...) }

func TestGoldenFailsForEveryFactThatChanged(t *testing.T) {
	t.Setenv("PERI_UPDATE", "")
	file := filepath.Join(t.TempDir(), "new", "facts.txt")
	before := session.Surface{
		{Surface: "chain", Name: "Notes", Owner: "Notes", Detail: "live"},
		{Surface: "tool", Name: "TakeNote", Owner: "Notes", Detail: "readonly openworld"},
		{Surface: "contribution", Name: "Notes", Owner: "Notes"},
	}
	golden := func(s session.Surface) string {
		j := &judged{T: t}
		closuretest.Golden(j, file, s)
		return j.said
	}
	require.Contains(t, golden(before), "it is written now", "a golden that nobody read proves nothing")
	require.Empty(t, golden(before))
	after := append(session.Surface{}, before[:2]...)
	after[1].Detail = "edits"
	require.Contains(t, golden(after), "- contribution Notes Notes\n- tool TakeNote Notes readonly openworld\n+ tool TakeNote Notes edits\n")
	t.Setenv("PERI_UPDATE", "1")
	require.Empty(t, golden(after))
	t.Setenv("PERI_UPDATE", "")
	require.Empty(t, golden(after))
	require.NoError(t, os.WriteFile(file, []byte("tool\n"), 0o600))
	require.Contains(t, golden(after), "is no fact")
}
