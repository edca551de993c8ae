//go:build unix

package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fake is a server in one of several moods, of which the last is to do what it should:
//
//	hang      reads and never answers, and heeds no signal but the last
//	deaf      never reads
//	exit      ends at once, with a word on its standard error
//	noisy     prints lines between its messages that are none
//	flood     answers with a list of tools that never ends
//	stormy    says without end that its lists have changed
//	liar      has tools with schemas that are none, beside good ones
//	rename    has other tools after each call, and says so
//	stuck     says after each call that its tools have changed, and never lists them again
//	die       ends at a call of "die", and is well when it is started again
//	late      waits for a word before it begins
//	child     starts a program of its own, which outlives it if it may
func fake(mode string) {
	dir := os.Getenv("FAKE_DIR")
	_ = os.WriteFile(filepath.Join(dir, "pid-"+strconv.Itoa(os.Getpid())), nil, 0o600)
	switch mode {
	case "blab":
		fmt.Fprintf(os.Stderr, "no licence for %s or %s\x1b[31m\u009b31m\n", os.Getenv("FROM"), os.Getenv("API_KEY"))
		os.Exit(3)
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(3)
	case "deaf":
		time.Sleep(time.Hour)
	case "late":
		for _, err := os.Stat(filepath.Join(dir, "go")); err != nil; _, err = os.Stat(filepath.Join(dir, "go")) {
			time.Sleep(10 * time.Millisecond)
		}
	case "child":
		kid := exec.Command(os.Args[0])
		kid.Env = []string{"FAKE_SERVER=deaf", "FAKE_DIR=" + dir}
		kid.Stdout, kid.Stderr = os.Stdout, os.Stderr // so that its pipes stay open
		_ = kid.Start()
	case "hang":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		in := bufio.NewReader(os.Stdin)
		for {
			if _, err := in.ReadString('\n'); err != nil {
				time.Sleep(time.Hour)
			}
		}
	}
	f := &faker{mode: mode, dir: dir, out: bufio.NewWriter(os.Stdout)}
	f.serve()
}

type faker struct {
	mode, dir string
	out       *bufio.Writer
	calls     int
	asks      int
	mu        sync.Mutex // one message at a time
}

type rpc struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

func (f *faker) send(v any) {
	raw, _ := json.Marshal(v)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mode == "noisy" {
		fmt.Fprintln(f.out, "debug: about to send")
	}
	f.out.Write(append(raw, '\n'))
	f.out.Flush()
}

func (f *faker) answer(id json.RawMessage, result string) {
	f.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": json.RawMessage(result)})
}

func (f *faker) notify(method, params string) {
	f.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": json.RawMessage(params)})
}

func (f *faker) serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m rpc
		if json.Unmarshal(line, &m) != nil || m.Method == "" {
			continue
		}
		f.handle(in, &m)
	}
}

func (f *faker) handle(in *bufio.Reader, m *rpc) {
	switch m.Method {
	case "initialize":
		f.answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}`)
		if f.mode == "stormy" {
			go func() {
				for {
					f.notify("notifications/tools/list_changed", "{}")
				}
			}()
		}
	case "tools/list":
		if f.mode == "stuck" && f.calls > 0 {
			return
		}
		f.answer(m.ID, f.tools())
	case "prompts/list":
		f.answer(m.ID, `{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true},{"name":"how"}]}]}`)
	case "prompts/get":
		var p struct{ Arguments map[string]string }
		_ = json.Unmarshal(m.Params, &p)
		f.answer(m.ID, fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":"greet %s, %s"}},{"role":"user","content":{"type":"image","mimeType":"image/png","data":"AAEC"}}]}`, p.Arguments["who"], p.Arguments["how"]))
	case "tools/call":
		f.call(in, m)
	default:
		if m.ID != nil {
			f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
		}
	}
}

const plain = `{"name":"echo","description":"Echoes.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}}}}`

