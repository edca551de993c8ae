package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is a server that this session started. It leads a group, and its end is the end of all that it started.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr tail
	noise  tail          // what it wrote between messages
	exited chan struct{} // closed when it has ended
	ending sync.Once
	grace  time.Duration
}

// inherited are the variables that a server gets of the program's: what a program needs to run, and no keys.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY",
	"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE",
	"SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
	"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
}

// environment is what a server is started with: little of the program's, and what its settings add.
func environment(add map[string]string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			out = append(out, kv)
		}
	}
	for name, value := range add {
		out = append(out, name+"="+value)
	}
	return out // the later of two holds
}

// start runs a server in dir.
func start(s *Server, dir string, grace time.Duration) (*process, error) {
	path, err := exec.LookPath(s.Command)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPermanent, err)
	}
	p := &process{exited: make(chan struct{}), grace: grace}
	p.cmd = &exec.Cmd{Path: path, Args: append([]string{s.Command}, s.Args...), Dir: dir, Env: environment(s.Env), Stderr: &p.stderr, WaitDelay: grace}
	lead(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, p.stdin.Close())
	}
	p.stdout, p.cmd.Stdout = out, in
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, p.stdin.Close(), in.Close(), out.Close())
	}
	_ = in.Close() // the server has its own
	go func() {
		_ = p.cmd.Wait() // how it ended is not what counts, but that it did
		end(p.cmd)
		// What it said last is still to be read; whoever else holds the pipe is not waited for.
		time.AfterFunc(grace, func() { _ = p.stdout.Close() })
		close(p.exited)
	}()
	return p, nil
}

// close ends the server: first its input, as the protocol wants it, then by force. It returns when the process has ended.
func (p *process) close() {
	p.ending.Do(func() {
		_ = p.stdin.Close()
		if p.waits() {
			return
		}
		ask(p.cmd)
		if p.waits() {
			return
		}
		end(p.cmd)
	})
	<-p.exited
	_ = p.stdout.Close()
}

func (p *process) waits() bool {
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// said is what the server wrote to its standard error last, for an error's text.
func (p *process) said() string {
	text := strings.TrimSpace(p.stderr.String())
	if text == "" {
		text = strings.TrimSpace(p.noise.String())
	}
	return text
}

// maxMessage is how long one message of a server may be.
const maxMessage = 64 << 20

// messages are the lines of a server's output that are messages. Others, which some servers print by mistake, are dropped.
type messages struct {
	p    *process
	in   *bufio.Reader
	rest []byte
}

func (p *process) messages() *messages {
	return &messages{p: p, in: bufio.NewReaderSize(p.stdout, 1<<16)}
}

func (m *messages) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if first := bytes.TrimLeft(line, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
			m.rest = line
		} else if len(first) > 0 {
			_, _ = m.p.noise.Write(line)
		}
		if err != nil && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxMessage {
			return nil, fmt.Errorf("a message of more than %d bytes", maxMessage)
		}
	}
}

func (m *messages) Close() error { return m.p.stdout.Close() }

// input is the server's standard input; to close it is to end the server, in its own time.
type input struct{ p *process }

func (i input) Write(b []byte) (int, error) { return i.p.stdin.Write(b) }
func (i input) Close() error                { return i.p.stdin.Close() }

// tail keeps the last few KiB that were written. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-tailSize):]...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.buf), "")
}

// closing runs f and gives it until ctx ends.
func closing(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
