// Package address reads web addresses as they are judged by rules and dialled, which has to be one and the same, and tells
// the public net from what is private. More than one capability reaches out by addresses that others wrote.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// Refused is an address that must not be reached, in words that a model can use.
type Refused struct{ Why string }

func (r Refused) Error() string { return r.Why }

// Refuse makes a Refused.
func Refuse(format string, args ...any) error { return Refused{fmt.Sprintf(format, args...)} }

// Parse reads an http or https address as it is really requested: the host in lower-case ASCII, without a final dot, no
// user, no fragment. Its errors are Refused.
func Parse(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, Refuse("the address cannot be read (%v): send a full one, such as https://example.org/page", err)
	}
	if u.Scheme = strings.ToLower(u.Scheme); u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return nil, Refuse("only http:// and https:// addresses are fetched: send a full one, such as https://example.org/page")
	}
	if u.User != nil {
		return nil, Refuse("the address carries a user name or a password: leave it out")
	}
	host, err := Host(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = host
	if port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Host is the one spelling of a host that is judged and dialled.
func Host(host string) (string, error) {
	if host == "" {
		return "", Refuse("the address names no host: send a full one, such as https://example.org/page")
	}
	if strings.Contains(host, ":") {
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.Zone() != "" {
			return "", Refuse("%q is no address of a host", host)
		}
		return ip.Unmap().String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Names with "_" are in use although the standard knows none; everything else that IDNA refuses is refused.
		if strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return "", Refuse("%q is no name of a host", host)
		}
		ascii = strings.ToLower(host)
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if ascii == "" || strings.Contains(ascii, "..") {
		return "", Refuse("%q is no name of a host", host)
	}
	// What ends in a number is an IPv4 address to browsers and to some resolvers: 127.1, 0x7f000001, 017700000001.
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	if numeric(last) {
		if _, err := netip.ParseAddr(ascii); err != nil {
			return "", Refuse("%q looks like an address and is none: write four numbers, such as 192.0.2.1", host)
		}
	}
	return ascii, nil
}

func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// special are the ranges that are not of the public net (the IANA special-purpose registries), and what clouds put
// their metadata at.
func special() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32",                                     // Azure
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", // inside 2000::/3; tunnels among them
	} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// Public lets a dial through that goes to the public net. It is asked with the resolved address of every connection, so
// a name that resolves anew between a check and a dial gains nothing.
func Public(to netip.AddrPort) error {
	ip := to.Addr().WithZone("").Unmap()
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	ok := ip.Is4() || netip.MustParsePrefix("2000::/3").Contains(ip)
	for _, p := range special() {
		ok = ok && !p.Contains(ip)
	}
	if !ok {
		return Refuse("%s is not an address of the public net, and web.allow_private is false", ip)
	}
	return nil
}

// Literal is the address that a host is, when it is one.
func Literal(host, port string) (netip.AddrPort, bool) {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, false
	}
	n, _ := net.LookupPort("tcp", port)
	return netip.AddrPortFrom(ip, uint16(n)), true
}
