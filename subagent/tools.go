package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
)

// task is one piece of work.
type task struct {
	Agent       string `json:"agent,omitempty" alias:"agent_name,subagent_type" doc:"which agent; leave it out to fork"`
	Prompt      string `json:"prompt,omitempty" doc:"the whole brief"`
	Description string `json:"description,omitempty" doc:"three to five words that say what it is about"`
	Background  bool   `json:"background,omitempty" alias:"run_in_background" doc:"return an id at once instead of the report"`
	Resume      string `json:"resume,omitempty" doc:"the id of an earlier run, to continue it"`
}

type agentArgs struct {
	task
	Tasks []task `json:"tasks,omitempty" doc:"several pieces of work that run at the same time, instead of one"`
}

type resultArgs struct {
	ID   string `json:"id" alias:"task_id,agent_id" doc:"the id that the start in the background returned" min:"1"`
	Wait bool   `json:"wait,omitempty" alias:"block" doc:"wait until the report is there"`
}

type generateArgs struct {
	Name        string   `json:"name" doc:"the name by which it will be started" min:"1" max:"64"`
	Description string   `json:"description" doc:"what it is for" min:"1"`
	Prompt      string   `json:"prompt" alias:"systemPrompt,system_prompt" doc:"its whole system text" min:"1"`
	Tools       []string `json:"tools,omitempty" doc:"the tools that it may use; left out: all that you have"`
	Save        bool     `json:"save,omitempty" alias:"saveToFile,save_to_file" doc:"also write it to the project, for later sessions"`
}

// forkName is what rules call a fork, which is no agent of that name.
const forkName = "fork"

func agentTool() toolview.Tool {
	return toolview.NewFlow(toolview.Tool{
		Decl: toolview.Decl{Name: AgentTool, Aliases: []string{"Task", "task", "subagent", "agent"}, Family: "task", Groups: groups()},
		Doc:  trimmed(agentDoc), Effects: toolview.Internal,
		Subjects: toolview.Subjects(func(in agentArgs) []toolview.Subject {
			var out []toolview.Subject
			for _, t := range append([]task{in.task}, in.Tasks...) {
				switch {
				case t.Agent != "":
					out = append(out, toolview.Subject{Kind: toolview.Name, Value: t.Agent})
				case t.Prompt != "" && t.Resume == "":
					out = append(out, toolview.Subject{Kind: toolview.Name, Value: forkName})
				}
			}
			return out
		}),
	}, delegate)
}

// groups are the other words by which delegation as a whole is listed or denied.
func groups() []string { return []string{"subagent", "agent"} }

func resultTool() toolview.Tool {
	return toolview.NewFlow(toolview.Tool{
		Decl: toolview.Decl{Name: ResultTool, Aliases: []string{"TaskOutput"}, Family: "task", Groups: groups()},
		Doc:  trimmed(resultDoc), Effects: toolview.Internal,
	}, func(_ context.Context, _ *state, _ *toolview.Call, in resultArgs, h toolview.Host) (*message.Result, error) {
		return h.Spawn(toolview.Spawn{Collect: in.ID, Wait: in.Wait})
	})
}

func generateTool() toolview.Tool {
	return toolview.New(toolview.Tool{
		Decl: toolview.Decl{Name: GenerateTool, Aliases: []string{"generate"}, Private: true},
		Doc:  trimmed(generateDoc), Effects: toolview.Internal,
		Subjects: toolview.Subjects(func(in generateArgs) []toolview.Subject {
			if !in.Save {
				return nil
			}
			return []toolview.Subject{{Kind: toolview.Path, Value: savedAs(in.Name), Edit: true}}
		}),
	}, generate)
}

var errUnopened = errors.New("subagent: the call has no state: its middleware was not opened")

