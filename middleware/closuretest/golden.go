package closuretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/metaharness/peri/session"
)

// TB is what Golden needs of a *testing.T or *testing.B.
type TB interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// Golden holds a session's facts against a file and fails with those that were lost and gained. With PERI_UPDATE set, or
// where there is no file, it writes the file instead; a file that was not there fails all the same, so that a test that
// never had one does not pass.
func Golden(t TB, file string, s session.Surface) {
	t.Helper()
	want, err := os.ReadFile(file)
	fresh := errors.Is(err, os.ErrNotExist)
	switch {
	case fresh || os.Getenv("PERI_UPDATE") != "":
		if err := writeGolden(file, s); err != nil {
			t.Fatalf("closuretest: %v", err)
		}
		if fresh {
			t.Fatalf("closuretest: there was no %s; it is written now: read it, commit it and run again", file)
		}
	case err != nil:
		t.Fatalf("closuretest: %v", err)
	default:
		was, err := session.ParseSurface(string(want))
		if err != nil {
			t.Fatalf("closuretest: %s: %v", file, err)
			return
		}
		if d := s.Since(was); !d.Empty() {
			t.Fatalf("the session differs from %s, which PERI_UPDATE=1 writes anew:\n%s", file, d)
		}
	}
}

func writeGolden(file string, s session.Surface) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(s.String()), 0o644); err != nil {
		return fmt.Errorf("golden: %w", err)
	}
	return nil
}
