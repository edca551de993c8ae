package script_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
	"github.com/metaharness/peri/session/provider/script"
)

func TestScriptKeepsTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{Play: func(t testing.TB, _ providertest.Tuning, replies ...wire.Reply) providertest.Played {
		var steps []script.Step
		for _, r := range replies {
			step := script.Step{Text: r.Text}
			for _, c := range r.Calls {
				var args map[string]any
				require.NoError(t, json.Unmarshal([]byte(c.Args), &args))
				step.Calls = append(step.Calls, script.Call{Tool: c.Name, Args: args})
			}
			steps = append(steps, step)
		}
		return providertest.Played{Model: script.New(steps...).Model}
	}})
}
