//go:build unix

package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tests' own program is their language server: how it behaves stands in the environment.
const behaviour = "PERI_FAKE_LANGUAGE_SERVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(behaviour); how != "" {
		serve(how)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// serve speaks the protocol, as far as its behaviour lets it.
func serve(how string) {
	mode, file, _ := strings.Cut(how, ":")
	if f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, os.Getpid())
		if mode == "child" {
			c := exec.Command("sleep", "300")
			_ = c.Start()
			fmt.Fprintln(f, c.Process.Pid)
		}
		f.Close()
	}
	fmt.Fprintln(os.Stderr, "fake server here")
	switch mode {
	case "mute":
		time.Sleep(time.Hour)
	case "deaf":
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Hour) // the end of its input does not end it either
	case "exits":
		os.Exit(3)
	case "flood":
		for {
			fmt.Print("junk without an end ")
		}
	case "huge":
		fmt.Print("Content-Length: 99999999999\r\n\r\n")
		time.Sleep(time.Hour)
	case "junk":
		fmt.Print("listening on nothing\nContent-Type: x\n")
	}
	r := bufio.NewReader(os.Stdin)
	text := ""
	for {
		size := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			if line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				size, _ = strconv.Atoi(v)
			}
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return
		}
		var in incoming
		_ = json.Unmarshal(data, &in)
		if mode == "dies" && in.Method == "textDocument/definition" {
			if b, _ := os.ReadFile(file); strings.Count(string(b), "\n") < 2 {
				os.Exit(1) // the first of them only
			}
		}
		if mode == "hangs" && in.Method == "textDocument/definition" {
			continue
		}
		answer(in, &text)
		if in.Method == "exit" {
			return
		}
	}
}

func send(v any) {
	b, _ := json.Marshal(v)
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(b), b)
}

func answer(in incoming, text *string) {
	var p struct {
		TextDocument struct{ URI, Text string }
		Position     map[string]int
	}
	_ = json.Unmarshal(in.Params, &p)
	var result any
	at := map[string]any{"start": p.Position, "end": p.Position}
	switch in.Method {
	case "initialize":
		result = map[string]any{"capabilities": map[string]any{}}
	case "textDocument/didOpen":
		*text = p.TextDocument.Text
		send(map[string]any{"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": map[string]any{
			"uri": p.TextDocument.URI, "version": 1, "diagnostics": []any{map[string]any{
				"range": map[string]any{"start": map[string]int{"line": 1, "character": 3}}, "severity": 2, "message": "odd\nname", "source": "fake",
			}},
		}})
		return
	case "textDocument/definition":
		result = map[string]any{"uri": p.TextDocument.URI, "range": at}
	case "textDocument/references":
		result = []any{
			map[string]any{"uri": "file:///etc/passwd", "range": map[string]any{"start": map[string]int{"line": 0, "character": 0}}},
			map[string]any{"uri": p.TextDocument.URI, "range": at},
		}
	case "textDocument/hover":
		result = map[string]any{"contents": map[string]any{"kind": "markdown", "value": "func f()"}}
	case "textDocument/documentSymbol":
		result = []any{map[string]any{"name": "f", "kind": 12, "selectionRange": map[string]any{"start": map[string]int{"line": 1, "character": 3}}}}
	}
	if len(in.ID) > 0 {
		send(map[string]any{"jsonrpc": "2.0", "id": in.ID, "result": result})
	}
}
