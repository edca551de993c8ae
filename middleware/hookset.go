package middleware

// HookInfo names a hook that is set and the event at which it runs, in the words that hook files use.
type HookInfo struct{ Name, Event string }

// Set lists the hooks that are set, in a fixed order.
func (h *Hooks) Set() []HookInfo {
	var out []HookInfo
	add := func(set bool, name, event string) {
		if set {
			out = append(out, HookInfo{name, event})
		}
	}
	add(h.Gate != nil, "gate", "PreToolUse")
	add(h.Rewrite != nil, "rewrite", "PreToolUse")
	add(h.Asked != nil, "asked", "PermissionRequest")
	add(h.Approved != nil, "approved", "PermissionRequest")
	add(h.WrapModel != nil, "wrap_model", "ModelRequest")
	add(h.WrapTool != nil, "wrap_tool", "ToolUse")
	add(h.Start != nil, "start", "SessionStart")
	add(h.End != nil, "end", "SessionEnd")
	add(h.Input != nil, "input", "UserPromptSubmit")
	add(h.Reply != nil, "reply", "ModelReply")
	add(h.Result != nil, "result", "PostToolUse")
	add(h.Batch != nil, "batch", "PostToolBatch")
	add(h.Stop != nil, "stop", "Stop")
	add(h.History != nil, "history", "ModelRequest")
	return out
}
