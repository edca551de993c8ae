package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/script"
	"github.com/metaharness/peri/toolview"
)

func TestALanguageServerOfSettingsOffersTheToolAndIsListed(t *testing.T) {
	s := newSite(t, "")
	x := s.open(script.New(), "").View().Explain("LSP")
	require.Equal(t, toolview.GateSupported, x.Gate)
	require.Contains(t, x.Rule, "write lsp.servers")
	s.writeHome("lsp: {servers: {go: {command: sh, languages: [go]}}}\n")
	sess := s.open(script.New(), "")
	require.True(t, sess.View().Explain("LSP").Visible)
	var details []string
	for _, f := range sess.Surface().Of("LspMiddleware") {
		details = append(details, f.Surface+" "+f.Name+" "+f.Detail)
	}
	require.Contains(t, details, "language go sh: not started")
}
