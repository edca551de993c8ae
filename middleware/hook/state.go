package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/toolview"
)

// state is the hooks at work in one session. A child has one of its own, which shares what is the whole session's.
type state struct {
	root, mode string
	cwd        string // where the session works: the root, or the folder that an agent has of its own
	session    string // of the main session
	agent      middleware.Agent
	agentID    string // the child's own session; "" = the main one
	resumed    bool
	hooks      map[string][]compiled // by event, in order
	shared     *shared
	running    *running
	owns       bool // running is its own and not its parent's
	brought    bool // others may bring hooks
	notice     func(string)
	web        *http.Client

	mu      sync.Mutex
	halted  string   // why nothing runs until the next prompt; "" = it does
	context []string // what hooks had to say to the model, until it is told
	stopped bool     // a stop hook made the turn go on
}

// shared is what a session and its children have together.
type shared struct {
	mu   sync.Mutex
	next int          // the index that no hook has yet
	done map[int]bool // hooks that run once and have
}

// number gives n hooks indexes that no other has, and returns the first.
func (s *shared) number(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next += n
	return s.next - n
}

// running is what runs in the background of a session, or of an agent that has hooks of its own.
type running struct {
	ctx    context.Context // ends when the session closes
	cancel context.CancelFunc
	mu     sync.Mutex
	async  sync.WaitGroup
}

