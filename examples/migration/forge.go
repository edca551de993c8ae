package main

import (
	"bufio"
	"encoding/json"
	"io"
)

// serve is a forge's MCP server with one tool, on standard input and output: enough of the protocol to be listed.
func serve(in io.Reader, out io.Writer) error {
	write := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return err
		}
		if call.ID == nil {
			continue // a notification has no answer
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": call.ID}
		switch call.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": call.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "forge", "version": "1"},
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{
				"name": "comment", "description": "Comments on a pull request.",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}},
			}}}
		case "ping":
			answer["result"] = map[string]any{}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "there is no method " + call.Method}
		}
		if err := write.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}
