package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"peri": func() { os.Exit(start()) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			// Nothing of the real home is read: both places that stand for one are the script's own.
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("PERI_HOME", filepath.Join(home, ".peri"))
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "lost": lost, "same": same, "validjson": validJSON,
		},
	})
}

// exits CODE PROGRAM ARG... runs a program and checks its very exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func factsOf(ts *testscript.TestScript, file string) []string {
	return strings.Split(strings.TrimSuffix(ts.ReadFile(file), "\n"), "\n")
}

// lost OWNER BEFORE AFTER SURFACE... checks that the facts that AFTER lacks are all of OWNER's and nothing else, that
// some of them were on each of the surfaces, and that nothing was gained.
func lost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: lost OWNER BEFORE AFTER SURFACE...")
	}
	owner, before, after := args[0], factsOf(ts, args[1]), factsOf(ts, args[2])
	seen := map[string]bool{}
	for _, f := range before {
		fields := strings.Fields(f)
		is := len(fields) > 2 && fields[2] == owner
		if is {
			seen[fields[0]] = true
		}
		if kept := slices.Contains(after, f); kept == is {
			ts.Fatalf("fact %q: kept %v", f, kept)
		}
	}
	for _, f := range after {
		if !slices.Contains(before, f) {
			ts.Fatalf("fact %q was gained", f)
		}
	}
	for _, surface := range args[3:] {
		if !seen[surface] {
			ts.Fatalf("%s had no fact on %s to lose", owner, surface)
		}
	}
}

// same FILE FILE NAME NAME checks that two texts are equal once each name stands for the other.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: same FILE FILE NAME NAME")
	}
	a := strings.ReplaceAll(ts.ReadFile(args[0]), args[2], "NAME")
	b := strings.ReplaceAll(ts.ReadFile(args[1]), args[3], "NAME")
	if a != b || !strings.Contains(a, "NAME") {
		ts.Fatalf("%s and %s differ by more than the name:\n%s\n%s", args[0], args[1], a, b)
	}
}

// validjson FILE [KEY...] checks that a file is one JSON object with just these keys, or with any when none is given.
func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: validjson FILE [KEY...]")
	}
	var m map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &m))
	for k := range m {
		if len(args) > 1 && !slices.Contains(args[1:], k) {
			ts.Fatalf("%s has the key %s", args[0], k)
		}
	}
	for _, k := range args[1:] {
		if _, ok := m[k]; !ok {
			ts.Fatalf("%s lacks the key %s", args[0], k)
		}
	}
}
