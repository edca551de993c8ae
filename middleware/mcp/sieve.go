package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sieve takes single entries out of a process's lists that have a field of a wrong type, for which the SDK would refuse the
// whole list.
type sieve struct {
	sdk.Transport
	lost func(what, why string)
}

// Connect is for the SDK's client.
func (s sieve) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := s.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return sifted{c, s.lost}, nil
}

type sifted struct {
	sdk.Connection
	lost func(what, why string)
}

// Read is for the SDK's client.
func (c sifted) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok && err == nil && r.Error == nil {
		r.Result = sift(r.Result, c.lost)
	}
	return m, err
}

// sift returns the result of a listing without the entries that cannot be read, and any other as it is.
func sift(result json.RawMessage, lost func(what, why string)) json.RawMessage {
	var lists struct{ Tools, Prompts json.RawMessage }
	if json.Unmarshal(result, &lists) != nil || lists.Tools == nil && lists.Prompts == nil {
		return result
	}
	whole := map[string]json.RawMessage{}
	if json.Unmarshal(result, &whole) != nil {
		return result
	}
	tools, prompts := readable[sdk.Tool](whole, "tools", lost), readable[sdk.Prompt](whole, "prompts", lost)
	if !tools && !prompts {
		return result
	}
	out, err := json.Marshal(whole)
	if err != nil {
		return result
	}
	return out
}

// readable takes the unreadable entries out of one list, and reports whether there were any.
func readable[T any](whole map[string]json.RawMessage, key string, lost func(what, why string)) bool {
	var list, kept []json.RawMessage
	if json.Unmarshal(whole[key], &list) != nil {
		return false
	}
	kept = []json.RawMessage{}
	for i, raw := range list {
		var v *T
		if err := json.Unmarshal(raw, &v); err != nil {
			lost(fmt.Sprintf("entry %d of its %s", i+1, key), err.Error())
			continue
		}
		kept = append(kept, raw)
	}
	if len(kept) == len(list) {
		return false
	}
	out, err := json.Marshal(kept)
	whole[key] = out
	return err == nil
}

// losses are the entries that a sieve took out since they were last asked for.
type losses struct {
	mu   sync.Mutex
	list [][2]string // what, why
}

func (l *losses) add(what, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := [2]string{what, why}; len(l.list) < most && !slices.Contains(l.list, one) {
		l.list = append(l.list, one)
	}
}

func (l *losses) taken() [][2]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.list
	l.list = nil
	return out
}
