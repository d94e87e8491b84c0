// Package web reads pages of the internet for agents, and asks a search engine.
//
//	client := web.New(web.Settings{Fetch: true})
//	page, err := client.Fetch(ctx, "https://example.com")
//
// An agent chooses what is fetched, and a page may have told it to. So nothing is fetched from this machine and the
// networks around it: each address is checked when a connection to it begins, also after a redirect, whatever its name
// led to before. A page is parsed in a worker.
package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/agent/tools/document"
	"lethe/internal/secret"
	"lethe/internal/worker"
)

// Settings are the table [web] of config.toml.
type Settings struct {
	Fetch  bool     `toml:"fetch"`
	Allow  []string `toml:"allow"` // addresses that are fetched from although they are not public
	Search string   `toml:"search" one:"searxng brave tavily"`
	URL    string   `toml:"url"`     // of SearXNG
	KeyEnv string   `toml:"key_env"` // the environment variable with the key of Brave or Tavily
}

// Variable is the environment variable with the key of the search engine.
func (s Settings) Variable() string { return cmp.Or(s.KeyEnv, strings.ToUpper(s.Search)+"_API_KEY") }

// Key returns the key of the search engine, or "".
func (s Settings) Key() string { return secret.Value(s.Variable()) }

// Check refuses settings that make no sense.
func (s Settings) Check() error {
	for _, address := range s.Allow {
		if _, err := netip.ParseAddr(address); err != nil {
			return fmt.Errorf("web.allow: %q is not an address such as \"192.168.1.5\"", address)
		}
	}
	if s.Search == "searxng" && !strings.HasPrefix(s.URL, "http") {
		return errors.New("web.url is not the address of a SearXNG, such as \"http://localhost:8888\"")
	}
	return nil
}

const (
	maxPage      = 10 << 20 // bytes, unpacked
	maxHeader    = 1 << 20  // bytes
	maxTime      = 20 * time.Second
	maxRedirects = 5
)

// Client fetches and searches. It is safe for concurrent use.
type Client struct {
	Settings
	pages, engine *http.Client
}

// New makes a client, which opens connections only to fetch and to search.
func New(s Settings) *Client {
	redirect := func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}
	engine := &http.Transport{DisableKeepAlives: true}
	return &Client{s, &http.Client{Transport: s.Transport(), CheckRedirect: redirect}, &http.Client{Transport: engine}}
}

// Transport connects to public and to allowed addresses.
func (s Settings) Transport() *http.Transport {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return s.check(address) }}
	return &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
	}
}

// check refuses an address, as the dialer found it, that is not public.
func (s Settings) check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	addresses, _ := net.InterfaceAddrs() // without them, the known networks are refused all the same
	isNear := slices.ContainsFunc(networksOf(addresses), func(network netip.Prefix) bool { return network.Contains(ip) })
	isFar := public(ip) && !isNear
	if !isFar && !slices.Contains(s.Allow, ip.String()) {
		return fmt.Errorf("%s is an address of this machine or a private network, and refused; people can allow it "+
			"with allow in [web] of config.toml", ip)
	}
	return nil
}

// networksOf returns the networks of this machine's addresses: a public address may be its own, or of a neighbour behind
// the same firewall.
func networksOf(addresses []net.Addr) (networks []netip.Prefix) {
	for _, address := range addresses {
		network, err := netip.ParsePrefix(address.String())
		if err == nil && network.Bits() > 0 {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// private are the networks that netip does not know as such, and those that lead to others inside of them.
// 168.63.129.16 has the metadata of Azure.
const private = "0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 168.63.129.16/32 " +
	"2001::/23 2002::/16 3fff::/20"

// routed has all public addresses of version 6; NAT64 is not in it.
var routed = netip.MustParsePrefix("2000::/3")

// public reports whether an address is one of the internet.
func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	if ip.Is6() && !routed.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(private), func(p string) bool { return netip.MustParsePrefix(p).Contains(ip) })
}

// Page is a fetched page.
type Page struct {
	URL   string // where the redirects ended
	Type  string // like text/html
	Title string // in one line, or ""
	Date  string // when it was published, or ""
	Text  []byte // valid UTF-8: Markdown of a page, the text of a document; of anything else nil
	Body  []byte // as it was sent
}

// Fetch gets what is at an address. What has no text is returned without an error.
func (c *Client) Fetch(ctx context.Context, address string) (Page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it took longer than %v", maxTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Page{}, err
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; Lethe)")
	req.Header.Set("Accept", "text/markdown, text/html, text/plain;q=0.9, */*;q=0.5")
	body, resp, err := do(c.pages, req)
	if err != nil {
		return Page{}, err
	}
	kind := cmp.Or(resp.Header.Get("Content-Type"), http.DetectContentType(body))
	media, _, _ := mime.ParseMediaType(kind)
	page := Page{URL: resp.Request.URL.String(), Type: cmp.Or(media, "application/octet-stream"), Body: body}
	textual := strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || strings.HasSuffix(media, "xml")
	switch {
	case document.Is(body[:min(len(body), 8<<10)]):
		page.Text, err = document.Text(ctx, body)
	case media == "text/html" || media == "application/xhtml+xml":
		err = page.read(ctx, kind)
	case textual && !bytes.ContainsRune(body, 0):
		page.Text = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return page, err
}

// read turns HTML into Markdown.
func (p *Page) read(ctx context.Context, kind string) error {
	out, err := worker.Run(ctx, "page", slices.Concat([]byte(kind+"\n"+p.URL+"\n"), p.Body))
	if err != nil {
		return err
	}
	title, rest, _ := bytes.Cut(out, []byte("\n"))
	date, text, _ := bytes.Cut(rest, []byte("\n"))
	p.Title, p.Date, p.Text = string(title), string(date), text
	return nil
}

// causeOf returns why a context has ended, which says more than an error of the request that it cut off; else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// do sends a request and reads the answer, which has to be a good one.
func do(client *http.Client, req *http.Request) ([]byte, *http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, causeOf(req.Context(), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case err != nil:
		err = causeOf(req.Context(), err)
	case resp.StatusCode/100 != 2:
		err = fmt.Errorf("%s answers %s", req.URL.Host, resp.Status)
	case len(body) > maxPage:
		err = fmt.Errorf("it has more than %d MB", maxPage>>20)
	}
	return body, resp, err
}
