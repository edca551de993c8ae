package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session"
)

func request(tool, args string, grants ...string) session.Request {
	return session.Request{ID: "1", Tool: tool, Owner: "WorkspaceMiddleware", Args: json.RawMessage(args), Grants: grants}
}

// typing is a terminal's screen whose person types the next line whenever a question stands there.
type typing struct {
	bytes.Buffer
	lines []string
	in    *io.PipeWriter
}

func (s *typing) Write(p []byte) (int, error) {
	if bytes.HasSuffix(p, []byte(": ")) {
		if len(s.lines) == 0 {
			s.in.Close()
		} else {
			line := s.lines[0]
			s.lines = s.lines[1:]
			go s.in.Write([]byte(line))
		}
	}
	return s.Buffer.Write(p)
}

func typist(text string) *terminal {
	r, w := io.Pipe()
	return &terminal{in: r, out: &typing{in: w, lines: slices.Collect(strings.Lines(text))}}
}

func TestWhatWasTypedBeforeTheQuestionAnswersNothing(t *testing.T) {
	one := request("Bash", `{"command":"make"}`)
	got, err := typist("y\n").Approve(t.Context(), []session.Request{one})
	require.NoError(t, err)
	require.True(t, got[0].Allow)

	r, w := io.Pipe()
	term := &terminal{in: r, out: &typing{in: w, lines: []string{"n\n", "n\n"}}}
	_, err = term.Approve(t.Context(), []session.Request{one})
	require.NoError(t, err)
	_, err = w.Write([]byte("y\nall\nalways\n"))
	require.NoError(t, err)
	got, err = term.Approve(t.Context(), []session.Request{one})
	require.NoError(t, err)
	require.Equal(t, []session.Approval{{}}, got)
}

func TestAnswersOfThePersonAtTheTerminal(t *testing.T) {
	one := request("Bash", `{"command":"make"}`, "Bash(make)")
	plain := request("Bash", `{"command":"$x"}`)
	yes := session.Approval{Allow: true, Scope: session.Once}
	no := session.Approval{}
	for name, c := range map[string]struct {
		typed    string
		requests []session.Request
		want     []session.Approval
	}{
		"once":                {"y\n", []session.Request{one}, []session.Approval{yes}},
		"for the session":     {"session\n", []session.Request{one}, []session.Approval{{Allow: true, Scope: session.ForSession}}},
		"always":              {"always\n", []session.Request{one}, []session.Approval{{Allow: true, Scope: session.Always}}},
		"a key is no word":    {"a\n", []session.Request{one}, []session.Approval{{Message: "a"}}},
		"an empty line":       {"\n", []session.Request{one}, []session.Approval{no}},
		"a space":             {" \n", []session.Request{one}, []session.Approval{no}},
		"no":                  {"n\n", []session.Request{one}, []session.Approval{no}},
		"with a reason":       {"use make -n\n", []session.Request{one}, []session.Approval{{Message: "use make -n"}}},
		"yes and more":        {"yes please\n", []session.Request{one}, []session.Approval{{Message: "yes please"}}},
		"always cannot hold":  {"always\ny\n", []session.Request{plain}, []session.Approval{yes}},
		"all of one":          {"all\n", []session.Request{one}, []session.Approval{{Message: "all"}}},
		"one by one":          {"y\nn\n", []session.Request{one, one}, []session.Approval{yes, no}},
		"all":                 {"all\n", []session.Request{one, plain, one}, []session.Approval{yes, yes, yes}},
		"one and then all":    {"n\nall\n", []session.Request{one, plain, one}, []session.Approval{no, yes, yes}},
		"none":                {"y\nnone\n", []session.Request{one, plain, one}, []session.Approval{yes, no, no}},
		"always of one alone": {"always\ny\n", []session.Request{one, one}, []session.Approval{{Allow: true, Scope: session.Always}, yes}},
	} {
		t.Run(name, func(t *testing.T) {
			term := typist(c.typed)
			got, err := term.Approve(t.Context(), c.requests)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := typist("y\n").Approve(t.Context(), []session.Request{one, one})
	require.ErrorContains(t, err, "closed before")
}

func TestARequestShowsWhatWillRun(t *testing.T) {
	for args, want := range map[string]string{
		`{"command":"rm -rf x\nmake"}`:                    "  rm -rf x\n  make",
		`{"command":"make","cwd":"sub"}`:                  "  make\n  (in sub)",
		`{"path":"a.go","old":"one","new":"two"}`:         "-one\n  +two",
		`{"path":"a.go","content":"new file"}`:            "+new file",
		`{"url":"https://x"}`:                             `{"url":"https://x"}`,
		"{\"command\":\"echo \\u001b[2K\\rharmless\"}":    `echo \u001b[2K\u000dharmless`,
		"{\"command\":\"echo \\u202ehidden\"}":            `echo \u202ehidden`,
		`{"command":"` + strings.Repeat(`x\n`, 70) + `"}`: "… and 10 more lines",
	} {
		r := request("T", args)
		require.Contains(t, indented(&r), want)
	}
	term := typist("y\ny\n")
	out := term.out.(*typing)
	_, err := term.Approve(t.Context(), []session.Request{request("Bash", `{"command":"make"}`, "Bash(make)"), request("Bash", `{"command":"$x"}`)})
	require.NoError(t, err)
	require.Contains(t, out.String(), "[1 of 2]")
	require.Contains(t, out.String(), "session or always for Bash(make)")
	require.Equal(t, 1, strings.Count(out.String(), "always"))
}
