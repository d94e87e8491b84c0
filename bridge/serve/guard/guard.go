// Package guard decides which HTTP requests reach handlers. It is in front of every path of
// lethe serve:
//
//	g, err := guard.New(guard.Config{Token: token})
//	err = g.Server(mux).Serve(listener)
//
// A request passes when, in this order, its Host is a name of this machine or a listed one
// (against DNS rebinding), it has the token or the cookie that a login link gave, and no other
// site made the browser send it. Its body is bounded, and what is slow is cut off. docs/serve.md
// has the rules in the words of users.
package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config holds the secret that a guard asks for, and the names of its server.
type Config struct {
	Token   string
	People  map[string]string // by name: a token for what its person may see at /api/, and nothing else
	Hosts   []string          // names in Host, beside the names of this machine, at which the page is, too
	Origins []string          // their scripts may use the server with the token: https://example.org
	TLS     bool              // the cookie goes over TLS only
	Log     *slog.Logger      // may be nil
}

// mostBad limits the wrong tokens of an address that are answered with 401 in a minute.
const mostBad = 10

// Guard lets requests in. Its methods may be called from any goroutine.
type Guard struct {
	Host string // of the page, a secret: nobody who lacks the token can know it

	cfg   Config
	log   *slog.Logger
	cross *http.CrossOriginProtection
	began time.Time
	first int64    // a login code that ends earlier was made before the guard began, unless the clock was put back
	used  sync.Map // login codes

	mu    sync.Mutex
	since time.Time            // when bad was last emptied
	bad   map[netip.Prefix]int // wrong tokens by peer, within a minute
}

// New makes a guard. It refuses an empty token, and a text that is no origin.
func New(config Config) (*Guard, error) {
	guard := &Guard{
		cfg: config, Host: pageHost(config.Token), log: cmp.Or(config.Log, slog.New(slog.DiscardHandler)),
		cross: http.NewCrossOriginProtection(), began: time.Now(), bad: map[netip.Prefix]int{},
	}
	guard.first = guard.began.Add(linkTime).Unix()
	for _, origin := range config.Origins {
		if err := guard.cross.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("origin %q is not of the form https://example.org", origin)
		}
	}
	if config.Token == "" {
		return nil, errors.New("a guard needs a token")
	}
	return guard, nil
}

// Protect guards next. GET /healthz is answered without a token, and so is /login with a code of a
// link. Requests below /hooks/ reach next without one: their handler asks for their own.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = pace(w, r)
		g.headers(w.Header())
		if !g.knowsHost(r.Host) {
			Refuse(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("%.100q is no name of this server", r.Host),
				"lethe serve --open prints a link to the page; "+
					"a name of your own has to be in hosts of [serve] in config.toml")
			return
		}
		if g.listed(w, r) {
			return
		}
		person := g.whose(r)
		switch {
		case r.URL.Path == "/healthz":
			fmt.Fprintln(w, "ok")
		case r.URL.Path == "/login" && r.Method == http.MethodGet:
			g.login(w, r)
		case person != "" && !strings.HasPrefix(r.URL.Path, "/api/"):
			refuseUnknown(w, r, http.StatusNotFound)
		case person == "" && !strings.HasPrefix(r.URL.Path, "/hooks/") && !g.known(w, r):
		case g.foreign(r) != nil:
			Refuse(w, r, http.StatusForbidden, "another site made the browser send this",
				"open the page by its own address; "+
					"scripts of another site have to be listed in origins of [serve] in config.toml")
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, person)))
		}
	})
}

type personKey struct{}

// Person returns the person whose own token a request has shown, or "": it has the token for everything.
func Person(r *http.Request) string {
	name, _ := r.Context().Value(personKey{}).(string)
	return name
}

// whose returns the person whose own token a request shows, or "".
func (g *Guard) whose(r *http.Request) string {
	token := Bearer(r)
	for person, own := range g.cfg.People {
		if token != "" && Same(token, own) {
			return person
		}
	}
	return ""
}

// headers has browsers run nothing that is not of this server, and show it in no frame.
func (g *Guard) headers(header http.Header) {
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store") // a handler of files that never change says otherwise
}

// knowsHost says whether a browser that was led here by a name meant this server.
func (g *Guard) knowsHost(host string) bool {
	return IsLoopback(nameIn(host)) || g.hasPage(host)
}

// IsLoopback reports whether a name or an address is this machine's, and known to everybody.
func IsLoopback(name string) bool {
	ip, _ := netip.ParseAddr(name) // which is no loopback after an error
	return name == "localhost" || ip.IsLoopback()
}

// hasPage says whether the page is at a host, so that cookies are good there. At localhost and 127.0.0.1 they
// are not: a browser sends a cookie to every port of a host, and so to whatever else runs there.
func (g *Guard) hasPage(host string) bool {
	name := nameIn(host)
	return name == g.Host || slices.Contains(g.cfg.Hosts, name)
}

// nameIn returns the name, or the address, in the Host of a request.
func nameIn(host string) string {
	return strings.ToLower(strings.TrimSuffix((&url.URL{Host: host}).Hostname(), "."))
}

