package gitattribution_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/gitattribution"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/toolview"
)

// hands has a tool that edits, one whose edit fails, and one that only looks.
func hands() middleware.Middleware {
	tool := func(name string, e toolview.Effects, r *message.Result) toolview.Tool {
		return toolview.New(toolview.Tool{Decl: toolview.Decl{Name: name}, Doc: "Works.", Effects: e},
			func(context.Context, any, *toolview.Call, struct{}) (*message.Result, error) { return r, nil })
	}
	return middleware.Middleware{Name: "HandsMiddleware", Doc: "works", Tools: toolview.MustSet(
		tool("Change", toolview.Edits, message.Say("done")), tool("Fumble", toolview.Edits, message.Fail("no")), tool("Look", toolview.ReadOnly, message.Say("seen")))}
}

func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, ".git"), 0o700))
	return root
}

// tails are what each request of one turn was told beside the conversation.
func tails(t *testing.T, root, trailer string, store session.Store, id string, steps ...script.Step) (out []string, id2 string) {
	t.Helper()
	suite, err := middleware.NewSuite(hands(), gitattribution.New(gitattribution.Options{Trailer: trailer}))
	require.NoError(t, err)
	sc := script.New(steps...)
	o := session.Options{Blueprint: middleware.Blueprint{Suite: suite, Root: root}, Store: store, Models: func(name string) (middleware.ModelFunc, error) {
		model, err := sc.Models(name)
		return func(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
			var b strings.Builder
			for _, c := range r.Tail {
				b.WriteString(c.Text)
			}
			out = append(out, b.String())
			return model(ctx, r, sink)
		}, err
	}}
	var s *session.Session
	if id == "" {
		s, err = session.New(t.Context(), o)
	} else {
		s, err = session.Resume(t.Context(), o, id)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.Background())) }()
	for _, err := range s.Prompt(t.Context(), session.Text("go")) {
		require.NoError(t, err)
	}
	return out, s.ID()
}

func TestTheTrailerIsAskedForOnceFilesWereEdited(t *testing.T) {
	store, root := &memory.Store{}, repository(t)
	got, id := tails(t, root, "", store, "", script.Do("Look", `{}`), script.Do("Fumble", `{}`), script.Do("Change", `{}`), script.Say("ok"))
	require.Equal(t, []string{"", "", ""}, got[:3])
	require.Contains(t, got[3], "\n\nAssisted-by: peri\n\n")
	got, _ = tails(t, root, "", store, id, script.Say("ok"))
	require.Contains(t, got[0], "Assisted-by: peri", "a resumed session knows")
	got, _ = tails(t, root, "Made-with: care", nil, "", script.Do("Change", `{}`), script.Say("ok"))
	require.Contains(t, got[1], "Made-with: care")
	require.NotContains(t, got[1], "peri")
	got, _ = tails(t, t.TempDir(), "", nil, "", script.Do("Change", `{}`), script.Say("ok"))
	require.Equal(t, []string{"", ""}, got, "a folder without a repository has no commits")
}

func TestABadTrailerIsRefused(t *testing.T) {
	require.NoError(t, gitattribution.Options{Trailer: "Co-authored-by: A <a@example.org>"}.Check())
	for _, s := range []string{"peri", "Key:value", "A b: c", "A: b\nC: d", "A:  "} {
		require.ErrorContains(t, gitattribution.Options{Trailer: s}.Check(), "Key: value", s)
		_, err := gitattribution.New(gitattribution.Options{Trailer: s}).Open(t.Context(), middleware.Env{})
		require.Error(t, err)
	}
}

func TestItClosesWhole(t *testing.T) {
	closuretest.Run(t, closuretest.Config{Middlewares: []middleware.Middleware{hands(), gitattribution.New(gitattribution.Options{})}, Root: repository(t)})
}
