package settingsedit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

func TestAnEditAlwaysAsksAndNothingElseDoes(t *testing.T) {
	m := New(Options{Edit: func(_ context.Context, in Request) Reply { return Reply{OK: true, Text: in.Action + " " + in.Key} }})
	require.True(t, m.Off)
	in, err := m.Open(t.Context(), middleware.Env{})
	require.NoError(t, err)
	other := toolview.MustSet(toolview.New(toolview.Tool{Decl: toolview.Decl{Name: "Other"}, Doc: "Does something else."}, edit))
	view := toolview.NewDeriver([]toolview.Band{
		{Owner: Name, Set: m.Deferred, State: in.State}, {Owner: "OtherMiddleware", Set: other, State: in.State},
	}, nil, nil).View(&toolview.Policy{}, nil)
	var calls []*toolview.Call
	for _, name := range []string{toolName, "Other"} {
		call, bad := view.Call("1", name, []byte(`{"action": "disable", "key": "WebMiddleware"}`))
		require.Nil(t, bad)
		calls = append(calls, call)
	}
	out := make([]middleware.Verdict, 2)
	in.Hooks.Gate(t.Context(), calls, out)
	require.Equal(t, middleware.Ask, out[0].Decision)
	require.False(t, out[0].Mode, "no hook's allow satisfies it")
	require.Empty(t, out[0].Grants, "and no answer lasts")
	require.Equal(t, middleware.Pass, out[1].Decision)
	r, err := calls[0].Tool().Run(t.Context(), calls[0])
	require.NoError(t, err)
	require.Equal(t, "disable WebMiddleware", r.Text())
}
