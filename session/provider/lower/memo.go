package lower

import (
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// Form is how one API writes a request.
type Form interface {
	// Head is all that stands before the messages. It depends on the view and the system prompt alone.
	Head(r *middleware.Request) []byte
	// Message appends m behind prev (nil = it is the first), and returns where in dst the form's mark can go to end a cached
	// prefix with it; -1 = nowhere. It may reopen the closing bytes of prev.
	Message(dst []byte, prev, m *message.Message) ([]byte, int)
	// Mark is what ends a cached prefix; "" = the API has no such thing.
	Mark() string
}

// Memo remembers what was written for each view, for as long as the view lives, so that a step costs what is new in it.
// The zero value is ready; it is safe for concurrent use and not to be copied.
type Memo struct {
	mu    sync.Mutex
	known map[weak.Pointer[toolview.View]]*written
}

// written is the request of one view so far.
type written struct {
	mu       sync.Mutex
	system   []prompt.Block
	head     []byte
	messages []*message.Message
	body     []byte
	marks    []int // of each message, in body
}

// Write returns the head and the messages of a request, marked, with room for about spare bytes more. The caller owns it.
func (m *Memo) Write(r *middleware.Request, f Form, spare int) []byte {
	w := m.of(r.View)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head == nil || !same(w.system, r.System) {
		w.head, w.system = f.Head(r), r.System
	}
	w.write(r.Messages, f)
	mark := f.Mark()
	out := make([]byte, 0, len(w.head)+len(w.body)+2*len(mark)+spare)
	out = append(out, w.head...)
	if len(w.body) > 0 {
		out = Next(out)
	}
	from := 0
	if mark != "" {
		for _, at := range ends(r.Messages, w.marks) {
			out = append(append(out, w.body[from:at]...), mark...)
			from = at
		}
	}
	return append(out, w.body[from:]...)
}

func (w *written) write(h []*message.Message, f Form) {
	if n := len(w.messages); n > len(h) || !slices.Equal(w.messages, h[:n]) {
		w.messages, w.body, w.marks = w.messages[:0], w.body[:0], w.marks[:0]
	}
	var prev *message.Message
	if n := len(w.messages); n > 0 {
		prev = w.messages[n-1]
	}
	for _, m := range h[len(w.messages):] {
		var at int
		w.body, at = f.Message(w.body, prev, m)
		w.messages, w.marks = append(w.messages, m), append(w.marks, at)
		prev = m
	}
}

// ends returns where the marks go: behind what the last request ended with, so that what it wrote is read, and behind
// the last message, so that the next one can read this.
func ends(h []*message.Message, marks []int) []int {
	answer := len(h) - 1
	for answer >= 0 && h[answer].Role != message.Assistant {
		answer--
	}
	var at []int
	for _, end := range []int{answer, len(h)} {
		for i := end - 1; i >= 0; i-- {
			if marks[i] >= 0 {
				if len(at) == 0 || at[0] != marks[i] {
					at = append(at, marks[i])
				}
				break
			}
		}
	}
	return at
}

func (m *Memo) of(v *toolview.View) *written {
	key := weak.Make(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	if w, ok := m.known[key]; ok {
		return w
	}
	if m.known == nil {
		m.known = map[weak.Pointer[toolview.View]]*written{}
	}
	w := &written{}
	m.known[key] = w
	if v != nil {
		runtime.AddCleanup(v, m.forget, key)
	}
	return w
}

func (m *Memo) forget(key weak.Pointer[toolview.View]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// same reports whether two prompts are one: a prompt is immutable, so its first block says which it is.
func same(a, b []prompt.Block) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
