package memory_test

import (
	"testing"

	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/store/memory"
	"github.com/metaharness/peri/session/store/storetest"
)

func TestMemoryKeepsJournals(t *testing.T) {
	storetest.Run(t, func(*testing.T) session.Store { return &memory.Store{} })
}
