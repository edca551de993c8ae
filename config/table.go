package config

// rule says how the layers' values of one setting become one.
type rule uint8

const (
	highest      rule = iota // the highest layer that has it
	perEntry                 // maps: each member by its own rule
	union                    // lists: all items, low to high
	intersection             // lists: kept apart, since all of them must allow
	lowest                   // numbers: the smallest
)

// risk says what of a setting an untrusted project may not do.
type risk uint8

const (
	harmless risk = iota
	risky         // any value could run code or widen
	riskyTrue
	riskyFalse
	riskyMode // only what is wider than the trusted layers' mode
)

// node describes one place of the settings tree. Types, unknown keys, merging, trust, defaults and the published schema
// all come from here.
type node struct {
	kinds   kind
	doc     string
	fields  []named  // maps: the names that are known
	elem    *node    // lists: each item; maps: each member with a free name
	enum    []string // texts
	whole   bool     // numbers
	min     float64  // numbers
	max     float64  // numbers; 0 is no limit
	def     any
	rule    rule
	risk    risk
	once    bool // union: a text that is there already is not added again
	filled  bool // texts: "" is refused, since it could be read as "everything"
	guards  bool // maps: a key that looks like a restricting one is an error, since ignoring it would widen
	nullMsg string
}

type named struct {
	name string
	node
}

func (n *node) field(name string) *node {
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i].node
		}
	}
	return nil
}

// at gives the node of a member, nil for an unknown one.
func (n *node) at(name string) *node {
	if f := n.field(name); f != nil {
		return f
	}
	if n.kinds&mapping != 0 && n.elem != nil && n.kinds&list == 0 {
		return n.elem
	}
	return nil
}

// open says that anything may stand below: another package decodes it.
func (n *node) open() bool { return n.kinds&mapping != 0 && n.fields == nil && n.elem == nil }

// modes are the permission modes, strictest first.
var modes = []string{"plan", "dontAsk", "default", "acceptEdits", "bypass"}

var (
	texts    = &node{kinds: text}
	strict   = node{kinds: list, elem: texts, rule: union, once: true}
	narrow   = node{kinds: list, elem: texts, rule: intersection}
	toolGate = node{kinds: mapping, rule: perEntry, doc: "Which of its tools are offered.", fields: []named{
		{"allow", with(narrow, "Selectors of the tools to offer. Absent: all; []: none.")},
		{"deny", with(strict, "Selectors of tools never to offer.")},
	}}
)

func with(n node, doc string) node { n.doc = doc; return n }

func flag(def bool, r risk, doc string) node {
	return node{kinds: boolean, def: def, risk: r, doc: doc}
}

func word(r risk, doc string) node { return node{kinds: text, risk: r, doc: doc} }

func group(doc string, fields ...named) node {
	return node{kinds: mapping, rule: perEntry, doc: doc, fields: fields}
}

func entries(doc string, elem node) node {
	return node{kinds: mapping, rule: perEntry, doc: doc, elem: &elem}
}

func limit(def, least float64, doc string) node {
	return node{kinds: number, whole: true, min: least, max: 1 << 20, def: def, rule: lowest, doc: doc}
}

func args(r risk, doc string) node { return node{kinds: list, elem: texts, risk: r, doc: doc} }

func pairs(r risk, doc string) node {
	return node{kinds: mapping, elem: texts, risk: r, doc: doc}
}

