package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/metaharness/peri/toolview/address"
)

const (
	maxRead  = 5 << 20
	maxTime  = 30 * time.Second
	maxHops  = 5
	agent    = "peri"
	accepted = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1"
)

// getter makes GET requests inside fixed limits. It is safe for concurrent use.
type getter struct {
	client *http.Client
	guard  func(netip.AddrPort) error // nil: every address may be dialled
	time   time.Duration
	read   int64
	// header goes with every request; where it is set, no redirect is followed with it.
	header http.Header
}

// newGetter makes a getter. No proxy of the environment is used: behind one, the address that is dialled would be the
// proxy's, and the guard would judge nothing.
func newGetter(guard func(netip.AddrPort) error) *getter {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if guard != nil {
		dialer.Control = func(_, to string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(to)
			if err != nil {
				return address.Refuse("the address %s cannot be judged", to)
			}
			return guard(at)
		}
	}
	return &getter{
		guard: guard, time: maxTime, read: maxRead,
		client: &http.Client{
			Transport: &http.Transport{
				DialContext:            dialer.DialContext,
				ForceAttemptHTTP2:      true,
				MaxIdleConns:           4,
				IdleConnTimeout:        30 * time.Second,
				TLSHandshakeTimeout:    10 * time.Second,
				MaxResponseHeaderBytes: 256 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// reply is what came back. more says that the body goes on behind what was read.
type reply struct {
	url    *url.URL
	status string
	code   int
	mime   string
	body   []byte
	more   bool
	// elsewhere is set instead of the body when the answer is a redirect to another host: rules judge a host, so that
	// one is the caller's to ask for.
	elsewhere *url.URL
}

// fetch follows redirects on one host and reads what is at the end of them.
func (g *getter) fetch(ctx context.Context, u *url.URL, accept string) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, g.time)
	defer cancel()
	for range maxHops + 1 {
		r, next, err := g.once(ctx, u, accept)
		if err != nil || next == nil {
			return r, err
		}
		if next.Hostname() != u.Hostname() || g.header != nil {
			return &reply{url: u, elsewhere: next}, nil
		}
		u = next
	}
	return nil, address.Refuse("it redirects more than %d times", maxHops)
}

func (g *getter) once(ctx context.Context, u *url.URL, accept string) (r *reply, next *url.URL, err error) {
	if err := g.check(u); err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(req.Header, g.header)
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", accept)
	res, err := g.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	if to := res.Header.Get("Location"); to != "" && res.StatusCode >= 300 && res.StatusCode < 400 {
		next, err := u.Parse(to)
		if err != nil {
			return nil, nil, address.Refuse("it redirects to an address that cannot be read")
		}
		if next, err = address.Parse(next.String()); err == nil {
			err = g.check(next)
		}
		if err != nil {
			return nil, nil, address.Refuse("it redirects to where it may not: %v", err)
		}
		return nil, next, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, g.read+1))
	if err != nil {
		return nil, nil, err
	}
	r = &reply{url: u, status: res.Status, code: res.StatusCode, mime: res.Header.Get("Content-Type"), body: body}
	if int64(len(body)) > g.read {
		r.body, r.more = body[:g.read], true
	}
	return r, nil, nil
}

// check refuses a host that is itself an address, before anything is dialled; names are judged when they are.
func (g *getter) check(u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	if at, ok := address.Literal(u.Hostname(), port); ok && g.guard != nil {
		return g.guard(at)
	}
	return nil
}

// why says in words what kept a request from succeeding.
func (g *getter) why(err error) string {
	var no address.Refused
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var e *url.Error
	switch {
	case errors.As(err, &no):
		return no.Why
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it took longer than %s", g.time)
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %q cannot be resolved", dns.Name)
	case errors.As(err, &cert):
		return "its certificate is not valid: " + cert.Err.Error()
	case errors.As(err, &e):
		return e.Err.Error()
	}
	return err.Error()
}
