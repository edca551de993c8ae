//go:build !external

package config_test

// How often the slow tests of editing do their work; the whole numbers are those of the tag external. The edits of one
// process are odd, so that the last one closes.
const (
	concurrentEdits = 9
	crashes         = 25
	crashSpread     = 30_000
)
