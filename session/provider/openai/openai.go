// Package openai runs models of OpenAI's Responses API, and of the many servers that speak Chat Completions.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
	"github.com/metaharness/peri/session/provider/lower"
)

// API is what a server speaks.
type API string

const (
	// Responses is OpenAI's own.
	Responses API = "responses"
	// Chat is Chat Completions: Ollama, vLLM, llama.cpp, DeepSeek, OpenRouter and others. Nothing is sent that such a server
	// may not know.
	Chat API = "chat"
)

// Options say where and how models are asked. The zero value of a field is its default. Printing Options shows no key.
type Options struct {
	// Name is the provider's, which begins its models' names: "openai" makes openai/MODEL. "" = openai.
	Name string
	API  API    // "" = Responses
	Key  string `json:"-"`
	// KeyEnv is the variable that a missing key is to be set in, for the error that says so; "" = the server needs none.
	KeyEnv string
	// BaseURL is the server's, with its /v1; "" = OpenAI's own.
	BaseURL string
	// MaxTokens bounds one answer; 0 = as the server does. Continue is how often one that reached it is continued: see
	// exchange.
	MaxTokens int
	Continue  int
	// Effort is minimal, low, medium, high; "" = as the model does by itself. Responses alone.
	Effort string
	// NativeSearch has the API's own tool search answered by the view's, in place of the tool that runs what it found.
	// Responses alone.
	NativeSearch bool
	Retry        exchange.Policy
	// Idle is how long a server may send nothing; 0 = 5 minutes.
	Idle time.Duration
	// HTTP is the client; nil = http.DefaultClient.
	HTTP *http.Client
}

func (o Options) String() string { return fmt.Sprintf("%s at %q", o.Name, safeURL(o.BaseURL)) }

// GoString is String: the key stays out of every form of printing.
func (o Options) GoString() string { return o.String() }

// Provider makes models. It is safe for concurrent use.
type Provider struct {
	opt    Options
	client sdk.Client
}

// New checks options and makes a provider. It sends nothing and reads nothing of the environment.
func New(o Options) (*Provider, error) {
	if o.Name == "" {
		o.Name = "openai"
	}
	if o.API == "" {
		o.API = Responses
	}
	var errs []error
	if o.API != Responses && o.API != Chat {
		errs = append(errs, fmt.Errorf("the API is %q: write %s or %s", o.API, Responses, Chat))
	}
	if o.BaseURL != "" {
		if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			errs = append(errs, errors.New("the base URL is none: write https://HOST/v1"))
		}
	}
	switch o.Effort {
	case "", "none", "minimal", "low", "medium", "high", "xhigh":
	default:
		errs = append(errs, fmt.Errorf("the effort is %q: write minimal, low, medium or high", o.Effort))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	o.HTTP = exchange.Straight(o.HTTP)
	p := &Provider{opt: o}
	key := o.Key
	if key == "" {
		key = "none" // the SDK sends nothing without; servers that want no key read none
	}
	// The client is its options alone: a constructor of the SDK's would look for keys of its own.
	p.client.Options = []option.RequestOption{
		option.WithHTTPClient(o.HTTP), option.WithMaxRetries(0), option.WithAPIKey(key),
	}
	if o.BaseURL != "" {
		p.client.Options = append(p.client.Options, option.WithBaseURL(o.BaseURL))
	} else {
		p.client.Options = append(p.client.Options, option.WithEnvironmentProduction())
	}
	return p, nil
}

// Models makes the model of a name, with or without the provider's prefix.
func (p *Provider) Models(name string) (middleware.ModelFunc, error) {
	id := strings.TrimPrefix(name, p.prefix())
	switch {
	case id == "":
		return nil, fmt.Errorf("%s: %q names no model: write %sMODEL", p.opt.Name, name, p.prefix())
	case p.opt.Key == "" && p.opt.KeyEnv != "":
		return nil, fmt.Errorf("%s: there is no key: set %s", p.opt.Name, p.opt.KeyEnv)
	}
	m := &model{Provider: p, id: id}
	return m.answer, nil
}

func (p *Provider) prefix() string { return p.opt.Name + "/" }

// Check asks the server for its models, which costs no token, and so tells whether it is there and takes the key.
func (p *Provider) Check(ctx context.Context) error {
	var raw *http.Response
	if err := p.client.Get(ctx, "models", nil, &raw); err != nil {
		return p.failure(ctx, err)
	}
	return raw.Body.Close()
}

type model struct {
	*Provider
	id   string
	memo lower.Memo
}

// form writes the requests of one API and reads their streams.
type form interface {
	lower.Form
	request(memo *lower.Memo, r *middleware.Request, more []*message.Message) []byte
	path() string
	read(raw *http.Response, touch func(), sink middleware.Sink) (*message.Message, error)
}

func (m *model) answer(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(r.Messages) == 0 {
		return nil, fmt.Errorf("%s: the conversation has no message to answer", m.opt.Name)
	}
	f := m.form(r)
	x := exchange.Exchange{Provider: m.opt.Name, Retry: m.opt.Retry, Continue: m.opt.Continue}
	return x.Run(ctx, func(ctx context.Context, more []*message.Message, sink middleware.Sink) (*message.Message, error) {
		return m.ask(ctx, f, f.request(&m.memo, r, more), sink)
	}, sink)
}

func (m *model) form(r *middleware.Request) form {
	if m.opt.API == Chat {
		return &chatForm{model: m}
	}
	return newResponsesForm(m, r)
}

// ask sends one request and reads its stream.
func (m *model) ask(ctx context.Context, f form, body []byte, sink middleware.Sink) (*message.Message, error) {
	watched, touch, stop := exchange.Watch(ctx, m.opt.Idle)
	defer stop()
	var raw *http.Response
	if err := m.client.Post(watched, f.path(), body, &raw); err != nil {
		return nil, m.failure(watched, err)
	}
	defer raw.Body.Close()
	reply, err := f.read(raw, touch, sink)
	if err != nil {
		return nil, m.failure(watched, err)
	}
	reply.Role, reply.Model = message.Assistant, m.prefix()+m.id
	if uses := len(reply.Uses()); uses > 0 && (reply.Stop == "end" || reply.Stop == "") {
		reply.Stop = "tool_use"
	} else if reply.Stop == "" || uses == 0 && reply.Stop == "tool_use" {
		reply.Stop = "end"
	}
	return reply, nil
}

// errEnded is a stream that closes before its answer is whole.
var errEnded = errors.New("the stream ended before the answer did")

// own reports whether a message is this provider's, whose reasoning it takes back.
func (m *model) own(msg *message.Message) bool { return strings.HasPrefix(msg.Model, m.prefix()) }

// safeURL is a URL without what could be a secret in it.
func safeURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
