package custommiddleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
)

// Everything that the ticket middleware brings goes with it, and nothing else does.
func TestTicketsCloseWhole(t *testing.T) {
	suite, err := builtin.Suite(builtin.Options{More: []middleware.Middleware{New()}})
	require.NoError(t, err)
	closuretest.Run(t, closuretest.Config{Middlewares: suite.All(), Only: []string{Name}})
}

func TestTicketsWorkBesideTheBuiltInSuite(t *testing.T) {
	setup, _, err := builtin.Load(config.Options{Root: t.TempDir(), Home: t.TempDir(), Managed: "-"}, New())
	require.NoError(t, err)
	defer setup.Close()
	s, err := session.New(t.Context(), session.Options{
		Blueprint: setup.Blueprint,
		Models:    func(string) (middleware.ModelFunc, error) { return offline.Model, nil },
	})
	require.NoError(t, err)
	defer s.Close(t.Context())
	prompt := "call TicketOpen {\"title\":\"the light flickers\"}\n\ncall ExecuteExtraTool {\"name\":\"TicketList\"}"
	for _, err := range s.Prompt(t.Context(), session.Text(prompt)) {
		require.NoError(t, err)
	}
	answer := s.Messages()[len(s.Messages())-1].Text()
	require.Contains(t, answer, "$1: opened ticket 1")
	require.Contains(t, answer, "$2: the light flickers")
	require.Contains(t, s.Surface().String(), "route /tickets TicketMiddleware")
}
