package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	defaultTimeout = 60 * time.Second
	endTimeout     = 5 * time.Second // of SessionEnd, for which nobody wants to wait
	mostOutput     = 1 << 20         // bytes of output that are read
	grace          = time.Second     // how long what a killed hook had started may hold its output open
)

// errBlocked is what exit code 2 means: refused, for the reason on standard error.
type errBlocked struct{ reason string }

func (e errBlocked) Error() string { return e.reason }

// run tells one hook of an event and returns what it answered. It takes no longer than the hook's own timeout.
func (s *state) run(ctx context.Context, h *compiled, payload []byte) (said, error) {
	limit := defaultTimeout
	if h.Event == SessionEnd {
		limit = endTimeout
	}
	if h.Timeout > 0 {
		limit = time.Duration(h.Timeout * float64(time.Second))
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var raw []byte
	var err error
	switch h.Type {
	case "http":
		raw, err = s.post(timed, h, payload)
	case "prompt":
		err = errors.New("prompt hooks are not run by this version")
	default:
		raw, err = s.command(timed, h, payload)
	}
	switch {
	case ctx.Err() != nil:
		return said{}, fmt.Errorf("was stopped: %w", ctx.Err())
	case errors.Is(timed.Err(), context.DeadlineExceeded):
		return said{}, fmt.Errorf("gave no answer within %s", limit)
	case err != nil:
		return said{}, err
	}
	context := h.Event == UserPromptSubmit || h.Event == SessionStart || h.Event == SubagentStart
	return read(h.Event, raw, !context && decides(h.Event))
}

// command runs a shell command in the project's folder, with the event on its standard input. An agent with a folder of
// its own gets the same: there it could change the very script that guards it.
func (s *state) command(ctx context.Context, h *compiled, payload []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", h.Command)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "CLAUDE_PROJECT_DIR="+s.root, "PERI_PROJECT_DIR="+s.root)
	cmd.Env = append(cmd.Env, h.Env...)
	cmd.Stdin = bytes.NewReader(payload)
	var stdout, stderr bounded
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = grace
	lead(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 2:
		return nil, errBlocked{orElse(strings.TrimSpace(string(stderr.kept)), "it gave no reason")}
	case errors.As(err, &exit):
		return nil, fmt.Errorf("ended with %s: %s", exit, orElse(short(stderr.kept), "it said nothing"))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("did not run: %w", err)
	case stdout.over:
		return nil, fmt.Errorf("printed more than %d bytes", mostOutput)
	}
	return stdout.kept, nil
}

// bounded keeps the beginning of what is written.
type bounded struct {
	kept []byte
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), mostOutput-len(b.kept))
	b.over = b.over || room < len(p)
	b.kept = append(b.kept, p[:room]...)
	return len(p), nil
}

// post sends the event to a server. It follows no redirection: what is sent is for the one who was named.
func (s *state) post(ctx context.Context, h *compiled, payload []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		req.Header.Set(name, value)
	}
	res, err := s.web.Do(req)
	if err != nil {
		return nil, fmt.Errorf("could not be reached: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, mostOutput+1))
	switch {
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, fmt.Errorf("answered %s", res.Status)
	case err != nil:
		return nil, fmt.Errorf("broke off its answer: %w", err)
	case len(body) > mostOutput:
		return nil, fmt.Errorf("answered more than %d bytes", mostOutput)
	}
	return body, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
