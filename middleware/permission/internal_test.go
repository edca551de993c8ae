package permission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

func TestAnInternalToolsWriteOfAnAgentFileIsJudgedAsAnEditOfIt(t *testing.T) {
	quiet := call(t, tool("Make", toolview.Internal), pathArgs{})
	saving := call(t, tool("Make", toolview.Internal), pathArgs{Path: ".peri/agents/x.md", Edit: true})
	for _, c := range []struct {
		name string
		o    Options
		want middleware.Decision
	}{
		{"default", Options{}, ask},
		{"edits are accepted", Options{Mode: "acceptEdits"}, ask},
		{"plan", Options{Mode: "plan"}, deny},
		{"nobody to ask", Options{Mode: "dontAsk"}, deny},
		{"bypass", Options{Mode: "bypass"}, allow},
		{"edits are allowed", Options{Allow: rules("Edit(**)")}, ask},
		{"the tool is allowed", Options{Allow: rules("Make")}, ask},
		{"edits are denied", Options{Mode: "bypass", Deny: rules("Edit")}, deny},
		{"edits there are denied", Options{Mode: "bypass", Deny: rules("Edit(.peri/**)")}, deny},
		{"edits elsewhere are denied", Options{Mode: "bypass", Deny: rules("Edit(src/**)")}, allow},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := opened(t, c.o)
			require.Equal(t, allow, judge(t, in, quiet).Decision, "without a file it is the session's own affair")
			v := judge(t, in, saving)
			require.Equal(t, c.want, v.Decision, v.Reason)
			require.Empty(t, v.Grants, "it is asked every time")
		})
	}
}
