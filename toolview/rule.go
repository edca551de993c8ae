package toolview

import (
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/meta"
)

// Selector is one entry of an allow or deny list, with the place where somebody wrote it. ParseRule has the grammar.
type Selector struct {
	Text   string      `json:"text"`
	Origin meta.Origin `json:"origin"`
	// Brings says that in an allow list a literal name brings along the tools that declare so (AllowedWith).
	Brings bool `json:"brings,omitempty"`
}

// Rule is a compiled selector. It is immutable and safe for concurrent use.
type Rule struct {
	Selector
	terms []term
}

// term is one of the tools that a rule names with `|`.
type term struct {
	kind  termKind
	word  string // lower case: a name, an alias, a family, an owner, or the glob as text
	glob  *pattern
	reads []identity // by server and leaf
	scope *scope     // nil = every call
}

type termKind uint8

const (
	byWord   termKind = iota // name, alias, family, group; by identity too when reads are there
	byGlob                   // canonical name; by identity instead when the tool has one and reads are there
	byServer                 // family:server/leaf
	byOwner
	everyPublic
	everyTool
)

// identity is one reading of a qualified selector. A nil leaf means all tools of the server.
type identity struct {
	prefix       string // of the name ("mcp"), or the family word
	server, leaf *pattern
}

const (
	maxSelector = 4 << 10
	maxReadings = 16
)

// ParseRule compiles one selector:
//
//	Read, read_file, web       a name, an alias, or a family or preset (`pi`) of tools
//	*, **                      every tool that is not Private; every tool
//	@WebMiddleware             all tools of an owner; with a slash, @mount/path, it is the skill of that id
//	mcp__github, mcp:github/*  by the identity of a server, then of its tool; globs in both
//	Web*, Cron?reate, [A-C]*   a glob over names
//	Bash(git *)                any of these but the stars, for calls whose subjects match
//	Read|Write                 several
//
// Case counts in commands and paths alone. A word that means no tool here is no error: a server may bring it later. An
// error is a *meta.Error with the origin.
func ParseRule(text string, origin meta.Origin) (Rule, error) {
	return compileRule(Selector{Text: text, Origin: origin})
}

func compileRule(s Selector) (Rule, error) {
	r := Rule{Selector: s}
	switch {
	case strings.TrimSpace(s.Text) == "":
		return Rule{}, &meta.Error{Origin: s.Origin, Message: "an empty selector", Suggestion: "name a tool, or remove the entry"}
	case len(s.Text) > maxSelector:
		s.Text = strings.ToValidUTF8(s.Text[:40], "")
		return Rule{}, badSelector(s, fmt.Sprintf("over %d bytes", maxSelector), "shorten it")
	}
	for part := range parts(s.Text, '|') {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return Rule{}, badSelector(s, err.Error(), "write a tool's name, a family, @Owner, a pattern such as Web*, Tool(pattern), * or **")
		}
		r.terms = append(r.terms, t)
	}
	return r, nil
}

func badSelector(s Selector, why, suggestion string) error {
	return &meta.Error{Origin: s.Origin, Message: fmt.Sprintf("selector %q: %s", s.Text, why), Suggestion: suggestion}
}

