package workflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/toolview"
	"github.com/metaharness/peri/toolview/program"
)

type args struct {
	Name    string          `json:"name,omitempty" doc:"a stored workflow"`
	Script  string          `json:"script,omitempty" doc:"a script of your own, instead of name"`
	Args    json.RawMessage `json:"args,omitempty" doc:"what the script finds as args"`
	Resume  string          `json:"resume,omitempty" doc:"the id of a run that was stopped, to go on with it under a corrected script"`
	Restart bool            `json:"restart,omitempty" doc:"begin anew although such a run was stopped"`
}

// inline is what rules call a script of the model's own.
const inline = "script"

// state is the workflows and runs of one session.
type state struct {
	stored  []Stored
	limits  *limits
	journal journal
}

// maxAgents bounds the agents of one run.
const maxAgents = 1000

func run(ctx context.Context, s *state, call *toolview.Call, in args, h toolview.Host) (*message.Result, error) {
	if s == nil {
		return nil, errors.New("workflow: the call has no state: its middleware was not opened")
	}
	w, bad := s.find(in)
	if bad != "" {
		return message.Fail(bad), nil
	}
	file := inline + ".star"
	if in.Name != "" {
		file = w.file()
	}
	// What is no script begins no run.
	conf := program.Config{
		File: file, Source: w.Source, Functions: (&runner{}).functions(), Globals: globals(in.Args),
		Go: func() error { return context.Cause(ctx) }, Limits: program.Limits{Calls: maxAgents},
	}
	if err := program.Check(conf); err != nil {
		return message.Fail(err.Error()), nil
	}
	id := in.Resume
	if id == "" {
		id = runID(w, in.Args)
	}
	rec, bad, err := s.journal.begin(ctx, id, w.Name, in.Resume != "", in.Restart)
	if err != nil || bad != "" {
		return failed(bad), err
	}
	r := &runner{ctx: ctx, call: call, host: h, state: s, rec: rec, asked: map[string]int{}}
	done := false
	// Also a panic on the way lets the run go, so that it can be resumed.
	defer func() {
		if !done {
			_ = s.journal.end(ctx, id, false) // saves nothing
		}
	}()
	conf.Functions, conf.Do = r.functions(), r.do
	out, err := program.Run(conf)
	if err != nil {
		return message.Fail(out.Output + err.Error() + "\n" + r.left()), nil
	}
	done = true
	if err := s.journal.end(ctx, id, true); err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(out.Output+out.Text, "\n")
	if text == "" {
		text = "(the workflow printed nothing)"
	}
	return message.Say(fmt.Sprintf("%s\n[workflow run %s: %d agents]", text, id, r.ran+r.kept)), nil
}

func failed(text string) *message.Result {
	if text == "" {
		return nil
	}
	return message.Fail(text)
}

// find is the script that is to run.
func (s *state) find(in args) (w Stored, bad string) {
	switch {
	case in.Name != "" && in.Script != "":
		return w, "Give `name` or `script`, not both."
	case in.Resume != "" && in.Restart:
		return w, "`resume` goes on with a run and `restart` begins anew: give one of them."
	case in.Script != "":
		return Stored{Name: inline, Source: in.Script}, ""
	case in.Name == "":
		return w, "Give `name`, or a `script`."
	}
	var names []string
	for _, w := range s.stored {
		if w.Name == in.Name {
			return w, ""
		}
		names = append(names, w.Name)
	}
	if len(names) == 0 {
		return w, fmt.Sprintf("There is no workflow `%s`: none is stored. Give a `script`.", in.Name)
	}
	bad = fmt.Sprintf("There is no workflow `%s`.", in.Name)
	if near := meta.Nearest(in.Name, names); len(near) > 0 {
		bad += fmt.Sprintf(" Did you mean `%s`?", near[0])
	}
	return w, bad + " Workflows: `" + strings.Join(names, "`, `") + "`."
}

