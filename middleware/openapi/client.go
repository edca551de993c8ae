package openapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/metaharness/peri/toolview/address"
)

const (
	// maxBody bounds what is read of one answer, maxDocument of one document.
	maxBody     = 16 << 20
	maxDocument = 16 << 20
	maxHops     = 5
)

// client makes requests. It is safe for concurrent use. No proxy of the environment is used: behind one, the address that
// is dialled would be the proxy's, and the guard would judge nothing.
type client struct {
	http  *http.Client
	guard func(netip.AddrPort) error // nil: every address may be dialled
}

func newClient(guard func(netip.AddrPort) error) *client {
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
	return &client{guard: guard, http: &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// reply is what came back. more says that it goes on behind what was read.
type reply struct {
	status string
	code   int
	mime   string
	body   []byte
	more   bool
	// elsewhere is where a redirect leads that is not followed: the credentials, and what rules said of the host, are for
	// this one.
	elsewhere *url.URL
}

// do sends a request. Redirects are followed for what only reads, and on the same scheme, host and port.
func (c *client) do(req *http.Request, most int64) (*reply, error) {
	for range maxHops + 1 {
		r, next, err := c.once(req, most)
		if err != nil || next == nil {
			return r, err
		}
		reads := req.Method == http.MethodGet || req.Method == http.MethodHead
		if !reads || next.Scheme != req.URL.Scheme || next.Host != req.URL.Host {
			r.elsewhere = next
			return r, nil
		}
		again := req.Clone(req.Context())
		again.URL = next
		req = again
	}
	return nil, address.Refuse("it redirects more than %d times", maxHops)
}

func (c *client) once(req *http.Request, most int64) (*reply, *url.URL, error) {
	if c.guard != nil {
		port := req.URL.Port()
		if port == "" {
			port = req.URL.Scheme
		}
		if at, ok := address.Literal(req.URL.Hostname(), port); ok {
			if err := c.guard(at); err != nil {
				return nil, nil, err
			}
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	r := &reply{status: res.Status, code: res.StatusCode, mime: res.Header.Get("Content-Type")}
	if to := res.Header.Get("Location"); to != "" && res.StatusCode >= 300 && res.StatusCode < 400 {
		next, err := req.URL.Parse(to)
		if err == nil {
			next, err = address.Parse(next.String())
		}
		if err != nil {
			return nil, nil, address.Refuse("it redirects to an address that cannot be used")
		}
		return r, next, nil
	}
	if r.body, err = io.ReadAll(io.LimitReader(res.Body, most+1)); err != nil {
		return nil, nil, err
	}
	if int64(len(r.body)) > most {
		r.body, r.more = r.body[:most], true
	}
	return r, nil, nil
}

// why says in words what kept a request from succeeding, without the address, which may carry a key.
func why(err error, limit time.Duration) string {
	var no address.Refused
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var e *url.Error
	switch {
	case errors.As(err, &no):
		return no.Why
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it took longer than %s", limit)
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %q cannot be resolved", dns.Name)
	case errors.As(err, &cert):
		return "its certificate is not valid: " + cert.Err.Error()
	case errors.As(err, &e):
		return strings.ReplaceAll(e.Err.Error(), e.URL, "the address")
	}
	return err.Error()
}
