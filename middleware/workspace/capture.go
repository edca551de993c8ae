package workspace

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

// keptWhole bounds the file that keeps one long output, in bytes.
const keptWhole = 64 << 20

// capture takes one output stream of a command. What is longer than most goes to a file, and its head and tail stay in
// memory. It is safe for concurrent use; a Write never fails, since that would stop the command.
type capture struct {
	kind  string // the stream's name
	most  int
	spill *spill

	mu    sync.Mutex
	all   []byte // the whole output while it is short; its head afterwards
	tail  []byte
	total int64
	file  *os.File
	lost  error // why the file does not hold the whole
	done  bool
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return len(p), nil
	}
	c.total += int64(len(p))
	if c.file == nil && c.lost == nil && c.total <= int64(c.most) {
		c.all = append(c.all, p...)
		return len(p), nil
	}
	if c.file == nil && c.lost == nil {
		c.keep()
		c.tail = append(c.tail, c.all[min(len(c.all), c.half()):]...)
		c.all = c.all[:min(len(c.all), c.half())]
	}
	c.save(p)
	if room := c.half() - len(c.all); room > 0 && len(c.tail) == 0 {
		n := min(room, len(p))
		c.all, p = append(c.all, p[:n]...), p[n:]
		c.roll(p)
		return len(p) + n, nil
	}
	c.roll(p)
	return len(p), nil
}

func (c *capture) half() int { return c.most / 2 }

// roll appends to the tail and drops what is no longer of it, seldom enough to cost nothing.
func (c *capture) roll(p []byte) {
	if len(p) > c.half() {
		p, c.tail = p[len(p)-c.half():], c.tail[:0]
	}
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - c.half(); over > c.half() {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// keep begins the file with what there is so far.
func (c *capture) keep() {
	f, err := c.spill.create(c.kind)
	if err != nil {
		c.lost = err
		return
	}
	c.file = f
	if _, err := f.Write(c.all); err != nil {
		c.lost = err
	}
}

func (c *capture) save(p []byte) {
	if c.lost != nil {
		return
	}
	if c.total > keptWhole {
		c.lost = fmt.Errorf("it holds the first %d MiB", keptWhole>>20)
		return
	}
	if _, err := c.file.Write(p); err != nil {
		c.lost = err
	}
}

// finish ends the capture and returns what is shown of it in about n bytes, and the file that keeps the whole.
func (c *capture) finish(n int) (shown, file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	if c.total <= int64(n) && c.file == nil && c.lost == nil {
		return strings.ToValidUTF8(string(c.all), "\uFFFD"), ""
	}
	if c.file == nil && c.lost == nil {
		c.keep()
	}
	if c.file != nil {
		if err := c.file.Close(); err != nil && c.lost == nil {
			c.lost = err
		}
		file = c.file.Name()
	}
	head, tail := c.all, c.tail
	if len(tail) == 0 {
		tail = head
	}
	half := n / 2
	head, tail = head[:min(len(head), half)], tail[max(0, len(tail)-half):]
	where := "the whole is in " + file
	switch {
	case file == "":
		where = fmt.Sprintf("the whole could not be kept: %v", c.lost)
	case c.lost != nil:
		where = fmt.Sprintf("see %s (%v)", file, c.lost)
	}
	left := c.total - int64(len(head)) - int64(len(tail))
	return begin(head) + fmt.Sprintf("\n[… %d of %d bytes left out; %s …]\n", left, c.total, where) + end(tail), file
}

// size is how much came.
func (c *capture) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// whole drops the half of a character at the end of something that was cut.
func whole(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if r := b[len(b)-i:]; utf8.RuneStart(r[0]) {
			if !utf8.FullRune(r) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// begin is valid text from the beginning of something that was cut.
func begin(b []byte) string { return strings.ToValidUTF8(string(whole(b)), "\uFFFD") }

// end is valid text from the end of something that was cut, without the half of a character at its beginning.
func end(b []byte) string {
	for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// shorten is the head and the tail of a text of which nothing else is kept.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := s[:n/2], s[len(s)-n/2:]
	return begin([]byte(head)) + fmt.Sprintf("\n[… %d of %d bytes left out …]\n", len(s)-len(head)-len(tail), len(s)) + end([]byte(tail))
}

// ring holds the newest bytes of an output until somebody takes them. It is safe for concurrent use.
type ring struct {
	most int

	mu   sync.Mutex
	buf  []byte
	lost int64
}

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if len(p) > r.most {
		r.lost += int64(len(r.buf) + len(p) - r.most)
		p, r.buf = p[len(p)-r.most:], r.buf[:0]
	}
	r.buf = append(r.buf, p...)
	if over := len(r.buf) - r.most; over > 0 {
		r.lost += int64(over)
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
	return n, nil
}

// take returns what came since the last time.
func (r *ring) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := end(r.buf)
	if r.lost > 0 {
		out = fmt.Sprintf("[… %d older bytes were dropped …]\n", r.lost) + out
	}
	r.buf, r.lost = r.buf[:0], 0
	return out
}
