package markup

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxURL is the longest address, in bytes, that becomes a link. A longer one is shown as text.
const maxURL = 2048

// checkURL returns an error unless Telegram takes url as the target of a text_link. A wrong one
// is no small matter: the server refuses the whole message for it. Telegram would also take
// `README.md`, as http://readme.md/, and tg://user?id=…, if it knows the user; both are refused
// here, for the first is seldom meant and the second may fail.
func checkURL(url string) error {
	if url == "" || len(url) > maxURL {
		return fmt.Errorf("url of %d bytes", len(url))
	}
	for _, r := range url {
		if r <= ' ' || r == 0x7f || r == '\uFFFD' || foreign(r) {
			return fmt.Errorf("url %q: character %U", url, r)
		}
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return fmt.Errorf("url %q: no scheme", url)
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return checkHost(url, authority)
	case "tg":
		if strings.EqualFold(authority, "user") {
			return fmt.Errorf("url %q: names a user, whom Telegram may not know", url)
		}
		if authority == "" || strings.Trim(strings.ToLower(authority), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Errorf("url %q: wrong name %q", url, authority+tail)
		}
		return nil
	}
	return fmt.Errorf("url %q: unsupported scheme", url)
}

// checkHost judges `user@host:port` of an http URL as Telegram's own parser does.
func checkHost(url, authority string) error {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	// A colon behind the last bracket begins a port; one inside belongs to an IPv6 address.
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		port, err := strconv.Atoi(host[i+1:])
		if err != nil || port < 1 || port > 65535 {
			return fmt.Errorf("url %q: wrong port", url)
		}
		host = host[:i]
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return fmt.Errorf("url %q: wrong IPv6 address", url)
		}
		return nil
	}
	// Telegram knows no host without a dot: localhost and the names of a home network are text.
	if strings.Trim(host, ".") == "" || !strings.Contains(host, ".") {
		return fmt.Errorf("url %q: host %q has no dot", url, host)
	}
	for i := 0; i < len(host); i++ {
		switch c := host[i]; {
		case c >= 0x80, 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte(".-_!$,~*'();&+=", c) >= 0:
		case c == '%' && i+2 < len(host) && isHex(host[i+1]) && isHex(host[i+2]):
			i += 2
		default:
			return fmt.Errorf("url %q: character %q in the host", url, c)
		}
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
