package session

import "sync"

// waking wakes whoever waits, all at once. The zero value is ready.
type waking struct {
	mu sync.Mutex
	c  chan struct{}
}

// wait is closed by the next wake.
func (w *waking) wait() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c == nil {
		w.c = make(chan struct{})
	}
	return w.c
}

// wake may be called from any goroutine, and never blocks.
func (w *waking) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c != nil {
		close(w.c)
		w.c = nil
	}
}