// tree is the whole file.
var tree = group(
	"Settings of peri.",
	named{"meta", entries("Which middlewares, segment overrides and policies hold: name to true or false.", node{kinds: boolean, nullMsg: nullBool})},
	named{"model", node{kinds: text, filled: true, def: "offline", doc: "vendor/name, offline, or script:FILE."}},
	named{"providers", providersNode},
	named{"language", word(harmless, "The language to answer in.")},
	named{"persona", word(harmless, "Who the agent is.")},
	named{"permissions", permissionsNode},
	named{"tools", group(
		"Which tools sessions see.",
		named{"allow", with(narrow, "Selectors. Absent: everything; []: nothing. Layers intersect.")},
		named{"deny", with(strict, "Selectors. Always wins; layers add up.")},
		named{"without_search", node{
			kinds: text, enum: []string{"direct", "hide", "error"}, def: "direct",
			doc: "What becomes of deferred tools when ToolSearchMiddleware is closed.",
		}},
	)},
	named{"skills", group(
		"Which skills sessions see.",
		named{"mounts", with(strict, "More folders that hold skills: PATH, or NAME=PATH.")},
		named{"allow", with(narrow, "Skill ids or globs. Absent: everything; []: nothing. Layers intersect.")},
		named{"deny", with(strict, "Skill ids or globs. Always wins; layers add up.")},
	)},
	named{"hooks", hooksNode},
	named{"agents", entries("Fields laid over agent files, by the agent's name.", agentNode)},
	named{"mcp", group("Model Context Protocol.", named{"servers", entries("MCP servers by name.", serverNode)})},
	named{"openapi", group("Tools made of OpenAPI documents.", named{"sources", entries("Sources by name.", sourceNode)})},
	named{"lsp", group("Language servers.", named{"servers", entries("Language servers by name.", languageNode)})},
	named{"workspace", group(
		"What file and command tools may reach.",
		named{"sandbox", flag(true, riskyFalse, "File tools stay inside the project, and home with allow_home.")},
		named{"allow_home", flag(true, riskyTrue, "The home folder counts as inside.")},
		named{"restrict_system", flag(false, riskyFalse, "System folders cannot be read either.")},
		named{"bash_async", flag(false, harmless, "Offer BashStart, BashWait, BashStdin and BashStop.")},
	)},
	named{"web", group(
		"The web tools.",
		named{"search", word(risky, "The search backend: searxng:https://host, or brave:VARIABLE, the environment variable with its key.")},
		named{"allow_private", flag(false, riskyTrue, "Fetch from private addresses too.")},
	)},
	named{"subagents", group(
		"Limits of delegation. The smallest of all layers holds.",
		named{"multitask", limit(5, 1, "Agents at the same time.")},
		named{"depth", limit(1, 0, "Levels of agents below the session.")},
		named{"max_turns", limit(50, 1, "Model requests of one agent.")},
	)},
	named{"memory", memoryNode},
	named{"compact", group(
		"Keeping the context inside its budget.",
		named{"budget", node{kinds: number, min: 0.05, max: 1, def: 0.8, doc: "The fraction of the context window to use."}},
		named{"auto", flag(true, harmless, "Compact without being asked.")},
	)},
)

var permissionsNode = group(
	"Which calls run, which ask and which do not.",
	named{"mode", node{kinds: text, enum: modes, def: "default", risk: riskyMode, doc: "What happens to calls no rule decides."}},
	named{"allow", node{kinds: list, elem: texts, rule: union, once: true, risk: risky, doc: "Rules of calls that run unasked."}},
	named{"ask", with(strict, "Rules of calls that always ask.")},
	named{"deny", with(strict, "Rules of calls that never run.")},
)

var hookNode = group(
	"One hook.",
	named{"type", node{kinds: text, enum: []string{"command", "http", "prompt"}, def: "command", doc: "How it runs."}},
	named{"command", word(risky, "type command: a shell command.")},
	named{"url", word(risky, "type http: where to post the event.")},
	named{"headers", pairs(risky, "type http: headers.")},
	named{"prompt", word(risky, "type prompt: what to ask the model.")},
	named{"timeout", node{kinds: number, min: 0.001, max: 86400, doc: "Seconds."}},
	named{"async", node{kinds: boolean, doc: "Do not wait for it."}},
	named{"once", node{kinds: boolean, doc: "Only for the first such event of a session."}},
	named{"statusMessage", word(harmless, "Shown while it runs.")},
)

var matcherNode = group(
	"Hooks for what a matcher selects.",
	named{"matcher", word(harmless, "A tool's name, several with |, a pattern; absent or * for all.")},
	named{"hooks", node{kinds: list, elem: &hookNode, doc: "The hooks, in order."}},
)

var hooksNode = hookEvents(
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest", "PermissionDenied", "Notification",
	"UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
	"PreCompact", "PostCompact",
)

