package toolview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/toolview"
)

func TestAWordWithoutAToolIsAdmittedByEveryLevel(t *testing.T) {
	view := func(lists toolview.Lists, above *toolview.View) *toolview.View {
		p := &toolview.Policy{Frames: []*toolview.Frame{frame(t, lists)}}
		return toolview.NewDeriver(nil, nil, nil).View(p, above)
	}
	open, denied := view(toolview.Lists{}, nil), view(toolview.Lists{Deny: sel("code")}, nil)
	listed, other := toolview.Lists{Allow: [][]toolview.Selector{sel("CODE")}}, toolview.Lists{Allow: [][]toolview.Selector{sel("Read")}}
	require.True(t, open.Admits("CodeMiddleware", "code"))
	require.False(t, denied.Admits("CodeMiddleware", "code"))
	require.True(t, denied.Admits("CodeMiddleware", ""), "nothing is asked for")
	require.True(t, view(listed, open).Admits("CodeMiddleware", "code"))
	require.False(t, view(listed, denied).Admits("CodeMiddleware", "code"), "what is denied above stays so")
	require.False(t, view(other, open).Admits("CodeMiddleware", "code"))
	paused := toolview.NewDeriver(nil, nil, nil).View(&toolview.Policy{Paused: map[string]bool{"CodeMiddleware": true}}, nil)
	require.False(t, paused.Admits("CodeMiddleware", "code"))
	require.True(t, paused.Admits("OtherMiddleware", "code"))
}
