package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// answers are what people approved for longer than one call, by agent: for this session, kept with it, and for ever,
// kept under the user's folder by project. They satisfy what a mode asks and nothing else. A session and its children
// share them. They are safe for concurrent use.
type answers struct {
	file, project string // "" = what is approved for ever is kept for the session
	store         middleware.Store
	origin        meta.Origin

	mu      sync.Mutex
	session map[string][]string // agent → rules
	rules   map[string][]rule   // all that hold, compiled
}

const (
	storeKey    = "approved"
	fileVersion = 1
	mostAnswers = 2000 // of one agent; the oldest make place
)

// approvals is the file, by the real path of the project and then by agent.
type approvals struct {
	Version  int                            `json:"version"`
	Projects map[string]map[string][]string `json:"projects"`
}

// openAnswers reads what was approved before.
func openAnswers(ctx context.Context, env middleware.Env, home string) (*answers, error) {
	a := &answers{store: env.Store, session: map[string][]string{}, rules: map[string][]rule{}}
	if home != "" && env.Project.Root != "" {
		real, err := filepath.EvalSymlinks(env.Project.Root)
		if err == nil {
			a.file, a.project = filepath.Join(home, "approvals.json"), real
		}
	}
	if a.store != nil {
		raw, ok, err := a.store.Load(ctx, storeKey)
		if err != nil {
			return nil, fmt.Errorf("permission: stored approvals: %w", err)
		}
		if ok {
			if err := json.Unmarshal(raw, &a.session); err != nil {
				return nil, fmt.Errorf("permission: stored approvals: %w", err)
			}
		}
	}
	for agent, texts := range a.session {
		a.hold(agent, texts)
	}
	if a.file == "" {
		return a, nil
	}
	stored, err := readApprovals(a.file)
	if err != nil {
		// Without its answers a session asks again, which opens nothing.
		env.Notice(err.Error() + ": what was approved before is asked again")
		a.file = ""
		return a, nil
	}
	for agent, texts := range stored.Projects[a.project] {
		a.hold(agent, texts)
	}
	return a, nil
}

func readApprovals(file string) (approvals, error) {
	out := approvals{Version: fileVersion, Projects: map[string]map[string][]string{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("permission: %w", err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, fmt.Errorf("permission: %s: %w", file, err)
	}
	if out.Version != fileVersion {
		return out, fmt.Errorf("permission: %s: version %d is not known", file, out.Version)
	}
	if out.Projects == nil {
		out.Projects = map[string]map[string][]string{}
	}
	return out, nil
}

// hold compiles rules; the caller has a.mu, or a is not shared yet. What is no rule is left out: it allowed something.
func (a *answers) hold(agent string, texts []string) {
	for _, t := range texts {
		r, err := toolview.ParseRule(t, a.origin)
		if err != nil {
			continue
		}
		a.rules[agent] = append(a.rules[agent], rule{Rule: r, scoped: r.Scoped(), edits: r.Edits()})
	}
}

func (a *answers) of(agent string) []rule {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rules[agent]
}

// cover reports whether one part of a call was approved for this agent.
func (a *answers) cover(agent string, c *toolview.Call, s toolview.Subject, at toolview.Place) bool {
	if _, ok := grant(c, s); !ok {
		return false // it was not written like this when it was approved
	}
	return allowing(a.of(agent), c, s, at) != nil
}

// open reports whether a whole call was approved for this agent.
func (a *answers) open(g *gate, c *toolview.Call, subjects []toolview.Subject) bool {
	return g.opening(a.of(g.agent), c, subjects) != nil
}

// approved is the hook that learns of an answer.
func (g *gate) approved(ctx context.Context, c *toolview.Call, v middleware.Verdict, scope string) error {
	if len(v.Grants) == 0 || g.answers == nil {
		return nil
	}
	return g.answers.keep(ctx, g.agent, v.Grants, scope == Always)
}

// Always is the scope of an answer that holds in later sessions too.
const Always = "always"

func (a *answers) keep(ctx context.Context, agent string, texts []string, always bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold(agent, texts)
	if always && a.file != "" {
		return a.write(agent, texts)
	}
	a.session[agent] = latest(a.session[agent], texts)
	if a.store == nil {
		return nil
	}
	raw, err := json.Marshal(a.session)
	if err == nil {
		err = a.store.Save(ctx, storeKey, raw)
	}
	if err != nil {
		return fmt.Errorf("permission: keep an approval: %w", err)
	}
	return nil
}

// latest adds rules that are not there yet.
func latest(list, more []string) []string {
	for _, m := range more {
		list = appendOnce(list, m)
	}
	return list[max(0, len(list)-mostAnswers):]
}

func appendOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// write adds rules to the file in one step. It reads the file anew, since other sessions write it too.
func (a *answers) write(agent string, texts []string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("permission: keep an approval: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(a.file), 0o700); err != nil {
		return err
	}
	all, err := readApprovals(a.file)
	if err != nil {
		return err
	}
	if all.Projects[a.project] == nil {
		all.Projects[a.project] = map[string][]string{}
	}
	all.Projects[a.project][agent] = latest(all.Projects[a.project][agent], texts)
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(a.file), ".approvals-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), a.file)
}

// grant is the rule by which one part of a call is approved for longer: what is written, and nothing that merely looks
// alike. What is decided only when it runs cannot be approved so.
func grant(c *toolview.Call, s toolview.Subject) (string, bool) {
	if s.Opaque || strings.TrimSpace(s.Value) == "" || len(s.Value) > 1000 {
		return "", false
	}
	for _, a := range s.Also {
		if a != "*" && a != script && wild(a) && !(s.Edit && s.Kind == toolview.Path) {
			return "", false
		}
	}
	name := c.Name()
	value := s.Value
	switch {
	case s.Kind == toolview.Path && s.Edit:
		name = "Edit"
	case s.Kind == toolview.Command && started(c):
		name = c.Tool().DeniedWith[0]
	case s.Kind == toolview.Domain:
		return name + "(domain:" + toolview.Escape(value) + ")", true
	case s.Kind == toolview.Name && c.Tool().Subjects == nil:
		return name, true // a server's tool, which is known by its name alone
	}
	return name + "(" + toolview.Escape(strings.TrimSpace(value)) + ")", true
}

// wild reports whether a pattern has a wildcard.
func wild(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		}
	}
	return false
}

// grantsOf are the rules by which a call that runs no command is approved for longer.
func grantsOf(c *toolview.Call, subjects []toolview.Subject) []string {
	if len(subjects) == 0 {
		return []string{c.Name()}
	}
	var out []string
	for _, s := range subjects {
		text, ok := grant(c, s)
		if !ok {
			return nil
		}
		out = appendOnce(out, text)
	}
	return out
}
