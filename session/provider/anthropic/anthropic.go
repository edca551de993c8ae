// Package anthropic runs models of Anthropic's Messages API, and of servers that speak it.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
	"github.com/metaharness/peri/session/provider/lower"
)

// Prefix begins the names of the models.
const Prefix = "anthropic/"

// Options say where and how models are asked. The zero value of a field is its default; Key is needed. Printing Options
// shows no key.
type Options struct {
	Key string `json:"-"`
	// KeyEnv is the variable that a missing key is to be set in, for the error that says so; "" = ANTHROPIC_API_KEY.
	KeyEnv string
	// BaseURL is a server that speaks the API; "" = Anthropic's own.
	BaseURL string
	// Version is the API's version; "" = the SDK's for Anthropic itself, and 2023-06-01 for a server of one's own.
	Version string
	// MaxTokens bounds one answer; 0 = 32000. Continue is how often one that reached it is continued: see exchange.
	MaxTokens int
	Continue  int
	// Thinking is "" (as the model does by itself), adaptive, disabled, or a budget in tokens.
	Thinking string
	// TTL is how long the cached prefix is kept: "" = five minutes, or 1h.
	TTL string
	// NativeSearch sends deferred tools as the API's own deferred tools, and the tools that the search found as references,
	// in place of the tool that runs them.
	NativeSearch bool
	Retry        exchange.Policy
	// Idle is how long a server may send nothing; 0 = 5 minutes.
	Idle time.Duration
	// HTTP is the client; nil = http.DefaultClient.
	HTTP *http.Client
}

func (o Options) String() string { return fmt.Sprintf("anthropic at %q", safeURL(o.BaseURL)) }

// GoString is String: the key stays out of every form of printing.
func (o Options) GoString() string { return o.String() }

// Provider makes models. It is safe for concurrent use.
type Provider struct {
	opt    Options
	client sdk.Client
}

// New checks options and makes a provider. It sends nothing and reads nothing of the environment.
func New(o Options) (*Provider, error) {
	var errs []error
	if o.BaseURL != "" {
		if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			errs = append(errs, errors.New("the base URL is none: write https://HOST"))
		}
	}
	switch o.Thinking {
	case "", "adaptive", "disabled":
	default:
		if n, err := strconv.Atoi(o.Thinking); err != nil || n < 1024 {
			errs = append(errs, fmt.Errorf("thinking is %q: write adaptive, disabled or a budget of at least 1024 tokens", o.Thinking))
		}
	}
	if o.TTL != "" && o.TTL != "5m" && o.TTL != "1h" {
		errs = append(errs, fmt.Errorf("the cache's time is %q: write 5m or 1h", o.TTL))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	if o.KeyEnv == "" {
		o.KeyEnv = "ANTHROPIC_API_KEY"
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = 32000
	}
	o.HTTP = exchange.Straight(o.HTTP)
	p := &Provider{opt: o}
	// The client is its options alone: a constructor of the SDK's would look for keys of its own.
	p.client.Options = p.options()
	return p, nil
}

func (p *Provider) options() []option.RequestOption {
	o := p.opt
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(o.HTTP), option.WithMaxRetries(0), option.WithAPIKey(o.Key),
	}
	version := o.Version
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL), option.WithHeader("x-api-key", o.Key))
		if version == "" {
			version = "2023-06-01"
		}
	}
	if version != "" {
		opts = append(opts, option.WithHeader("anthropic-version", version))
	}
	return opts
}

// Models makes the model of a name, with or without Prefix.
func (p *Provider) Models(name string) (middleware.ModelFunc, error) {
	id := strings.TrimPrefix(name, Prefix)
	switch {
	case id == "":
		return nil, fmt.Errorf("anthropic: %q names no model: write %sMODEL", name, Prefix)
	case p.opt.Key == "":
		return nil, fmt.Errorf("anthropic: there is no key: set %s", p.opt.KeyEnv)
	}
	m := &model{Provider: p, id: id}
	return m.answer, nil
}

// Check asks the server for its models, which costs no token, and so tells whether it is there and takes the key.
func (p *Provider) Check(ctx context.Context) error {
	var raw *http.Response
	if err := p.client.Get(ctx, "v1/models", nil, &raw); err != nil {
		return p.failure(ctx, err)
	}
	return raw.Body.Close()
}

type model struct {
	*Provider
	id   string
	memo lower.Memo
}

func (m *model) answer(ctx context.Context, r *middleware.Request, sink middleware.Sink) (*message.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(r.Messages) == 0 {
		return nil, errors.New("anthropic: the conversation has no message to answer")
	}
	f := m.form(r)
	x := exchange.Exchange{Provider: "anthropic", Retry: m.opt.Retry, Continue: m.opt.Continue}
	return x.Run(ctx, func(ctx context.Context, more []*message.Message, sink middleware.Sink) (*message.Message, error) {
		return m.ask(ctx, f, f.request(&m.memo, r, more), sink)
	}, sink)
}

// ask sends one request and reads its stream.
func (m *model) ask(ctx context.Context, f *form, body []byte, sink middleware.Sink) (*message.Message, error) {
	watched, touch, stop := exchange.Watch(ctx, m.opt.Idle)
	defer stop()
	var raw *http.Response
	err := m.client.Post(watched, "v1/messages", body, &raw)
	if err != nil {
		return nil, m.failure(watched, err)
	}
	stream := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(raw), nil)
	defer stream.Close()
	a := reading{sink: sink, at: map[int64]int{}}
	for stream.Next() {
		touch()
		e := stream.Current()
		a.hear(&e)
	}
	if err := stream.Err(); err != nil {
		return nil, m.failure(watched, err)
	}
	if !a.ended {
		return nil, &message.Failure{Provider: "anthropic", Kind: message.ErrUnavailable, Text: "the stream ended before the answer did"}
	}
	reply := a.message()
	reply.Model = Prefix + m.id
	f.back(reply)
	return reply, nil
}

// safeURL is a URL without what could be a secret in it.
func safeURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
