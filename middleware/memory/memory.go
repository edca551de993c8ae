// Package memory keeps what should outlive a session: texts of one user about one project, saved, found and forgotten by
// tools. Where they are kept is a provider's affair; the one that is here keeps files.
package memory

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/toolview"
)

// Name is the meta key.
const Name = "MemoryMiddleware"

// Files is the provider that keeps files in a folder.
const Files = "files"

const (
	searchTool = "MemorySearch"
	saveTool   = "MemorySave"
	forgetTool = "MemoryForget"
)

var (
	//go:embed MemorySearch.md
	searchDoc string
	//go:embed MemorySave.md
	saveDoc string
	//go:embed MemoryForget.md
	forgetDoc string
)

// Provider keeps memories. It is used by any number of calls and sessions at a time. Its errors are shown to the model.
type Provider interface {
	// Search returns the best matches, at most limit, and of an empty query the newest. What it returns beside an error
	// is good: the error tells of what could not be read.
	Search(ctx context.Context, in Scope, query string, limit int) ([]Memory, error)
	// Save keeps a memory and returns its id.
	Save(ctx context.Context, in Scope, m Memory) (id string, err error)
	// Forget removes a memory and returns what it was.
	Forget(ctx context.Context, in Scope, id string) (Memory, error)
}

// Scope is whose memories are meant, and about what: nobody sees those of another.
type Scope struct {
	User string `json:"user"`
	// Project is the real path of the project's folder; "" = none.
	Project string `json:"project,omitempty"`
}

// Memory is one thing that was kept.
type Memory struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	Tags []string  `json:"tags,omitempty"`
	At   time.Time `json:"at"`
}

// Options say who keeps memories. The zero value is nobody: the tools are unsupported then.
type Options struct {
	// Provider is Files; "" is that too when a Folder is given, and else nobody.
	Provider string `json:"provider,omitempty"`
	// Folder is where Files keeps them, absolute or beginning with ~/; "" = memory in Home.
	Folder string `json:"folder,omitempty"`
	// Home is the folder of the user's settings, User whose memories they are; "" = the account of this process. Neither
	// is policy: another machine has others.
	Home string `json:"-"`
	User string `json:"-"`
	// Keeper is a provider written in Go, which goes before Provider. A program that resumes a session brings it along
	// again.
	Keeper Provider `json:"-"`
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	if o.Provider != "" && o.Provider != Files {
		return fmt.Errorf("memory: memory.provider %q: there is no such provider: write %s", o.Provider, Files)
	}
	if o.Folder != "" && !filepath.IsAbs(o.Folder) && !strings.HasPrefix(o.Folder, "~/") {
		return fmt.Errorf("memory: memory.folder %q: write an absolute path, or one that begins with ~/", o.Folder)
	}
	return nil
}

// New makes the middleware. Options that Check refuses make Open fail.
func New(o Options) middleware.Middleware {
	m := middleware.Middleware{
		Name: Name,
		Doc:  "What is kept from session to session, by user and project.",
		Deferred: toolview.MustSet(
			toolview.New(tool(searchTool, "Search memories", searchDoc, toolview.Internal, "memory_search", "search_memory"), search),
			toolview.New(tool(saveTool, "Keep a memory", saveDoc, toolview.Internal, "memory_save", "save_memory"), save),
			toolview.New(tool(forgetTool, "Remove a memory", forgetDoc, toolview.Internal, "memory_forget", "forget_memory"), forget),
		),
		Open: func(_ context.Context, env middleware.Env) (*middleware.Instance, error) { return open(env, o) },
	}
	m.Policy, _ = json.Marshal(o) // two texts always marshal
	return m
}

func tool(name, title, doc string, effects toolview.Effects, aliases ...string) toolview.Tool {
	return toolview.Tool{
		Decl:  toolview.Decl{Name: name, Aliases: aliases, Family: "memory", Category: "memory", Private: true},
		Title: title, Doc: strings.TrimSpace(doc), Effects: effects,
	}
}

func open(env middleware.Env, given Options) (*middleware.Instance, error) {
	o := Options{Home: given.Home}
	if len(env.Policy) > 0 {
		if err := json.Unmarshal(env.Policy, &o); err != nil {
			return nil, fmt.Errorf("memory: stored policy: %w", err)
		}
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	keeper := given.Keeper
	if keeper == nil {
		f, lacking := o.files()
		if lacking != "" {
			return &middleware.Instance{Unsupported: lacking}, nil
		}
		keeper = f
	}
	in, err := scope(env, given.User)
	if err != nil {
		return &middleware.Instance{Unsupported: err.Error()}, nil
	}
	return &middleware.Instance{State: &desk{keeper: keeper, in: in, now: env.Now, notice: env.Notice}}, nil
}

// scope is whose memories a session has.
func scope(env middleware.Env, name string) (Scope, error) {
	if name == "" {
		u, err := user.Current()
		if err != nil {
			return Scope{}, errors.New("the user of this process cannot be found out: " + err.Error())
		}
		name = u.Username
	}
	in := Scope{User: name}
	if env.Project.Root == "" {
		return in, nil
	}
	real, err := filepath.EvalSymlinks(env.Project.Root)
	if err != nil {
		return Scope{}, errors.New("the project's folder cannot be found: " + err.Error())
	}
	in.Project = real
	return in, nil
}