func hookEvents(names ...string) node {
	n := group("Hooks by event, in Claude Code's shape. Layers add up, in layer order.")
	for _, name := range names {
		n.fields = append(n.fields, named{name, node{
			kinds: list, elem: &matcherNode, rule: union, risk: risky, doc: "Hooks of " + name + ".",
		}})
	}
	return n
}

var (
	selection = node{kinds: text | list | mapping, filled: true, doc: "Comma text, a list, or allowed/disabled/categories."}
	agentNode = node{kinds: mapping, rule: perEntry, guards: true, fields: []named{
		{"description", word(harmless, "When to use the agent.")},
		{"tools", selection},
		{"disallowedTools", node{kinds: text | list, filled: true, doc: "Deny list; wins over tools."}},
		{"skills", selection},
		{"mcp", node{kinds: text | list | mapping, filled: true, doc: "allowed/disabled/required servers."}},
		{"requiredMcpServers", node{kinds: text | list, filled: true, doc: "Servers without which it is not spawned."}},
		{"mcpServers", node{kinds: list | mapping, risk: risky, doc: "Servers of this agent alone."}},
		{"delegates", node{kinds: text | list, filled: true, doc: "What its children may call and it may not."}},
		{"permission", node{kinds: text | mapping, risk: risky, doc: "A ruleset in opencode's shape."}},
		{"permissionMode", node{kinds: text, enum: modes, risk: riskyMode, doc: "Its permission mode."}},
		{"hooks", node{kinds: mapping, risk: risky, doc: "Its hooks."}},
		{"model", word(harmless, "Its model.")},
		{"maxTurns", node{kinds: number, whole: true, min: 1, max: 1 << 20, doc: "Its limit of model requests."}},
		{"background", node{kinds: boolean, doc: "Run in the background."}},
		{"isolation", word(harmless, "Where it works.")},
		{"memory", node{kinds: text | boolean, doc: "Its memory."}},
		{"hidden", node{kinds: boolean, doc: "Not offered to the model."}},
		{"enabled", node{kinds: boolean, nullMsg: nullBool, doc: "false removes it."}},
		{"primary", node{kinds: boolean, doc: "May be the main session's agent."}},
		{"prompt", word(harmless, "Its text.")},
	}}
)

var serverNode = group(
	"A command with args and env, or a url with headers.",
	named{"command", word(risky, "The program to start.")},
	named{"args", args(risky, "Its arguments.")},
	named{"env", pairs(risky, "Its environment.")},
	named{"url", word(risky, "Where the server is.")},
	named{"headers", pairs(risky, "Headers of every request.")},
	named{"enabled", flag(true, riskyTrue, "false: not connected.")},
	named{"trusted", flag(false, riskyTrue, "Whether its annotations count.")},
	named{"direct", node{kinds: list, elem: texts, rule: highest, doc: "Selectors of its tools that are not deferred."}},
	named{"tools", toolGate},
	named{"timeout", node{kinds: number, min: 0.1, max: 86400, doc: "Seconds that a call may go on without a word. Absent: 600."}},
	named{"oauth", group(
		"How to sign in at a url that wants it, as a client with a secret of its own.",
		named{"client_id", word(risky, "The client's id.")},
		named{"secret", word(risky, "The environment variable that holds the client's secret.")},
	)},
)

var sourceNode = group(
	"An OpenAPI document.",
	named{"document", word(risky, "File or URL of the document.")},
	named{"base", word(risky, "Base URL of calls; absent: the document's.")},
	named{"auth", node{kinds: text | mapping, risk: risky, doc: "How calls authenticate."}},
	named{"enabled", flag(true, riskyTrue, "false: not offered.")},
	named{"tools", toolGate},
)

var languageNode = group(
	"A language server.",
	named{"command", word(risky, "The program to start.")},
	named{"args", args(risky, "Its arguments.")},
	named{"env", pairs(risky, "Its environment.")},
	named{"languages", node{kinds: list, elem: texts, doc: "Language ids or file extensions."}},
	named{"enabled", flag(true, riskyTrue, "false: not started.")},
)

const nullBool = "write false; null cannot remove the global value"
