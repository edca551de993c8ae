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
	t := &terminal{in: p.in, out: p.err}
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

// terminal puts requests and questions to a person, one at a time. An end of input refuses.
type terminal struct {
	in   io.Reader
	out  io.Writer
	once sync.Once
	line chan string // closed at the end of input
}

// read returns the next line, or why there is none. What a person types while nothing is asked answers the next request.
func (t *terminal) read(ctx context.Context) (string, error) {
	t.once.Do(func() {
		t.line = make(chan string)
		go func() {
			defer close(t.line)
			for s := bufio.NewScanner(t.in); s.Scan(); {
				t.line <- s.Text()
			}
		}()
	})
	select {
	case s, ok := <-t.line:
		if !ok {
			return "", io.EOF
		}
		return strings.TrimSpace(s), nil
	case <-ctx.Done():
		return "", ctx.Err()
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
		fmt.Fprint(t.out, "A number, your own words, or nothing to decline: ")
		answer, err := t.read(ctx)
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
