// Package presence shows a team's tests of what its agents have and what they must not have: see presence_test.go.
package presence
