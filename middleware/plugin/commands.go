package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/metaharness/peri/meta"
)

// maxCommand bounds the text of a command, which every session keeps.
const maxCommand = 64 << 10

// commands reads a folder of commands, or one. A folder in it is part of no name: `commands/git/push.md` is /push.
func (r *reader) commands(name string, named meta.Origin) {
	at := r.place(name)
	info, err := r.root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && named == (meta.Origin{}):
		return
	case errors.Is(err, fs.ErrNotExist):
		r.fail(named, fmt.Sprintf("commands: there is no %s; it is left out", name), "")
		return
	case slices.Contains(r.outside, name):
		return // told of already
	case err != nil:
		r.fail(at, reason(err)+"; it is left out", "make it a readable folder inside the plugin")
		return
	case !info.IsDir():
		r.command(name)
		return
	}
	err = fs.WalkDir(r.root.FS(), name, func(file string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.EqualFold(path.Ext(file), ".md") {
			r.command(file)
		}
		return err
	})
	if err != nil {
		r.fail(at, reason(err)+"; its commands are left out from here on", "make it a readable folder")
	}
}

// command reads one command. Front matter is not needed.
func (r *reader) command(name string) {
	raw, at, ok := r.file(name)
	if !ok {
		return
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	c := Command{Name: stem, Origin: at}
	switch {
	case strings.EqualFold(stem, "readme"):
		return
	case !legal.MatchString(stem):
		r.fail(at, fmt.Sprintf("%q is no command's name; it is left out", stem), "use "+legalNames)
		return
	case !utf8.Valid(raw) || len(raw) > maxCommand:
		r.fail(at, fmt.Sprintf("not UTF-8, or over %d KiB; the command is left out", maxCommand>>10), "")
		return
	}
	for _, had := range r.Commands {
		if had.Name == c.Name {
			if had.Origin.File != at.File {
				r.fail(at, fmt.Sprintf("the command /%s is the one of %s; this one is left out", c.Name, had.Origin.File), "rename one of the two")
			}
			return
		}
	}
	front, body, ok := cut(raw)
	if !ok {
		at.Line, at.Column = 1, 1
		r.fail(at, "the front matter does not end; the command is left out", "write a line of --- behind its last field")
		return
	}
	fields, err := r.o.Fields(front, at)
	if err != nil {
		r.broken(err, at, "the command is left out")
		return
	}
	for _, f := range fields {
		if !r.about(&c, f) {
			return
		}
	}
	c.Body = vars(r.Dir).Replace(strings.TrimSpace(body))
	if c.Body == "" {
		r.fail(at, "there is no text in it; the command is left out", "write what is to be done")
		return
	}
	if c.Doc == "" {
		c.Doc, _, _ = strings.Cut(strings.TrimLeft(c.Body, "# "), "\n")
	}
	r.unrun(&c)
	r.Commands = append(r.Commands, c)
}

// unrun reports what another harness would run in a command's text.
func (r *reader) unrun(c *Command) {
	if strings.Contains(c.Body, "!`") {
		r.report(meta.SeverityWarning, "not_honoured", c.Origin, "commands in the text (!`…`) are not run here: the model reads them as they are written", "tell the model what to run")
	}
}

// cut separates front matter from a text. The front matter keeps its place in the file: its first line is empty.
func cut(raw []byte) (front []byte, body string, ok bool) {
	text := strings.ReplaceAll(strings.ReplaceAll(string(bytes.TrimPrefix(raw, []byte("\uFEFF"))), "\r\n", "\n"), "\r", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return nil, text, true
	}
	at := 0
	for line := range strings.SplitAfterSeq(rest, "\n") {
		if strings.TrimRight(line, " \t\n") == "---" {
			return []byte("\n" + rest[:at]), rest[at+len(line):], true
		}
		at += len(line)
	}
	return nil, "", false
}

// about reads one field of a command; false leaves the command out.
func (r *reader) about(c *Command, f Field) bool {
	text, isText := f.Value.(string)
	wrong := func(want string) bool {
		r.fail(f.Origin, fmt.Sprintf("%s: write %s; the command is left out", f.Name, want), "")
		return false
	}
	switch f.Name {
	case "description", "argument-hint":
		if list, ok := f.Value.([]any); ok && f.Name == "argument-hint" {
			text, isText = hint(list) // YAML takes [a] for a list
		}
		if !isText {
			return wrong("a text")
		}
		into := &c.Doc
		if f.Name == "argument-hint" {
			into = &c.Args
		}
		*into = strings.Join(strings.Fields(text), " ")
	case "allowed-tools":
		var ok bool
		if c.Tools, ok = selectors(f.Value); !ok {
			return wrong("the tools, as a text with commas or a list")
		}
		c.ToolsAt = f.Origin
		if _, err := c.frame(); err != nil {
			r.broken(err, f.Origin, "the command is left out")
			return false
		}
	case "model", "disable-model-invocation", "hide-from-slash-command-tool", "name", "version", "category":
		if f.Name == "model" {
			r.report(meta.SeverityWarning, "not_honoured", f.Origin, "model is not honoured here and has no effect: a turn keeps its session's", "remove it, or give the work to an agent")
		}
	default:
		return r.strange(f)
	}
	return true
}

// commandFields have a meaning here.
var commandFields = []string{"description", "argument-hint", "allowed-tools"}

// strange answers a field that is none. One that looks like a restriction leaves the command out, since ignoring it would
// widen what it may do.
func (r *reader) strange(f Field) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(f.Name))
	if plain == "allowedtools" || plain == "tools" || plain == "disallowedtools" || plain == "deniedtools" {
		r.fail(f.Origin, f.Name+" is no field of a command, and ignoring it would widen what it may do; the command is left out", "write allowed-tools")
		return false
	}
	suggestion := "the fields are " + strings.Join(commandFields, ", ")
	if near := meta.Nearest(f.Name, commandFields); len(near) > 0 {
		suggestion = "did you mean " + near[0] + "?"
	}
	r.report(meta.SeverityWarning, "not_honoured", f.Origin, f.Name+" is no field of a command and has no effect", suggestion)
	return true
}

func hint(list []any) (string, bool) {
	var out []string
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return "", false
		}
		out = append(out, "["+text+"]")
	}
	return strings.Join(out, " "), true
}

// selectors reads tools: a text with commas that stand in no parentheses, or a list. It is never nil.
func selectors(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		text, isText := v.(string)
		if !isText || strings.TrimSpace(text) == "" {
			return nil, false
		}
		list = []any{text}
	}
	out := []string{}
	for _, e := range list {
		text, isText := e.(string)
		if !isText {
			return nil, false
		}
		depth := 0
		for _, s := range strings.FieldsFunc(text, func(c rune) bool {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			return c == ',' && depth <= 0
		}) {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out, true
}