// listed lets the scripts of a listed origin read answers, and answers what their browsers ask
// before they send anything.
func (g *Guard) listed(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(g.cfg.Origins, origin) {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "Retry-After")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// foreign returns an error for a request that another site made a browser send, even to look. A listed site has to show
// the token: a browser may send the cookie along, where both sites are of one domain.
func (g *Guard) foreign(r *http.Request) error {
	change := *r
	change.Method = http.MethodPost // which net/http takes seriously
	if Bearer(r) == "" {
		return http.NewCrossOriginProtection().Check(&change)
	}
	return g.cross.Check(&change)
}

// known says whether a request has the token or the cookie, and refuses it otherwise.
func (g *Guard) known(w http.ResponseWriter, r *http.Request) bool {
	if token := Bearer(r); token != "" {
		if Same(token, g.cfg.Token) {
			return true
		}
		g.Wrong(w, r, "it is in bridges/serve/token of the home")
		return false
	}
	// A browser has no token to show when another site uses it. What runs at another port of the host can
	// set a cookie of this name, too.
	ours := func(c *http.Cookie) bool {
		_, ok := verify(g.cfg.Token, "session", c.Value)
		return ok
	}
	if g.hasPage(r.Host) && slices.ContainsFunc(r.CookiesNamed(g.cookie()), ours) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="lethe"`)
	Refuse(w, r, http.StatusUnauthorized, "this needs the token",
		"send it as Authorization: Bearer …, never in a URL; "+
			"a browser gets in by the link that lethe serve --open prints")
	return false
}

// Wrong refuses a request with a wrong token, also for handlers with tokens of their own. Past ten such requests of an
// address in a minute it says so, and logs it once. The right token passes all the same:
// everybody on this machine has one address, and nobody may lock its owner out.
func (g *Guard) Wrong(w http.ResponseWriter, r *http.Request, hint string) {
	peer := Peer(r)
	g.mu.Lock()
	if time.Since(g.since) >= time.Minute {
		g.since = time.Now()
		clear(g.bad)
	}
	if _, counted := g.bad[peer]; !counted && len(g.bad) >= 10_000 { // so many are counted apart
		peer = netip.Prefix{}
	}
	g.bad[peer]++
	n, rest := g.bad[peer], time.Minute-time.Since(g.since)
	g.mu.Unlock()
	if n <= mostBad {
		Refuse(w, r, http.StatusUnauthorized, "that is not the token", hint)
		return
	}
	if n == mostBad+1 {
		g.log.Warn("wrong tokens are tried", "from", r.RemoteAddr, "path", r.URL.Path)
	}
	w.Header().Set("Retry-After", fmt.Sprint(int(rest.Seconds())+1))
	Refuse(w, r, http.StatusTooManyRequests, "too many wrong tokens", "wait a minute")
}

// Peer returns the sender of a request: an IPv4 address, or the network of an IPv6 address, since everybody has many of
// these. It is the zero Prefix for the socket.
func Peer(r *http.Request) netip.Prefix {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	ip := at.Addr().Unmap()
	network, _ := ip.Prefix(min(ip.BitLen(), 64))
	return network
}

// Bearer returns the token that a request shows, or "".
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Same compares secrets in a time that tells nothing about the secrets.
func Same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

//go:embed refused.html
var refused string

// howIn tells a person in a browser how to get in.
const howIn = `<p>Behind this address live agents, for those who hold its token. To get in, type in a terminal of the machine where they run:</p>
<p><code>lethe serve --open</code></p>
<p>It opens the page, and prints the link by which a browser gets in, once, within a minute; also while the server runs already. Type the token into no page and no address.</p>
`

// refusedPolicy lets browsers use nothing there but its style, by the hash.
const refusedPolicy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; " +
	"style-src 'sha256-wwmDWZmeCbEQ/azk0loKWDqB4505MsEhfcBFngja6pg='"

// Refuse answers with an error: for programs as JSON, for people in a browser as a page with the way in.
func Refuse(w http.ResponseWriter, r *http.Request, status int, message, hint string) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", refusedPolicy)
		w.WriteHeader(status)
		way := howIn
		if status == http.StatusNotFound || status == http.StatusMethodNotAllowed { // who reads this is in
			way = ""
		}
		fmt.Fprintf(w, refused, html.EscapeString(message), html.EscapeString(hint), way)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	about := map[string]any{"message": message, "hint": hint}
	if strings.HasPrefix(r.URL.Path, "/v1/") { // OpenAI's clients read more
		about["type"], about["param"], about["code"] = "invalid_request_error", nil, nil
		if status == http.StatusUnauthorized {
			about["code"] = "invalid_api_key"
		}
	}
	body := map[string]any{"error": about}
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// Mux is a mux that refuses what it does not know as this package does.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		no := &refusal{w, http.StatusNotFound}
		handler.ServeHTTP(no, r)
		refuseUnknown(w, r, no.code)
	})
}

func refuseUnknown(w http.ResponseWriter, r *http.Request, status int) {
	Refuse(w, r, status, fmt.Sprintf("there is no %s %.200s", r.Method, r.URL.Path),
		"docs/serve.md tells what there is; /api/openapi.json lists the resources")
}

// refusal keeps what the mux has against a request, without its words.
type refusal struct {
	http.ResponseWriter
	code int
}

func (s *refusal) WriteHeader(code int)           { s.code = code }
func (s *refusal) Write(text []byte) (int, error) { return len(text), nil }