func within(ctx context.Context) *running {
	r := &running{}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

func newState(env middleware.Env, o Options, hooks []compiled) *state {
	s := &state{
		root: env.Project.Root, cwd: env.Project.Root, mode: o.Mode, brought: o.Brought, session: env.Session, resumed: env.Resumed, hooks: map[string][]compiled{},
		shared: &shared{next: len(hooks), done: map[int]bool{}}, running: within(context.Background()), notice: env.Notice,
		web: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for _, h := range hooks {
		s.hooks[h.Event] = append(s.hooks[h.Event], h)
	}
	return s
}

// child is the same hooks in a child session, and the child's own behind them.
func (s *state) child(env middleware.Env) (*state, error) {
	c := &state{
		root: s.root, cwd: s.cwd, mode: s.mode, session: s.session, hooks: s.hooks, shared: s.shared, notice: s.notice, web: s.web,
		agent: env.Agent, agentID: env.Session, running: s.running, brought: s.brought,
	}
	if env.Project.Root != "" {
		c.cwd = env.Project.Root
	}
	if env.Agent.Mode != "" {
		c.mode = env.Agent.Mode
	}
	if env.Notice != nil {
		c.notice = env.Notice
	}
	return c, c.adopt(env)
}

// named reports whether this is an agent that was given a task: its prompts are no user's.
func (s *state) named() bool { return s.agent.Depth > 0 && !s.agent.Fork }

// instance sets the hooks that something is configured for, and always the gate.
func (s *state) instance() *middleware.Instance {
	in := &middleware.Instance{
		Child: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) {
			c, err := s.child(env)
			if err != nil {
				return nil, err
			}
			in := c.instance()
			if !c.owns {
				in.Close = nil
			}
			return in, nil
		},
		Close: s.close,
	}
	k := &in.Hooks
	k.Gate = s.gate
	if s.any(PreToolUse) {
		k.Rewrite = s.preToolUse
	}
	if s.any(PermissionRequest, Notification) {
		k.Asked = s.asked
	}
	if s.any(PostToolUse, PostToolUseFailure) {
		k.WrapTool, k.Result = s.wrapTool, s.flowed
	}
	if s.any(PostToolBatch) {
		k.Batch = s.batch
	}
	if s.any(SessionStart, SubagentStart) {
		k.Start = s.start
	}
	if s.any(SessionEnd) && !s.named() && !s.agent.Fork {
		k.End = s.end
	}
	if len(s.hooks) == 0 && !s.brought {
		in.Unsupported = "no hooks are configured"
		return in
	}
	k.Input, in.Contribute = s.input, s.contribute
	if s.any(Stop, SubagentStop) {
		k.Stop = s.stop
	}
	return in
}

func (s *state) any(events ...string) bool {
	for _, e := range events {
		if len(s.hooks[e]) > 0 {
			return true
		}
	}
	return false
}

// close ends what still runs in the background.
func (s *state) close(ctx context.Context) error {
	s.running.mu.Lock()
	s.running.cancel()
	s.running.mu.Unlock()
	ended := make(chan struct{})
	go func() { s.running.async.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("hook: background hooks: %w", ctx.Err())
	}
}

// due are the hooks of an event that are about one of the words, in order. Those that run once are due once.
func (s *state) due(event string, words ...string) []*compiled {
	list := s.hooks[event]
	var out []*compiled
	for i := range list {
		h := &list[i]
		if !h.matches(words...) || h.Once && !s.first(h) {
			continue
		}
		out = append(out, h)
	}
	return out
}

func (s *state) first(h *compiled) bool {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	if s.shared.done[h.index] {
		return false
	}
	s.shared.done[h.index] = true
	return true
}

// payload is what hooks of an event are told.
func (s *state) payload(event string, more map[string]any) []byte {
	m := map[string]any{
		"session_id": s.session, "transcript_path": "", "cwd": s.cwd,
		"permission_mode": orElse(s.mode, "default"), "hook_event_name": event,
	}
	if s.agentID != "" {
		m["agent_id"] = s.agentID
		m["agent_type"] = orElse(s.agent.Name, "fork")
	}
	for k, v := range more {
		m[k] = v
	}
	b, err := json.Marshal(m)
	if err != nil {
		// Every value is text, a number or JSON that was checked.
		panic(fmt.Sprintf("hook: payload of %s: %v", event, err))
	}
	return b
}

// tell runs one hook, or starts it when it is not waited for.
func (s *state) tell(ctx context.Context, h *compiled, payload []byte) (said, error) {
	if !h.Async {
		out, err := s.run(ctx, h, payload)
		if out.message != "" {
			s.say(out.message)
		}
		return out, err
	}
	s.running.mu.Lock()
	closed := s.running.ctx.Err() != nil
	if !closed {
		s.running.async.Add(1)
	}
	s.running.mu.Unlock()
	if closed {
		return said{}, nil
	}
	go func() {
		defer s.running.async.Done()
		if _, err := s.run(s.running.ctx, h, payload); err != nil && s.running.ctx.Err() == nil {
			s.failed(h, err)
		}
	}()
	return said{}, nil
}

// observe runs the hooks of an event that decide nothing, and returns what they had to say.
func (s *state) observe(ctx context.Context, event string, words []string, more map[string]any) (all []said) {
	due := s.due(event, words...)
	if len(due) == 0 {
		return nil
	}
	payload := s.payload(event, more)
	for _, h := range due {
		out, err := s.tell(ctx, h, payload)
		var blocked errBlocked
		switch {
		case asBlocked(err, &blocked):
			out = said{verdict: deny, reason: blocked.reason}
		case err != nil:
			s.failed(h, err)
			continue
		}
		if out.halt {
			s.halt(out.reason)
		}
		all = append(all, out)
	}
	return all
}

func (s *state) failed(h *compiled, err error) {
	s.say(fmt.Sprintf("the %s hook at %s %v", h.Event, place(h), err))
}

func place(h *compiled) string {
	if h.Origin.File == "" && h.Origin.Layer == "" {
		return "number " + fmt.Sprint(h.index+1)
	}
	return h.Origin.String()
}

func (s *state) say(text string) {
	if s.notice != nil {
		s.notice(text)
	}
}

// halt keeps everything from running until the next prompt.
func (s *state) halt(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halted = orElse(reason, "a hook stopped it")
}

// note keeps what a hook says to the model until the next request.
func (s *state) note(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.context = append(s.context, text)
}

func (s *state) notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.context
	s.context = nil
	return out
}

// contribute tells the model what hooks had to say about calls that have their result already.
func (s *state) contribute(_ context.Context, _ *middleware.Step, tail *prompt.Tail) error {
	for _, text := range s.notes() {
		tail.Add("A hook of the user's says: " + text)
	}
	return nil
}

// gate denies what a hook stopped.
func (s *state) gate(_ context.Context, calls []*toolview.Call, out []middleware.Verdict) {
	s.mu.Lock()
	why := s.halted
	s.mu.Unlock()
	v := middleware.Verdict{Decision: middleware.Pass}
	if why != "" {
		v = middleware.Verdict{Decision: middleware.Deny, Reason: "a hook stopped this turn: " + why, Rule: "hook"}
	}
	for i := range calls {
		out[i] = v
	}
}
