//go:build external

package config_test

const (
	concurrentEdits = 201
	crashes         = 1000
	crashSpread     = 30_000
)