func (f *faker) tools() string {
	switch f.mode {
	case "flood":
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, `{"name":"t%d-%d","inputSchema":{"type":"object"}},`, f.calls, i)
		}
		f.calls++
		return fmt.Sprintf(`{"tools":[%s%s],"nextCursor":"c%d"}`, b.String(), plain, f.calls)
	case "liar":
		return `{"tools":[` + plain + `,
			{"name":"any","inputSchema":{"anyOf":[{"required":["a"]},{"required":["b"]}]}},
			{"name":"none"},
			null,
			{"name":5,"inputSchema":{"type":"object"}},
			{"name":"words","description":["no","text"],"inputSchema":{"type":"object"}},
			{"name":"nulls","inputSchema":{"type":"object","properties":null,"required":null}},
			{"name":"odd","inputSchema":{"type":"object","properties":{"e":{"enum":["a",null,1]}}},"outputSchema":{"properties":{"x":{}}}},
			{"name":"output","inputSchema":{"type":"object"},"outputSchema":"nonsense"},
			{"name":"text","inputSchema":"nonsense"},
			{"name":"array","inputSchema":{"type":"array"}},
			{"name":"typo","inputSchema":{"type":"objekt"}},
			{"name":"far","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}},
			{"name":"echo","description":"Twice.","inputSchema":{"type":"object"}},
			{"name":"","inputSchema":{"type":"object"}},
			{"name":"admin.tools/list","inputSchema":{"type":"object"}},
			{"name":"admin_tools_list","inputSchema":{"type":"object"}},
			{"name":"read-file","inputSchema":{"type":"object"}},
			{"name":"read_file","inputSchema":{"type":"object"}},
			{"name":"` + strings.Repeat("long", 20) + `","inputSchema":{"type":"object"}}]}`
	case "rename":
		return fmt.Sprintf(`{"tools":[%s,{"name":"v%d","inputSchema":{"type":"object"}}]}`, plain, f.calls)
	}
	var more string
	for _, name := range []string{"die", "sleep", "big", "progress", "ask", "mixed", "fail", "env", "search"} {
		more += fmt.Sprintf(`,{"name":"%s","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, name)
	}
	return `{"tools":[` + plain + more + `]}`
}

func (f *faker) call(in *bufio.Reader, m *rpc) {
	var p struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	f.calls++
	say := func(text string) {
		raw, _ := json.Marshal(text)
		f.answer(m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, raw))
	}
	switch p.Name {
	case "die":
		os.Exit(1)
	case "sleep":
		return // never
	case "big":
		say("HEAD" + strings.Repeat("x", 5<<20) + "TAIL")
	case "progress":
		f.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1,"total":2,"message":"half"}`, p.Meta.ProgressToken))
		say("done")
	case "mixed":
		f.answer(m.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("a", 30000)+`"},{"type":"image","mimeType":"image/png","data":"AAEC"},{"type":"text","text":"`+strings.Repeat("b", 30000)+`"},{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"resource","resource":{"uri":"mem://y","text":"inner"}}],"structuredContent":{"k":[1,2]}}`)
	case "fail":
		f.answer(m.ID, `{"isError":true,"content":[{"type":"text","text":"it did not work"}]}`)
	case "env":
		say(strings.Join(os.Environ(), "\n"))
	case "ask":
		f.asks++
		f.send(map[string]any{"jsonrpc": "2.0", "id": fmt.Sprintf("ask-%d", f.asks), "method": "elicitation/create", "params": json.RawMessage(
			`{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer"},"kind":{"type":"string","enum":["cat","dog"]},"sure":{"type":"boolean"}},"required":["name","age"]}}`)})
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			var r rpc
			if json.Unmarshal(line, &r) == nil && r.Method == "" {
				say(string(r.Result))
				return
			}
		}
	default:
		say(p.Name + " " + string(p.Arguments))
	}
	if f.mode == "rename" || f.mode == "stuck" {
		f.notify("notifications/tools/list_changed", "{}")
	}
}
