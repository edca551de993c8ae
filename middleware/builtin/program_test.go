package builtin_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/middleware/closuretest"
	"github.com/metaharness/peri/middleware/ptc"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/subagent/workflow"
	"github.com/metaharness/peri/toolview/program"
)

// ways are the calls by which a program or a script names a tool.
func ways(tool string) []closuretest.Way {
	way := func(of, argument, text string) closuretest.Way {
		args, err := json.Marshal(map[string]string{argument: text})
		if err != nil {
			panic(err)
		}
		return closuretest.Way{Tool: of, Args: string(args)}
	}
	out := []closuretest.Way{
		way(ptc.Tool, "code", `call("`+tool+`")`),
		way(ptc.Tool, "code", `help("`+tool+`")`),
	}
	// A name that a program could not write, or that the language has taken, is not called by itself.
	if program.Legal(tool) {
		out = append(out, way(ptc.Tool, "code", tool+"()"), way(workflow.Tool, "script", tool+"()"))
	}
	return out
}

func TestAProgramNamesAToolInEveryWay(t *testing.T) {
	require.Len(t, ways("Read"), 4)
	require.Len(t, ways("list"), 2, "the language has a function of that name")
	require.Equal(t, closuretest.Way{Tool: "RunCode", Args: `{"code":"Read()"}`}, ways("Read")[2])
}

func TestWorkflowsAreWithinTheLimitsOfDelegation(t *testing.T) {
	suite, err := builtin.Suite(builtin.Options{SubAgent: subagent.Options{Depth: -1, Multitask: 2}})
	require.NoError(t, err)
	m, ok := suite.Lookup(workflow.Name)
	require.True(t, ok)
	require.JSONEq(t, `{"depth":-1,"multitask":2}`, string(m.Policy))
}
