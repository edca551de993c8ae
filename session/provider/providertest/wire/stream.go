package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
)

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// pieces cuts a text as streams do: at no particular place, but between runes.
func pieces(s string) []string {
	const size = 7
	var out []string
	piece := ""
	for _, r := range s {
		if piece += string(r); len(piece) >= size {
			out, piece = append(out, piece), ""
		}
	}
	if piece != "" {
		out = append(out, piece)
	}
	return out
}

func (r *Reply) stop() string {
	switch {
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return "tool_use"
	}
	return "end"
}

func (s *Server) sign(kind string, n int) string {
	sig := kind + "-" + strconv.Itoa(n) + "=="
	s.issued[sig] = true
	return sig
}

func (s *Server) messagesStream(r Reply, n int) []string {
	u := r.Usage
	out := []string{
		event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-wire","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}}`,
			n, u.Input-u.CacheRead-u.CacheWrite, u.CacheWrite, u.CacheRead)),
		event("ping", `{"type":"ping"}`),
	}
	index := 0
	block := func(start string, deltas ...string) {
		out = append(out, event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)))
		for _, d := range deltas {
			out = append(out, event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)))
		}
		out = append(out, event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)))
		index++
	}
	if r.Reasoning != "" {
		var d []string
		for _, p := range pieces(r.Reasoning) {
			d = append(d, `{"type":"thinking_delta","thinking":`+quote(p)+`}`)
		}
		d = append(d, `{"type":"signature_delta","signature":`+quote(s.sign("sig", n))+`}`)
		block(`{"type":"thinking","thinking":"","signature":""}`, d...)
	}
	if r.Hidden {
		block(`{"type":"redacted_thinking","data":` + quote(s.sign("hidden", n)) + `}`)
	}
	if r.Text != "" {
		var d []string
		for _, p := range pieces(r.Text) {
			d = append(d, `{"type":"text_delta","text":`+quote(p)+`}`)
		}
		block(`{"type":"text","text":""}`, d...)
	}
	for i, c := range r.Calls {
		d := []string{`{"type":"input_json_delta","partial_json":""}`}
		for _, p := range pieces(c.Args) {
			d = append(d, `{"type":"input_json_delta","partial_json":`+quote(p)+`}`)
		}
		block(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.id("toolu_", n, i)), quote(c.Name)), d...)
	}
	if r.Fail != "" {
		return append(out, event("error", fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":"it failed"}}`, quote(r.Fail))))
	}
	reason := map[string]string{"end": "end_turn", "tool_use": "tool_use", "length": "max_tokens", "refusal": "refusal"}[r.stop()]
	return append(out,
		event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`, quote(reason), u.Output)),
		event("message_stop", `{"type":"message_stop"}`))
}

func (c *Call) id(prefix string, n, i int) string {
	if c.ID != "" {
		return c.ID
	}
	return id(prefix, n, i)
}

// script collects the events of a Responses stream, numbered.
type script struct {
	out []string
	seq int
}

func (s *script) add(kind, fields string) {
	s.out = append(s.out, event(kind, fmt.Sprintf(`{"type":%s,"sequence_number":%d%s}`, quote(kind), s.seq, fields)))
	s.seq++
}

func (s *Server) responsesStream(r Reply, n int) []string {
	e := &script{}
	e.add("response.created", fmt.Sprintf(`,"response":{"id":"resp_%d","object":"response","status":"in_progress","output":[]}`, n))
	e.add("response.in_progress", fmt.Sprintf(`,"response":{"id":"resp_%d","object":"response","status":"in_progress","output":[]}`, n))
	var output []string
	item := func(added, done string, deltas func(at string)) {
		at := fmt.Sprintf(`,"output_index":%d`, len(output))
		e.add("response.output_item.added", at+`,"item":`+added)
		deltas(at)
		e.add("response.output_item.done", at+`,"item":`+done)
		output = append(output, done)
	}
	if r.Reasoning != "" || r.Hidden {
		id, enc := id("rs_", n, 0), s.sign("enc", n)
		summary := ""
		if r.Reasoning != "" {
			summary = `{"type":"summary_text","text":` + quote(r.Reasoning) + `}`
		}
		item(`{"type":"reasoning","id":"`+id+`","summary":[]}`,
			`{"type":"reasoning","id":"`+id+`","summary":[`+summary+`],"encrypted_content":"`+enc+`"}`, func(at string) {
				for _, p := range pieces(r.Reasoning) {
					e.add("response.reasoning_summary_text.delta", at+`,"item_id":"`+id+`","summary_index":0,"delta":`+quote(p))
				}
			})
	}
	status := "completed"
	if r.stop() == "length" {
		status = "incomplete"
	}
	if r.Text != "" {
		id, kind, name := id("msg_", n, 0), "output_text", "text"
		if r.Stop == "refusal" {
			kind, name = "refusal", "refusal"
		}
		part := `{"type":"` + kind + `","` + name + `":` + quote(r.Text) + `,"annotations":[]}`
		item(`{"type":"message","id":"`+id+`","role":"assistant","status":"in_progress","content":[]}`,
			`{"type":"message","id":"`+id+`","role":"assistant","status":"`+status+`","content":[`+part+`]}`, func(at string) {
				for _, p := range pieces(r.Text) {
					e.add("response."+kind+".delta", at+`,"item_id":"`+id+`","content_index":0,"delta":`+quote(p))
				}
			})
	}
	for i, c := range r.Calls {
		fc := id("fc_", n, i)
		if c.Name == ToolSearch {
			search := fmt.Sprintf(`{"type":"tool_search_call","id":"%s","call_id":%s,"execution":"client","status":"completed","arguments":%s}`, fc, quote(c.id("call_", n, i)), c.Args)
			item(search, search, func(string) {})
			continue
		}
		of := func(args, status string) string {
			return fmt.Sprintf(`{"type":"function_call","id":"%s","call_id":%s,"name":%s,"arguments":%s,"status":"%s"}`, fc, quote(c.id("call_", n, i)), quote(c.Name), quote(args), status)
		}
		item(of("", "in_progress"), of(c.Args, status), func(at string) {
			for _, p := range pieces(c.Args) {
				e.add("response.function_call_arguments.delta", at+`,"item_id":"`+fc+`","delta":`+quote(p))
			}
			e.add("response.function_call_arguments.done", at+`,"item_id":"`+fc+`","arguments":`+quote(c.Args))
		})
	}
	s.responsesEnd(e, r, n, output)
	return e.out
}

func (s *Server) responsesEnd(e *script, r Reply, n int, output []string) {
	if r.Fail != "" {
		e.add("response.failed", fmt.Sprintf(`,"response":{"id":"resp_%d","object":"response","status":"failed","error":{"code":%s,"message":"it failed"},"output":[]}`, n, quote(r.Fail)))
		return
	}
	kind, details := "response.completed", "null"
	if r.stop() == "length" {
		kind, details = "response.incomplete", `{"reason":"max_output_tokens"}`
	}
	if r.Stop == "refusal" && r.Text == "" {
		kind, details = "response.incomplete", `{"reason":"content_filter"}`
	}
	all := ""
	for i, o := range output {
		if i > 0 {
			all += ","
		}
		all += o
	}
	u := r.Usage
	e.add(kind, fmt.Sprintf(`,"response":{"id":"resp_%d","object":"response","status":%s,"model":"gpt-wire","incomplete_details":%s,"output":[%s],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}}`,
		n, quote(kind[len("response."):]), details, all, u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Input+u.Output))
}

func (s *Server) chatStream(r Reply, n int) []string {
	var out []string
	chunk := func(delta, finish string) {
		out = append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-%d\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"wire\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", n, delta, finish))
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	for _, p := range pieces(r.Reasoning) {
		chunk(`{"reasoning_content":`+quote(p)+`}`, "null")
	}
	name := "content"
	if r.Stop == "refusal" {
		name = "refusal"
	}
	for _, p := range pieces(r.Text) {
		chunk(`{"`+name+`":`+quote(p)+`}`, "null")
	}
	for i, c := range r.Calls {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, quote(c.id("call_", n, i)), quote(c.Name)), "null")
		for _, p := range pieces(c.Args) {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(p)), "null")
		}
	}
	if r.Fail != "" {
		return append(out, fmt.Sprintf("data: {\"error\":{\"message\":\"it failed\",\"code\":%s}}\n\n", quote(r.Fail)))
	}
	chunk("{}", quote(map[string]string{"end": "stop", "tool_use": "tool_calls", "length": "length", "refusal": "content_filter"}[r.stop()]))
	u := r.Usage
	return append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-%d\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"wire\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}\n\n", n, u.Input, u.Output, u.Input+u.Output, u.CacheRead),
		"data: [DONE]\n\n")
}
