package offline_test

import (
	"strings"
	"testing"

	"github.com/metaharness/peri/session/provider/offline"
	"github.com/metaharness/peri/session/provider/providertest"
	"github.com/metaharness/peri/session/provider/providertest/wire"
)

func TestOfflineKeepsTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{Inexact: true, Play: func(_ testing.TB, _ providertest.Tuning, replies ...wire.Reply) providertest.Played {
		var lines []string
		if len(replies) > 0 {
			for _, c := range replies[0].Calls {
				lines = append(lines, "call "+c.Name+" "+c.Args)
			}
		}
		return providertest.Played{Model: offline.Model, Prompt: strings.Join(lines, "\n")}
	}})
}
