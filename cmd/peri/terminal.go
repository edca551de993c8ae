package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/metaharness/peri/toolview"
)

// people are whoever sits at the terminal; nobody when stdin is none.
func (p *program) people() people {
	if !isTerminal(p.in) {
		return people{}
	}
	in := p.in
	t := &terminal{in: in, out: p.err, flush: func() { flushInput(in) }}
	return people{t, t}
}

// isTerminal reports whether a file is a terminal: a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// terminal puts requests and questions to a person, one at a time. An end of input refuses, and what was typed before a
// question was shown answers nothing.
type terminal struct {
	in    io.Reader
	out   io.Writer
	flush func() // drops what waits in front of in; nil = nothing can

	once  sync.Once
	ended chan struct{} // closed at the end of input
	mu    sync.Mutex
	asked chan string // takes the next line; nil while nothing is asked
}

// ask shows a question and returns the next line that is typed, or why there is none.
func (t *terminal) ask(ctx context.Context, question string) (string, error) {
	if t.flush != nil {
		t.flush()
	}
	line := make(chan string, 1)
	t.expect(line)
	defer t.expect(nil)
	t.once.Do(func() {
		t.ended = make(chan struct{})
		go t.listen()
	})
	fmt.Fprint(t.out, question)
	select {
	case s := <-line:
		return strings.TrimSpace(s), nil
	case <-t.ended:
		select { // the last line and the end may have come together
		case s := <-line:
			return strings.TrimSpace(s), nil
		default:
			return "", io.EOF
		}
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (t *terminal) expect(line chan string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = line
}

// listen hands every line to the question that waits for one, and drops what nobody asked for.
func (t *terminal) listen() {
	defer close(t.ended)
	for s := bufio.NewScanner(t.in); s.Scan(); {
		t.mu.Lock()
		if t.asked != nil {
			t.asked <- s.Text()
			t.asked = nil
		}
		t.mu.Unlock()
	}
}

// Ask puts questions one after another: a number, several with commas, or words of one's own.
func (t *terminal) Ask(ctx context.Context, q toolview.Question) (toolview.Answer, error) {
	var a toolview.Answer
	for _, item := range q.Questions {
		fmt.Fprintf(t.out, "\n%s\n", printable(item.Question))
		for i, o := range item.Options {
			line := fmt.Sprintf("  %d  %s", i+1, o.Label)
			if o.Description != "" {
				line += ": " + o.Description
			}
			fmt.Fprintln(t.out, printable(line))
		}
		answer, err := t.ask(ctx, "A number, your own words, or nothing to decline: ")
		if err != nil {
			return a, unanswered(err)
		}
		if answer == "" {
			return toolview.Answer{Declined: true}, nil
		}
		a.Chosen = append(a.Chosen, chosen(item, answer))
	}
	return a, nil
}

func chosen(item toolview.Item, answer string) []string {
	var out []string
	for word := range strings.SplitSeq(answer, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(item.Options) || len(out) > 0 && !item.Multiple {
			return []string{answer}
		}
		out = append(out, item.Options[n-1].Label)
	}
	return out
}

func unanswered(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the terminal was closed before there was an answer")
	}
	return err
}
