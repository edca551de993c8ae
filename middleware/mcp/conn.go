package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errPermanent marks what another attempt will not mend.
var errPermanent = errors.New("it is not tried again")

// conn is one connection to a server, from its handshake to its end.
type conn struct {
	cs   *sdk.ClientSession
	proc *process // nil: it is reached over HTTP
	web  *web     // nil: it is a process
	lost losses
	done chan struct{}
	err  error // why it ended; read after done
}

// discovery is how long a server may take for the first question of the newest protocol. One that knows only older ones may
// not answer it at all.
const discovery = 5 * time.Second

// connect starts or reaches the server and shakes hands. When ctx ends first, nothing is left behind.
func (s *server) connect(ctx context.Context) (*conn, error) {
	def, err := s.Server.expanded()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPermanent, err)
	}
	s.keep(&def)
	c := &conn{done: make(chan struct{})}
	var t sdk.Transport
	if def.Command != "" {
		if c.proc, err = start(&def, s.hub.env.Project.Root, s.hub.opt.Grace); err != nil {
			return nil, err
		}
		t = sieve{&sdk.IOTransport{Reader: c.proc.messages(), Writer: input{c.proc}, MaxLineLength: maxMessage}, c.lost.add}
	} else if c.web, t, err = s.reach(&def); err != nil {
		return nil, err
	}
	// A peer that neither answers nor ends would hold the handshake up.
	stop := context.AfterFunc(ctx, c.cut)
	c.cs, err = s.client(c).Connect(ctx, t, nil)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.cut()
		if c.cs != nil {
			_ = c.cs.Close()
		}
		return nil, s.explain(ctx, c, err)
	}
	go func() {
		err := c.cs.Wait()
		c.err = s.explain(context.Background(), c, err)
		close(c.done)
	}()
	return c, nil
}

// cut ends a connection without asking, and its process.
func (c *conn) cut() {
	if c.web != nil {
		c.web.stop()
	}
	if c.proc != nil {
		c.proc.close()
	}
}

// close ends a connection: politely for as long as the grace is, then by force. It returns when nothing is left of it.
func (c *conn) close(grace time.Duration) {
	if c.proc != nil {
		c.proc.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if !closing(ctx, func() { _ = c.cs.Close() }) {
		c.cut()
	}
	c.cut()
	<-c.done
}

// explain is what people are told of a failure: what the server wrote is worth more than that its pipe broke.
func (s *server) explain(ctx context.Context, c *conn, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", s.hub.opt.Start)
	}
	if err == nil {
		err = errors.New("the connection ended")
	}
	if c.web != nil {
		return c.web.explain(err)
	}
	if c.proc == nil {
		return err
	}
	select {
	case <-c.proc.exited:
		if st := c.proc.cmd.ProcessState; st != nil && ctx.Err() == nil {
			err = fmt.Errorf("the server ended (%v)", st)
		}
	default:
	}
	if said := c.proc.said(); said != "" {
		if at := strings.LastIndexByte(said[:max(0, len(said)-1)], '\n'); len(said) > 500 && at > 0 {
			said = said[max(0, len(said)-500):]
		}
		err = fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// client is what the server sees of this session.
func (s *server) client(c *conn) *sdk.Client {
	opts := &sdk.ClientOptions{
		Logger:       s.hub.env.Log(),
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.changed()
		},
		PromptListChangedHandler: func(context.Context, *sdk.PromptListChangedRequest) {
			s.changed()
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {
			s.changed()
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.progress(r.Params)
		},
		//lint:ignore SA1019 servers of every protocol so far send it
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			s.hub.env.Log().Debug("mcp server", "server", s.Name, "level", string(r.Params.Level), "data", r.Params.Data)
		},
	}
	if s.hub.env.CanAsk {
		opts.ElicitationHandler = s.elicit
		opts.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
	}
	root := s.hub.env.Project.Root
	if root != "" {
		//lint:ignore SA1019 servers of every protocol so far may ask for it
		opts.Capabilities.RootsV2 = &sdk.RootCapabilities{}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "peri", Title: "peri", Version: version()}, opts)
	if root != "" {
		//lint:ignore SA1019 as above
		client.AddRoots(&sdk.Root{URI: fileURI(root), Name: filepath.Base(root)})
	}
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "server/discover" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, discovery)
				defer cancel()
			}
			return next(ctx, method, req)
		}
	})
	return client
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}