// runID is the same for the same script with the same arguments, so that a run can be found again without its id.
func runID(w Stored, raw json.RawMessage) string {
	var args bytes.Buffer
	if json.Compact(&args, raw) != nil {
		args.Write(raw)
	}
	return digest(w.Name, w.Source, args.String())[:10]
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func globals(raw json.RawMessage) map[string]json.RawMessage {
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	return map[string]json.RawMessage{"args": raw}
}

// describe is the answer to /workflows.
func (s *state) describe() string {
	var b strings.Builder
	for _, w := range s.stored {
		fmt.Fprintf(&b, "/%s (%s): %s\n", w.Name, w.file(), w.Doc)
	}
	for _, r := range s.journal.open() {
		fmt.Fprintf(&b, "run %s of %s was stopped\n", r.ID, r.Of)
	}
	if b.Len() == 0 {
		return "No workflows: put scripts into " + folder + "/NAME.star."
	}
	return strings.TrimRight(b.String(), "\n")
}

// runner is one run at work.
type runner struct {
	ctx   context.Context
	call  *toolview.Call
	host  toolview.Host
	state *state
	rec   record
	// asked counts equal requests: the second of two is another.
	asked     map[string]int
	ran, kept int
}

func (r *runner) functions() []program.Function {
	return []program.Function{
		{Name: "agent", Params: []string{"prompt", "agent", "description"}, Report: true},
		{Name: "log", Params: []string{"text"}, Here: r.log},
	}
}

func (r *runner) log(raw json.RawMessage) (program.Reply, error) {
	var in struct {
		Text json.RawMessage `json:"text"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return program.Reply{Failed: true, Text: err.Error()}, nil
	}
	var text string
	if json.Unmarshal(in.Text, &text) != nil {
		text = string(in.Text) // a list or number is shown as it is
	}
	r.call.Progress(r.ctx, text)
	return program.Reply{Value: json.RawMessage("null")}, nil
}

// pending is an agent that has not finished yet.
type pending struct {
	at   int
	key  string
	task toolview.Task
}

// do runs the agents that a script waits for, but for those that have finished before.
func (r *runner) do(requests []program.Request) ([]program.Reply, error) {
	replies := make([]program.Reply, len(requests))
	var todo []pending
	for i, q := range requests {
		p := pending{at: i}
		if err := json.Unmarshal(q.Args, &p.task); err != nil {
			replies[i] = program.Reply{Failed: true, Text: "agent: the prompt, the agent's name and the description are texts"}
			continue
		}
		same := digest(p.task.Agent, p.task.Prompt, p.task.Description)
		r.asked[same]++
		p.key = same + "." + strconv.Itoa(r.asked[same])
		f, err := r.state.journal.found(r.ctx, r.rec, p.key)
		if err != nil {
			return nil, err
		}
		if f != nil {
			r.kept++
			replies[i] = program.Reply{Text: f.Text}
			continue
		}
		todo = append(todo, p)
	}
	for len(todo) > 0 {
		n := min(len(todo), max(r.state.limits.Load().Multitask, 1))
		if err := r.some(todo[:n], replies); err != nil {
			return nil, err
		}
		todo = todo[n:]
	}
	return replies, nil
}

// some runs agents beside each other and keeps the reports of those that finished.
func (r *runner) some(todo []pending, replies []program.Reply) error {
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	tasks := make([]toolview.Task, len(todo))
	for i, p := range todo {
		tasks[i] = p.task
	}
	for i, res := range r.host.Delegate(tasks) {
		p := todo[i]
		text := report(res)
		replies[p.at] = program.Reply{Text: text, Failed: res.Error}
		if res.Error {
			continue
		}
		r.ran++
		if err := r.state.journal.finish(r.ctx, r.rec, p.key, finished{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// report is an agent's own words, without the id of its run that stands behind them for a model to resume it by.
func report(res *message.Result) string {
	var of struct {
		ID string `json:"id"`
	}
	text := res.Text()
	if json.Unmarshal(res.Structured, &of) == nil && of.ID != "" {
		text = strings.TrimSuffix(text, "\n[agent run "+of.ID+"]")
	}
	return text
}

// left says what remains of a run that did not come to its end.
func (r *runner) left() string {
	return fmt.Sprintf("[workflow run %s stopped; %d agents have finished and are kept. Call again with the same arguments to go on, or with a corrected script and `resume`: %q.]",
		r.rec.ID, r.ran+r.kept, r.rec.ID)
}
