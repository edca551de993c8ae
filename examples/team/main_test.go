package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTeamReviewsAtOnceInTheBackgroundAndByAWorkflow(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	turns := strings.Split(out.String(), "> ")
	require.Len(t, turns, 5)
	for i, want := range [][]string{
		1: {
			"## Task 1\ncorrectness: one finding.", "## Task 2\nsecurity: one finding.", "## Task 3\ntests: one finding.", "the findings hold.",
			"Reviewed at once.", "cost: 400 tokens in, 40 out", "answers so far: reviewer 3, verifier 1",
		},
		2: {
			"Started reviewer in the background as agent run team.5.", "correctness: one finding.\n[agent run team.5]",
			"reviewer did not finish: session: the turn was cancelled: the host cancelled this agent run\n[agent run team.6]",
			"tests: one finding.\n[agent run team.7]", "the findings hold.\n[agent run team.8]",
			"Reviewed in the background.", "cost: 300 tokens in, 30 out", "answers so far: reviewer 5, verifier 2",
		},
		3: {"stopped", "answers so far: reviewer 8, verifier 2"},
		4: {"the findings hold.\n[workflow run ", ": 4 agents]", "Reviewed by a workflow.", "answers so far: reviewer 8, verifier 3"},
	} {
		for _, text := range want {
			require.Contains(t, turns[i], text, "turn %d", i)
		}
	}
	require.NotContains(t, turns[3], "Reviewed by a workflow.", "it was stopped")
}
