package builtin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/settingsedit"
	"github.com/metaharness/peri/middleware/skills/catalog"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/subagent"
	"github.com/metaharness/peri/toolview"
)

// Editor changes the settings of a folder in place, and checks what it did by loading them as Load does.
func Editor(o config.Options, more ...middleware.Middleware) (*config.Editor, error) {
	plain, err := Suite(Options{More: more})
	if err != nil {
		return nil, err
	}
	o.Keys = plain.Keys()
	off := map[string]bool{}
	for _, m := range plain.All() {
		off[m.Name] = m.Off
	}
	return &config.Editor{
		Options: o,
		Off:     func(key string) bool { return off[key] },
		Gates:   plain.GatesOf,
		Load: func(o config.Options) (*config.Fresh, error) {
			s, _, err := Load(o, more...)
			if err != nil {
				return nil, err
			}
			return &config.Fresh{Loaded: s.Loaded, Skills: s.skillEffects()}, nil
		},
	}, nil
}

// skillEffects says what each agent may do with each skill.
func (s *Setup) skillEffects() []config.Skill {
	var ask []toolview.Rule
	for _, i := range s.Loaded.Settings.Permissions.Ask {
		if r, err := toolview.ParseRule(i.Text, i.Origin); err == nil {
			ask = append(ask, r)
		}
	}
	out := make([]config.Skill, 0, len(s.Skills))
	for i := range s.Skills {
		e := &s.Skills[i]
		main := config.SkillEffect{Effect: "allow"}
		if r := restricting(ask, e); r != nil {
			main = config.SkillEffect{Effect: "ask", Rule: r.Text, Origin: r.Origin}
		}
		if e.Denied() {
			main = config.SkillEffect{Effect: "deny", Rule: e.By.Text, Origin: e.By.Origin}
		}
		one := config.Skill{ID: e.ID, Name: e.Name, Agents: []config.SkillEffect{main}}
		for _, d := range s.Catalog.All() {
			one.Agents = append(one.Agents, agentEffect(main, &d, e))
		}
		out = append(out, one)
	}
	return out
}

// agentEffect is what an agent's own lists leave of what the main agent may do.
func agentEffect(main config.SkillEffect, d *subagent.Definition, e *catalog.Entry) config.SkillEffect {
	out := main
	out.Agent, out.Hidden = d.Name, d.Hidden
	if main.Effect == "deny" {
		return out
	}
	denied := func(rule string, at meta.Origin) config.SkillEffect {
		if at == (meta.Origin{}) {
			at = d.Origin
		}
		return config.SkillEffect{Agent: d.Name, Hidden: d.Hidden, Effect: "deny", Rule: rule, Origin: at}
	}
	if r := restricting(parsed(d.Deny, d.DenyAt), e); r != nil {
		return denied(r.Text, d.DenyAt)
	}
	decl := catalog.Decl()
	listed := func(r toolview.Rule) bool { return r.Matches(catalog.Owner, &decl, e.Subject(), toolview.Place{}) }
	if tools := d.Spawn().Tools; tools != nil && !slices.ContainsFunc(parsed(tools, d.ToolsAt), listed) {
		return denied("not on its tools", d.ToolsAt)
	}
	call := loading(e)
	for _, k := range d.Kinds {
		f, err := toolview.NewFrame(toolview.Lists{Kinds: []toolview.KindLists{k}})
		if err != nil {
			return out // the agent is not started, and says why
		}
		if why := f.Refusal(call); why != "" {
			return denied(why, k.Origin)
		}
	}
	rules, err := toolview.NewRuleset(d.Rules)
	if err != nil {
		return out
	}
	switch action, by := rules.Judge(call, toolview.Place{}); action {
	case toolview.ActionDeny:
		return denied(by.Text, by.Origin)
	case toolview.ActionAsk:
		out.Effect, out.Rule, out.Origin = "ask", by.Text, by.Origin
	}
	return out
}

// loading is a call that would load a skill.
func loading(e *catalog.Entry) *toolview.Call {
	tool := toolview.Tool{Decl: catalog.Decl(), Doc: "Loads a skill."}
	tool.Subjects = func(json.RawMessage) ([]toolview.Subject, error) { return []toolview.Subject{e.Subject()}, nil }
	none := func(context.Context, struct{}, *toolview.Call, struct{}) (*message.Result, error) {
		return message.Say(""), nil
	}
	set := toolview.MustSet(toolview.New(tool, none))
	view := toolview.NewDeriver([]toolview.Band{{Owner: catalog.Owner, Set: set, State: struct{}{}}}, nil, nil).View(&toolview.Policy{}, nil)
	call, _ := view.Call("", catalog.ToolName, json.RawMessage("{}")) // nothing keeps it out of this view
	return call
}

func parsed(texts []string, at meta.Origin) []toolview.Rule {
	var out []toolview.Rule
	for _, t := range texts {
		if r, err := toolview.ParseRule(t, at); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// restricting is the first rule that is about a skill.
func restricting(rules []toolview.Rule, e *catalog.Entry) *toolview.Rule {
	decl := catalog.Decl()
	for i := range rules {
		if rules[i].Restricts(catalog.Owner, &decl, e.Subject(), toolview.Place{}) == toolview.Meets {
			return &rules[i]
		}
	}
	return nil
}

// editing lets the agent edit the settings that this session was made from.
func editing(o config.Options, more []middleware.Middleware) settingsedit.Options {
	return settingsedit.Options{Edit: func(ctx context.Context, in settingsedit.Request) settingsedit.Reply {
		e, err := Editor(o, more...)
		if err != nil {
			return settingsedit.Reply{Text: err.Error()}
		}
		r := e.Apply(ctx, config.Edit{Action: in.Action, Key: in.Key, Skill: in.Skill, Layer: in.Layer, Effect: in.Effect, DryRun: in.DryRun})
		reply := settingsedit.Reply{OK: r.OK}
		if reply.Report, err = json.Marshal(r); err != nil {
			return settingsedit.Reply{Text: err.Error()}
		}
		if r.OK {
			reply.Text = strings.Join(append([]string{r.Done.Message}, append(r.Done.Diff, r.Warnings...)...), "\n")
			return reply
		}
		reply.Text = r.Err().Error()
		if near := append(r.Failed.Error.Candidates, r.Failed.Error.Near...); len(near) > 0 {
			reply.Text += "; there is " + strings.Join(near, ", ")
		}
		return reply
	}}
}
