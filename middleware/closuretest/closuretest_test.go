package closuretest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/closuretest"
)

func TestThirdPartySuiteIsClosed(t *testing.T) {
	closuretest.Run(t, closuretest.Config{Middlewares: healthy(), Pairs: true})
}

func TestCheckFindsNothingInAHealthySuite(t *testing.T) {
	leaks, err := closuretest.Check(t.Context(), closuretest.Config{Middlewares: healthy(), Pairs: true})
	require.NoError(t, err)
	require.Empty(t, leaks)
}
