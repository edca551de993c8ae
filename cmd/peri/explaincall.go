package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/permission"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/toolview"
)

// judgement is what would become of a call, and what decided about each part of it.
type judgement struct {
	Call     string   `json:"call"`
	Decision string   `json:"decision"`
	Because  string   `json:"because"`
	Rule     string   `json:"rule,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Parts    []partOf `json:"parts"`

	origin meta.Origin
}

type partOf struct {
	Text     string `json:"text"`
	Decision string `json:"decision"`
	Because  string `json:"because"`
	Rule     string `json:"rule,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`

	origin meta.Origin
}

// asCall cuts a name of the form Tool(what it is called with).
func asCall(name string) (tool, with string, ok bool) {
	tool, rest, ok := strings.Cut(name, "(")
	with, closed := strings.CutSuffix(rest, ")")
	return strings.TrimSpace(tool), with, ok && closed && strings.TrimSpace(tool) != "" && with != ""
}

// explainCall says what approval would make of a call of a visible tool.
func (p *program) explainCall(s *session.Session, e toolview.Entry, with string) error {
	j := judgement{Call: e.Tool.Name + "(" + with + ")", Parts: []partOf{}}
	call, refused := s.View().Inner("explain", toolview.Inner{Name: e.Tool.Name, Args: argumentsOf(e.Tool, with)})
	switch gate := approval(s); {
	case refused != nil:
		j.Decision, j.Because = middleware.Deny.String(), refused.Text()
	case gate == nil:
		j.Decision, j.Because = middleware.Pass.String(), permission.Name+" is closed: calls run without approval"
	default:
		v, parts := gate.Explain(call)
		j.Decision, j.Because, j.Rule, j.origin = v.Decision.String(), orWhy(v), v.Rule, v.Origin
		for _, one := range parts {
			j.Parts = append(j.Parts, partOf{
				Text: one.Text, Decision: one.Decision.String(), Because: orWhy(one.Verdict), Rule: one.Rule,
				File: one.Origin.File, Line: one.Origin.Line, origin: one.Origin,
			})
		}
	}
	j.File, j.Line = j.origin.File, j.origin.Line
	if p.json {
		if err := p.object(map[string]any{"version": "peri.explain/v1", "call": j}); err != nil {
			return err
		}
	} else {
		p.judged(j)
	}
	if j.Decision == middleware.Deny.String() {
		return errNo
	}
	return nil
}

func orWhy(v middleware.Verdict) string {
	if v.Reason == "" && v.Decision >= middleware.Allow {
		return "the permission mode allows it"
	}
	return v.Reason
}

func (p *program) judged(j judgement) {
	fmt.Fprintf(p.out, "call %s: %s\n  because  %s\n", printable(j.Call), j.Decision, printable(j.Because))
	if j.origin != (meta.Origin{}) {
		fmt.Fprintf(p.out, "  written  %s\n", j.origin)
	}
	for _, one := range j.Parts {
		fmt.Fprintf(p.out, "  part     %s: %s: %s\n", printable(one.Text), one.Decision, printable(one.Because))
	}
}

// approval is the session's own approval gate; nil when it is closed.
func approval(s *session.Session) interface {
	Explain(*toolview.Call) (middleware.Verdict, []permission.Part)
} {
	l, ok := s.Chain().Link(permission.Name)
	if !ok || l.Instance == nil {
		return nil
	}
	gate, _ := l.Instance.State.(interface {
		Explain(*toolview.Call) (middleware.Verdict, []permission.Part)
	})
	return gate
}

// argumentsOf calls a tool with one text: its first required argument of that kind, the others being filled.
func argumentsOf(t *toolview.Tool, with string) json.RawMessage {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(t.Schema, &schema) != nil {
		return json.RawMessage("{}")
	}
	args := map[string]string{}
	first := ""
	for _, known := range []string{"command", "path", "url", "agent", "name", "query", "pattern"} {
		if p, ok := schema.Properties[known]; ok && p.Type == "string" && (first == "" || slices.Contains(schema.Required, known)) {
			if first = known; slices.Contains(schema.Required, known) {
				break
			}
		}
	}
	for _, name := range schema.Required {
		if p := schema.Properties[name]; p.Type == "string" {
			args[name] = "x"
			if first == "" {
				first = name
			}
		}
	}
	if first != "" {
		args[first] = with
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage("{}") // texts always marshal
	}
	return raw
}
