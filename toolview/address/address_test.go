package address

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressHasOneSpelling(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain":             {"https://example.org/a?b=c", "https://example.org/a?b=c"},
		"blanks":            {" https://example.org \n", "https://example.org"},
		"capitals":          {"HTTP://EXAMPLE.org/A", "http://example.org/A"},
		"final dot":         {"http://example.org./x", "http://example.org/x"},
		"fragment":          {"http://example.org/x#y", "http://example.org/x"},
		"port":              {"http://example.org:8080/", "http://example.org:8080/"},
		"other script":      {"http://bücher.example/", "http://xn--bcher-kva.example/"},
		"wide letters":      {"http://ｅxample．org/", "http://example.org/"},
		"wide digits":       {"http://127。0。0。1/", "http://127.0.0.1/"},
		"IPv6":              {"http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"},
		"IPv6 written long": {"http://[2606:4700:0:0:0:0:0:1111]/", "http://[2606:4700::1111]/"},
		"IPv6 mapped":       {"http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"},
		"underscore":        {"http://my_host.example/", "http://my_host.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := Parse(tc.in)
			require.NoError(t, err)
			require.Equal(t, tc.want, u.String())
		})
	}
}

func TestAddressThatIsNoneIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"nothing":       {"", "only http:// and https://"},
		"no scheme":     {"example.org/x", "only http:// and https://"},
		"file":          {"file:///etc/passwd", "only http:// and https://"},
		"script":        {"javascript:alert(1)", "only http:// and https://"},
		"opaque":        {"http:example.org", "only http:// and https://"},
		"no host":       {"http:///x", "names no host"},
		"user":          {"http://ann@example.org/", "user name or a password"},
		"password":      {"http://ann:pw@example.org/", "user name or a password"},
		"empty user":    {"http://@example.org/", "user name or a password"},
		"one number":    {"http://2130706433/", "looks like an address"},
		"hexadecimal":   {"http://0x7f000001/", "looks like an address"},
		"octal":         {"http://0177.0.0.1/", "looks like an address"},
		"short":         {"http://127.1/", "looks like an address"},
		"IPv6 zone":     {"http://[fe80::1%25eth0]/", "no address of a host"},
		"control bytes": {"http://exa\x00mple.org/", "cannot be read"},
		"blank inside":  {"http://exam ple.org/", "cannot be read"},
		"two dots":      {"http://example..org/", "no name of a host"},
		"bad port":      {"http://example.org:http/", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.in)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestOnlyThePublicNetIsDialled(t *testing.T) {
	for _, ip := range []string{"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"} {
		require.NoError(t, Public(netip.AddrPortFrom(netip.MustParseAddr(ip), 443)), ip)
	}
	for _, ip := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.9",
		"224.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "fe80::1", "fe80::1%eth0",
		"fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "64:ff9b::7f00:1", "64:ff9b:1::1",
		"3fff::1", "100::1",
	} {
		require.Error(t, Public(netip.AddrPortFrom(netip.MustParseAddr(ip), 80)), ip)
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://example.org/a", "http://[::ffff:7f00:1]:80/", "http://0x7f.1", "http://ｅ．org", "http://a@b/", "http://xn--/", "http://./"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		require.Nil(t, u.User)
		require.NotEmpty(t, u.Hostname())
		again, err := Parse(u.String())
		require.NoError(t, err)
		require.Equal(t, u.Hostname(), again.Hostname(), "a host that was judged reads the same when it is dialled")
		if at, ok := Literal(u.Hostname(), "80"); ok {
			require.False(t, at.Addr().Is4In6())
		}
	})
}
