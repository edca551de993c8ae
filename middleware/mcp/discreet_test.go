package mcp

import (
	"io"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAnAddressHoldsOfASecretIsToldToNobody(t *testing.T) {
	at, err := url.Parse("https://me:hush@example.org/x?token=hush")
	require.NoError(t, err)
	w := &web{at: at}
	cause := &url.Error{Op: "Post", URL: at.String(), Err: io.ErrUnexpectedEOF}
	require.Contains(t, cause.Error(), "hush", "presence first")
	told := w.explain(cause)
	require.NotContains(t, told.Error(), "hush")
	require.Contains(t, told.Error(), "example.org/x")
	require.ErrorIs(t, told, io.ErrUnexpectedEOF)
	plain := &web{at: &url.URL{Scheme: "https", Host: "example.org"}}
	require.Equal(t, cause, plain.explain(cause))
}
