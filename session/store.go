package session

import (
	"context"
	"errors"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Store keeps journals. It is safe for concurrent use by any number of sessions.
type Store interface {
	// Append adds entries to the end of a session's journal, all or none. Entries are not changed afterwards, by
	// either side.
	Append(ctx context.Context, id string, entries ...Entry) error
	// Load returns a journal from its beginning, or ErrNotFound.
	Load(ctx context.Context, id string) ([]Entry, error)
	// List returns the ids of all sessions, children included, sorted.
	List(ctx context.Context) ([]string, error)
}

// ErrNotFound is what a store answers for an id that it does not know.
var ErrNotFound = errors.New("session: not found")

// EntryKind says which fields of an Entry count.
type EntryKind string

const (
	// Created is the first entry: Frozen; of a child also its Parent, the Spawn that made it, and how many of its parent's
	// messages it began From.
	Created EntryKind = "created"
	// Happened carries an event: a prompt, a reply, a result, the end of a turn.
	Happened EntryKind = "event"
	// Ordered carries Names, the wire order of the direct tools.
	Ordered EntryKind = "order"
	// Kept carries a middleware's value: Owner, Key, Data.
	Kept EntryKind = "value"
	// Switched carries what the host set: Host.
	Switched EntryKind = "host"
)

// Entry is one line of a journal. It marshals to JSON and back.
type Entry struct {
	Kind   EntryKind       `json:"kind"`
	Event  *message.Event  `json:"event,omitempty"`
	Frozen *Frozen         `json:"frozen,omitempty"`
	Host   *Switches       `json:"host,omitempty"`
	Parent string          `json:"parent,omitempty"`
	Spawn  *toolview.Spawn `json:"spawn,omitempty"`
	From   int             `json:"from,omitempty"`
	Names  []string        `json:"names,omitempty"`
	Owner  string          `json:"owner,omitempty"`
	Key    string          `json:"key,omitempty"`
	Data   []byte          `json:"data,omitempty"`
}