// delegate runs one piece of work, or several. Each of several is a call of its own, so that they run side by side,
// are judged one by one, and a bad one fails alone.
func delegate(_ context.Context, s *state, call *toolview.Call, in agentArgs, h toolview.Host) (*message.Result, error) {
	if s == nil {
		return nil, errUnopened
	}
	if len(in.Tasks) == 0 {
		sp, bad := s.spawn(in.task)
		if bad != "" {
			return message.Fail(bad), nil
		}
		return h.Spawn(sp)
	}
	if in.task != (task{}) {
		return message.Fail("Give `tasks`, or the arguments of one piece of work, not both."), nil
	}
	if most := s.limits.Load().Multitask; len(in.Tasks) > most {
		return message.Fail(fmt.Sprintf("`tasks` has %d entries and may have %d: start the rest afterwards.", len(in.Tasks), most)), nil
	}
	inner := make([]toolview.Inner, len(in.Tasks))
	for i, t := range in.Tasks {
		args, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("subagent: %w", err)
		}
		inner[i] = toolview.Inner{Name: call.Name(), Args: args}
	}
	return together(in.Tasks, h.Dispatch(inner)), nil
}

// together makes one result of several. It failed only if all of them did.
func together(tasks []task, results []*message.Result) *message.Result {
	out := &message.Result{Error: true}
	var structured []json.RawMessage
	for i, r := range results {
		if r == nil {
			r = message.Fail("it returned nothing")
		}
		head := fmt.Sprintf("## Task %d", i+1)
		if about := tasks[i].Description; about != "" {
			head += ": " + about
		}
		if r.Error {
			head += " (failed)"
		}
		if i > 0 {
			head = "\n\n" + head
		}
		out.Parts = append(out.Parts, message.Part{Kind: message.Text, Text: head + "\n"})
		out.Parts = append(out.Parts, r.Parts...)
		out.Error = out.Error && r.Error
		each := r.Structured
		if len(each) == 0 {
			each = json.RawMessage("null")
		}
		structured = append(structured, each)
	}
	if raw, err := json.Marshal(map[string]any{"tasks": structured}); err == nil {
		out.Structured = raw
	}
	return out
}

// spawn makes the start of one piece of work, or says what is wrong with it.
func (s *state) spawn(t task) (sp toolview.Spawn, bad string) {
	if strings.TrimSpace(t.Prompt) == "" {
		return sp, "`prompt` is missing: give the whole brief."
	}
	switch {
	case t.Resume != "" && t.Agent != "":
		return sp, "`resume` continues the agent of that run: leave `agent` out."
	case t.Resume != "":
		sp.Resume = t.Resume
	case t.Agent == "":
		sp = s.bounded(toolview.Spawn{Fork: true})
	default:
		d, ok := s.lookup(t.Agent)
		if !ok {
			return sp, s.unknown(t.Agent)
		}
		sp = s.bounded(d.Spawn())
	}
	sp.Prompt, sp.Description, sp.Background = t.Prompt, t.Description, t.Background || sp.Background
	return sp, ""
}

func generate(ctx context.Context, s *state, _ *toolview.Call, in generateArgs) (*message.Result, error) {
	if s == nil {
		return nil, errUnopened
	}
	d := Definition{Name: in.Name, Description: strings.TrimSpace(in.Description), Tools: in.Tools, Body: strings.TrimSpace(in.Prompt)}
	switch {
	case !legal.MatchString(d.Name):
		return message.Fail(fmt.Sprintf("%q is no agent's name: use %s.", d.Name, legalNames)), nil
	case d.Description == "" || d.Body == "":
		return message.Fail("`description` and `prompt` must say something."), nil
	case len(d.Body) > maxBody:
		return message.Fail(fmt.Sprintf("`prompt` is over %d KiB: shorten it.", maxBody>>10)), nil
	}
	for i, t := range d.Tools {
		if d.Tools[i] = strings.TrimSpace(t); d.Tools[i] == "" {
			return message.Fail("`tools` has an empty entry: name a tool, or leave the entry out."), nil
		}
	}
	if _, err := d.Frame(); err != nil {
		return message.Fail("`tools`: " + err.Error()), nil
	}
	bad, err := s.generate(ctx, d)
	if err != nil {
		return nil, err
	}
	if bad != "" {
		return message.Fail(bad), nil
	}
	text := fmt.Sprintf("Agent `%s` is there. Start it with `%s`.", d.Name, AgentTool)
	if !in.Save {
		return message.Say(text), nil
	}
	if err := s.save(&d); err != nil {
		return message.Fail(fmt.Sprintf("%s It was not saved: %v.", text, err)), nil
	}
	return message.Say(fmt.Sprintf("%s Later sessions find it in %s.", text, savedAs(d.Name))), nil
}
