package openapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
)

// A session keeps the documents that it was made with: what somebody does to a file, or what a server says later, is for
// the next session. A resumed one could otherwise be given operations, and a server for its credentials, that nobody had
// agreed to.

func (s *source) key() string { return "document " + s.Name }

// kept is the document of a resumed session, if it had one.
func (s *source) kept(ctx context.Context) ([]byte, bool) {
	if !s.all.resumed || s.all.store == nil {
		return nil, false
	}
	packed, ok, err := s.all.store.Load(ctx, s.key())
	if err != nil || !ok {
		return nil, false
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDocument))
	return data, err == nil
}

// keep stores a document that could be read, as soon as the session has begun: what is opened only to be looked at leaves
// nothing behind.
func (s *source) keep(ctx context.Context, data []byte) {
	s.all.mu.Lock()
	begun := s.all.begun
	if !begun {
		s.unkept = data
	}
	s.all.mu.Unlock()
	if begun {
		s.save(ctx, data)
	}
}

// begin runs before the first turn.
func (s *session) begin(ctx context.Context) error {
	s.mu.Lock()
	s.begun = true
	unkept := make([][]byte, len(s.sources))
	for i, one := range s.sources {
		unkept[i], one.unkept = one.unkept, nil
	}
	s.mu.Unlock()
	for i, data := range unkept {
		if data != nil {
			s.sources[i].save(ctx, data)
		}
	}
	return nil
}

func (s *source) save(ctx context.Context, data []byte) {
	if s.all.store == nil {
		return
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = s.all.store.Save(ctx, s.key(), b.Bytes())
	}
	if err != nil && ctx.Err() == nil {
		s.all.notice(fmt.Sprintf("openapi: %s: the document could not be kept with the session: %v", s.Name, err))
	}
}