func parseTerm(text string) (term, error) {
	tool, rest, scoped := strings.Cut(text, "(")
	tool = strings.TrimSpace(tool)
	t, err := parseTool(tool)
	if err != nil || !scoped {
		return t, err
	}
	inner, ok := strings.CutSuffix(rest, ")")
	if !ok || strings.HasSuffix(inner, `\`) && !strings.HasSuffix(inner, `\\`) {
		return t, errors.New("its ( is not closed at the end")
	}
	inner = strings.TrimSpace(inner)
	switch {
	case inner == "":
		return t, errors.New("nothing stands in its parentheses")
	case t.kind == everyPublic || t.kind == everyTool:
		return t, errors.New("parentheses need a tool's name before them")
	case t.scope != nil:
		return t, errors.New("the id of a skill takes no parentheses")
	}
	t.scope = newScope(inner)
	return t, nil
}

// parseTool reads what stands before the parentheses.
func parseTool(text string) (term, error) {
	low := strings.ToLower(text)
	owner, owned := strings.CutPrefix(low, "@")
	family, rest, member := strings.Cut(low, ":")
	switch {
	case low == "":
		return term{}, errors.New("a tool's name is missing")
	case low == "*":
		return term{kind: everyPublic, word: low}, nil
	case low == "**":
		return term{kind: everyTool, word: low}, nil
	case owned && strings.Contains(owner, "/"):
		if strings.ContainsAny(owner, " \t\r\n()") {
			return term{}, errors.New("not the id of a skill")
		}
		return term{word: "skill", scope: newScope(Escape(text))}, nil
	case owned:
		if !legalName(owner) {
			return term{}, errors.New("not the name of a middleware")
		}
		return term{kind: byOwner, word: owner}, nil
	case member:
		return parseMember(low, family, rest)
	}
	return parseName(low)
}

// parseMember reads family:server and family:server/leaf.
func parseMember(text, family, rest string) (term, error) {
	server, leaf, _ := strings.Cut(rest, "/")
	if !legalName(family) || server == "" || !printable(rest) {
		return term{}, errors.New("not a server's tools")
	}
	id, err := newIdentity(family, server, leaf)
	return term{kind: byServer, word: text, reads: []identity{id}}, err
}

// parseName reads a word or a glob, and both also as prefix__server__leaf.
func parseName(text string) (term, error) {
	t := term{kind: byWord, word: text}
	prefix, qualified, is := strings.Cut(text, "__")
	is = is && legalName(prefix) && qualified != ""
	if strings.ContainsAny(text, "*?[") {
		if strings.Trim(text, "*") == "" || !nameRunes(text, "*?[]!^.") {
			return term{}, errors.New("not a pattern of names")
		}
		g, err := globPattern(text)
		if err != nil {
			return term{}, err
		}
		t.kind, t.glob = byGlob, g
	} else if !legalName(text) && !(is && nameRunes(text, ".")) {
		return term{}, errors.New("not a tool's name")
	}
	if is {
		var err error
		t.reads, err = readings(prefix, qualified)
		return t, err
	}
	return t, nil
}

// readings are all that prefix__server__leaf can mean, since servers and leaves may themselves hold `__`. Each compares
// whole identities, so that none reaches a server whose name only begins alike.
func readings(prefix, text string) ([]identity, error) {
	var out []identity
	add := func(server, leaf string) error {
		id, err := newIdentity(prefix, server, leaf)
		out = append(out, id)
		return err
	}
	cut := false
	for i := 1; i+2 < len(text); i++ {
		if text[i:i+2] == "__" {
			if cut = true; len(out) == maxReadings {
				return nil, errors.New("too many __ in a name")
			}
			if err := add(text[:i], text[i+2:]); err != nil {
				return nil, err
			}
		}
	}
	// What has wildcards and a leaf says which tools it means; as a server alone it would reach more.
	if !cut || !strings.ContainsAny(text, "*?[") {
		if err := add(text, ""); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newIdentity(prefix, server, leaf string) (identity, error) {
	s, err := globPattern(server)
	if err != nil {
		return identity{}, err
	}
	id := identity{prefix: prefix, server: s}
	if leaf != "" && leaf != "*" && leaf != "**" {
		if id.leaf, err = globPattern(leaf); err != nil {
			return identity{}, err
		}
	}
	return id, nil
}

func nameRunes(text, more string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; !nameByte(c) && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd || r == '(' || r == ')' })
}

// String is the canonical form: parsing it gives the same rule.
func (r Rule) String() string {
	var b strings.Builder
	for i, t := range r.terms {
		if i > 0 {
			b.WriteByte('|')
		}
		switch {
		case t.kind == byOwner:
			b.WriteString("@" + t.word)
		default:
			b.WriteString(t.word)
		}
		if t.scope != nil {
			b.WriteString("(" + t.scope.text + ")")
		}
	}
	return b.String()
}

// Selects reports whether an allow list with this rule lists the tool, be it for some calls alone.
func (r *Rule) Selects(owner string, d *Decl) bool {
	for i := range r.terms {
		if t := &r.terms[i]; t.selects(owner, d) || r.Brings && t.brings(d) {
			return true
		}
	}
	return false
}

// Covers reports whether a deny or ask rule like this is about the tool, be it for some calls alone: of `bash` also
// what starts, feeds and stops commands in the background.
func (r *Rule) Covers(owner string, d *Decl) bool {
	for i := range r.terms {
		if t := &r.terms[i]; t.selects(owner, d) || t.under(d) {
			return true
		}
	}
	return false
}

// Whole reports whether the rule covers every call of the tool, since the part that is about it has no scope.
func (r *Rule) Whole(owner string, d *Decl) bool {
	for i := range r.terms {
		if t := &r.terms[i]; t.scope == nil && (t.selects(owner, d) || t.under(d)) {
			return true
		}
	}
	return false
}

// Scoped reports whether some part of the rule is about some calls alone.
func (r *Rule) Scoped() bool {
	for i := range r.terms {
		if r.terms[i].scope != nil {
			return true
		}
	}
	return false
}

// editWord names the rules that are about every edit, whichever tool makes it.
const editWord = "edit"

// Edits reports whether the rule is about edits, so that it also meets those that other tools make.
func (r *Rule) Edits() bool {
	for i := range r.terms {
		if r.terms[i].word == editWord {
			return true
		}
	}
	return false
}

// Matches reports whether the rule meets one subject of a call of the tool. A rule about edits meets every path that a
// call edits, whatever its tool.
func (r *Rule) Matches(owner string, d *Decl, s Subject, at Place) bool {
	for i := range r.terms {
		t := &r.terms[i]
		about := t.selects(owner, d) || t.under(d) || t.word == editWord && s.Kind == Path && s.Edit
		if about && (t.scope == nil || t.scope.matches(s, at)) {
			return true
		}
	}
	return false
}

// selects reports whether a term names the tool.
func (t *term) selects(owner string, d *Decl) bool {
	switch t.kind {
	case everyTool:
		return true
	case everyPublic:
		return !d.Private
	case byOwner:
		return strings.EqualFold(t.word, owner)
	case byServer:
		return t.reads[0].of(d, d.inGroup(t.reads[0].prefix))
	case byGlob:
		if d.Server == "" || len(t.reads) == 0 {
			return t.glob.match(d.lowered())
		}
	case byWord:
		if d.hasWord(t.word) {
			return true
		}
	}
	for i := range t.reads {
		if id := &t.reads[i]; id.of(d, d.hasPrefix(id.prefix)) {
			return true
		}
	}
	return false
}

// keys are the words and identities that a term without wildcards and scope is; nil = it is not without.
func (t *term) keys() []string {
	if t.scope != nil || t.kind != byWord && t.kind != byServer {
		return nil
	}
	var out []string
	kind := familyKey
	if t.kind == byWord {
		out, kind = append(out, t.word), prefixKey
	}
	for _, id := range t.reads {
		switch {
		case id.server.items != nil || id.leaf != nil && id.leaf.items != nil:
			return nil
		case id.leaf == nil:
			out = append(out, kind(id.prefix)+"\n"+id.server.literal+"\n")
		default:
			out = append(out, kind(id.prefix)+"\n"+id.server.literal+"\n"+id.leaf.literal)
		}
	}
	return out
}

// under reports whether a deny of the term extends to the tool.
func (t *term) under(d *Decl) bool { return t.kind == byWord && foldedIn(t.word, d.DeniedWith) }

// brings reports whether the term brings the tool along where lists do so.
func (t *term) brings(d *Decl) bool { return t.kind == byWord && foldedIn(t.word, d.AllowedWith) }

// of reports whether the tool is the one, or of the server, that is meant. group says that it is of the right kind.
func (id *identity) of(d *Decl, group bool) bool {
	if !group || d.Server == "" {
		return false
	}
	server := strings.ToLower(d.Server)
	if !id.server.match(server) && !id.server.match(safe(server)) {
		return false
	}
	if id.leaf == nil {
		return true
	}
	leaf := strings.ToLower(d.Leaf)
	return id.leaf.match(leaf) || id.leaf.match(safe(leaf))
}
