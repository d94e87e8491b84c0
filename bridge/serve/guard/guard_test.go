package guard_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

func hello(mux *http.ServeMux, _ *backend.Backend) {
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
		io.WriteString(w, "hello")
	})
}

// What browsers, scripts and strangers send, and whether it reaches a handler.
func TestTable(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), hello)
	page := "Host: " + s.Guard.Host
	resp := s.Do(t, "GET", guard.Link(servetest.Token), "", page)
	servetest.Text(t, resp, 200)
	cookie := "Cookie: lethe=" + resp.Cookies()[0].Value
	const none, own = "Authorization:", "Origin: http://127.0.0.1"
	for _, c := range []struct {
		what, method, path string
		headers            []string
		want               int
	}{
		{"the token", "GET", "/", nil, 200},
		{"the token, in another case", "GET", "/", []string{"Authorization: bearer " + servetest.Token}, 200},
		{"the token to change something", "POST", "/", nil, 200},
		{"no token", "GET", "/", []string{none}, 401},
		{"no token, for what does not exist", "GET", "/nothing/here", []string{none}, 401},
		{"no token, to change something", "POST", "/api/rooms/dev", []string{none}, 401},
		{"no token for metrics", "GET", "/metrics", []string{none}, 401},
		{"no token for health", "GET", "/healthz", []string{none}, 200},
		{"a wrong token", "GET", "/", []string{"Authorization: Bearer wrong"}, 401},
		{"the beginning of the token", "GET", "/", []string{"Authorization: Bearer " + servetest.Token[:20]}, 401},
		{"the token in basic auth", "GET", "/", []string{"Authorization: Basic " + servetest.Token}, 401},
		{"the token in a URL", "GET", "/?token=" + servetest.Token, []string{none}, 401},
		{"the token in a URL by its other name", "GET", "/?access_token=" + servetest.Token, []string{none}, 401},
		{"the token as a cookie", "GET", "/", []string{page, none, "Cookie: lethe=" + servetest.Token}, 401},

		{"rebinding", "GET", "/", []string{"Host: evil.example"}, 421},
		{"rebinding, with a port", "GET", "/", []string{"Host: evil.example:8420"}, 421},
		{"rebinding, with the cookie", "GET", "/", []string{"Host: evil.example", none, cookie}, 421},
		{"rebinding, for health", "GET", "/healthz", []string{"Host: evil.example"}, 421},
		{"a name that ends like ours", "GET", "/", []string{"Host: evil-localhost"}, 421},
		{"a name below ours", "GET", "/", []string{"Host: x.localhost"}, 421},
		{"another machine's address", "GET", "/", []string{"Host: 192.168.1.7:8420"}, 421},
		{"localhost", "GET", "/", []string{"Host: LOCALHOST:8420"}, 200},
		{"localhost, absolute", "GET", "/", []string{"Host: localhost."}, 200},
		{"the page's own name", "GET", "/", []string{page + ":8420"}, 200},
		{"a name below the page's", "GET", "/", []string{"Host: x." + s.Guard.Host}, 421},
		{"the name of every home once", "GET", "/", []string{"Host: lethe.localhost:8420", none, cookie}, 421},
		{"the cookie, where others run, too", "GET", "/", []string{none, cookie}, 401},
		{"the cookie at localhost", "GET", "/", []string{"Host: localhost", none, cookie, "Sec-Fetch-Site: same-origin"}, 401},
		{"IPv6", "GET", "/", []string{"Host: [::1]:8420"}, 200},

		{"the cookie", "GET", "/", []string{page, none, cookie}, 200},
		{"the cookie behind one of another port", "GET", "/",
			[]string{page, none, "Cookie: lethe=x; " + strings.TrimPrefix(cookie, "Cookie: ")}, 200},
		{"the cookie, typed into the address bar", "GET", "/", []string{page, none, cookie, "Sec-Fetch-Site: none"}, 200},
		{"a form of the page", "POST", "/", []string{page, none, cookie, "Sec-Fetch-Site: same-origin"}, 200},
		{"a form of another site", "POST", "/", []string{page, none, cookie, "Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, 403},
		{"a form of another site, in an old browser", "POST", "/", []string{page, none, cookie, "Origin: https://evil.example"}, 403},
		{"a form of a sandboxed frame", "POST", "/", []string{page, none, cookie, "Origin: null"}, 403},
		{"a picture on another site", "GET", "/api/blobs/3fa9",
			[]string{page, none, cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"a link on another site", "GET", "/", []string{page, none, cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403},
		{"another port of this machine", "GET", "/api/agents", []string{page, none, cookie, "Sec-Fetch-Site: same-site"}, 403},
		{"another port, in an old browser", "POST", "/", []string{page, none, cookie, own + ":9"}, 403},
		{"a stream on another site", "GET", "/api/agents/ada/events", []string{page, none, cookie, "Origin: https://evil.example"}, 403},
		{"the token in a script of another site", "GET", "/", []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, 403},
		{"a cookie of tomorrow", "GET", "/", []string{page, none, "Cookie: lethe=9999999999.00"}, 401},
		{"a login link that is none", "GET", "/login?once=x", []string{none}, 403},
		{"a login link without a code", "GET", "/login", []string{none}, 403},
	} {
		resp := s.Do(t, c.method, c.path, "", c.headers...)
		text, err := io.ReadAll(resp.Body)
		lethetest.Must(t, err)
		if resp.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.what, resp.Status, c.want)
		}
		h := resp.Header
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'") ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", c.what, h)
		}
		var fault struct {
			Error struct{ Message, Hint string }
		}
		if c.want >= 400 && (json.Unmarshal(text, &fault) != nil || fault.Error.Message == "" || fault.Error.Hint == "") ||
			strings.Contains(string(text), servetest.Token) {
			t.Errorf("%s: answered %q", c.what, text)
		}
	}
}

// A link is good once, for a minute, also where another site shows it; then the browser is known
// for a month, also by a server that was started again.
func TestLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Config{Token: "one"})
		lethetest.Must(t, err)
		at := ""
		get := func(g *guard.Guard, path string, headers ...string) *http.Response {
			r := httptest.NewRequest("GET", cmp.Or(at, "http://"+g.Host+":8420")+path, nil)
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			w := httptest.NewRecorder()
			mux := http.NewServeMux()
			hello(mux, nil)
			g.Protect(mux).ServeHTTP(w, r)
			return w.Result()
		}
		at = "http://127.0.0.1:8420" // the link that is printed leads on, once
		first := guard.Link("one")
		on := get(g, first)
		if to, found := strings.CutPrefix(on.Header.Get("Location"), "//"+g.Host+":8420"); on.StatusCode != 303 ||
			len(on.Cookies()) > 0 || !found || get(g, first).StatusCode != 403 {
			t.Errorf("a link that names this machine leads to %s: %s", on.Header.Get("Location"), on.Status)
		} else if at = ""; len(get(g, to).Cookies()) != 1 {
			t.Error("and does not let the browser in there")
		}
		at = ""
		link, old := guard.Link("one"), guard.Link("one")
		resp := get(g, link, "Sec-Fetch-Site", "cross-site")
		if resp.StatusCode != 200 || len(resp.Cookies()) != 1 {
			t.Fatalf("the link: %s", resp.Status)
		}
		c := resp.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure ||
			strings.Contains(c.Value, "one") {
			t.Errorf("the cookie is %v", c)
		}
		if proxied := get(g, guard.Link("one"), "X-Forwarded-Proto", "https").Cookies(); len(proxied) != 1 || !proxied[0].Secure {
			t.Errorf("behind a proxy with TLS it is %v", proxied)
		}
		if resp := get(g, link); resp.StatusCode != 403 || len(resp.Cookies()) > 0 {
			t.Errorf("a used link: %s", resp.Status)
		}
		time.Sleep(time.Minute)
		if resp := get(g, old); resp.StatusCode != 403 {
			t.Errorf("an old link: %s", resp.Status)
		}
		unused, used := guard.Link("one"), guard.Link("one")
		get(g, used)
		time.Sleep(time.Second)
		again, _ := guard.New(guard.Config{Token: "one"})
		for _, link := range []string{unused, used} {
			if resp := get(again, link); resp.StatusCode != 403 {
				t.Errorf("a link of before a restart: %s", resp.Status)
			}
		}
		other, _ := guard.New(guard.Config{Token: "two"})
		if again.Host != g.Host || other.Host == g.Host || !regexp.MustCompile(`^l-[0-9a-f]{16}\.localhost$`).MatchString(g.Host) {
			t.Errorf("the page is at %s, after a restart at %s, with another token at %s", g.Host, again.Host, other.Host)
		}
		status := func(g *guard.Guard) int { return get(g, "/", "Cookie", "lethe="+c.Value).StatusCode }
		if status(again) != 200 || status(other) != 401 {
			t.Errorf("the cookie after a restart: %d, with another token: %d", status(again), status(other))
		}
		time.Sleep(30 * 24 * time.Hour)
		lethetest.Equal(t, "the cookie at its end", status(again), 401)
	})
}

// Wrong tokens are counted by address, and keep nobody out who has the right one.
func TestWrongTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Config{Token: "right"})
		lethetest.Must(t, err)
		from := func(address, token string) int {
			r := httptest.NewRequest("GET", "http://localhost/", nil)
			r.RemoteAddr = address
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			g.Protect(http.NotFoundHandler()).ServeHTTP(w, r)
			if after := w.Header().Get("Retry-After"); (after != "") != (w.Code == 429) {
				t.Errorf("%d with Retry-After %q", w.Code, after)
			}
			return w.Code
		}
		for i := range 15 {
			if got := from("192.0.2.1:1000", "wrong"); (got == 401) != (i < 10) || (got == 429) != (i >= 10) {
				t.Errorf("the wrong token no. %d: %d", i+1, got)
			}
		}
		if from("192.0.2.2:1000", "wrong") != 401 || from("192.0.2.1:1000", "right") != 404 || from("@", "wrong") != 401 {
			t.Error("one address keeps others out")
		}
		time.Sleep(time.Minute)
		lethetest.Equal(t, "a minute later", from("192.0.2.1:1000", "wrong"), 401)
	})
}

// OpenAI's clients read of a refusal what they know of its kind.
func TestRefusedClients(t *testing.T) {
	g, err := guard.New(guard.Config{Token: "right"})
	lethetest.Must(t, err)
	for path, code := range map[string]any{"/v1/responses": "invalid_api_key", "/api/agents": nil} {
		r := httptest.NewRequest("POST", "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer wrong")
		w := httptest.NewRecorder()
		g.Protect(http.NotFoundHandler()).ServeHTTP(w, r)
		var body struct{ Error map[string]any }
		lethetest.Must(t, json.Unmarshal(w.Body.Bytes(), &body))
		_, hasParam := body.Error["param"]
		if body.Error["code"] != code || hasParam != (code != nil) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// A listed site may use the server with the token, and has its browser asked no more.
func TestListedOrigin(t *testing.T) {
	g, err := guard.New(guard.Config{Token: "one", Origins: []string{"https://chat.example"}, Hosts: []string{"lethe.example"}})
	lethetest.Must(t, err)
	mux := http.NewServeMux()
	hello(mux, nil)
	do := func(method, origin string, headers ...string) *http.Response {
		r := httptest.NewRequest(method, "http://lethe.example/api/agents", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		g.Protect(mux).ServeHTTP(w, r)
		return w.Result()
	}
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type"}
	if resp := do("OPTIONS", "https://chat.example", ask...); resp.StatusCode != 204 ||
		resp.Header.Get("Access-Control-Allow-Origin") != "https://chat.example" || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("the question of a listed site: %s %v", resp.Status, resp.Header)
	}
	if resp := do("OPTIONS", "https://evil.example", ask...); resp.StatusCode != 401 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the question of another site: %s %v", resp.Status, resp.Header)
	}
	if resp := do("POST", "https://chat.example", "Authorization", "Bearer one"); resp.StatusCode != 200 {
		t.Errorf("a listed site with the token: %s", resp.Status)
	}
	if resp := do("POST", "https://chat.example"); resp.StatusCode != 401 {
		t.Errorf("a listed site without it: %s", resp.Status)
	}
	w := httptest.NewRecorder()
	g.Protect(mux).ServeHTTP(w, httptest.NewRequest("GET", "http://lethe.example"+guard.Link("one"), nil))
	if resp := do("POST", "https://chat.example", "Cookie", w.Header().Get("Set-Cookie"), "Sec-Fetch-Site",
		"same-site"); resp.StatusCode != 403 {
		t.Errorf("a listed site with the cookie: %s", resp.Status)
	}
	for _, origin := range []string{"chat.example", "https://chat.example/", "*", ""} {
		if _, err := guard.New(guard.Config{Token: "one", Origins: []string{origin}}); err == nil {
			t.Errorf("%q is taken for an origin", origin)
		}
	}
}

// Bodies are bounded by their kind.
func TestBodies(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), hello)
	for _, c := range []struct {
		kind string
		size int
		want int
	}{
		{"application/x-www-form-urlencoded", 1 << 20, 200},
		{"Application/X-WWW-form-urlencoded; charset=utf-8", 1<<20 + 1, 413},
		{"application/json", 1<<20 + 1, 200},
		{"application/json", 16<<20 + 1, 413},
	} {
		if resp := s.Do(t, "POST", "/", strings.Repeat("x", c.size), "Content-Type: "+c.kind); resp.StatusCode != c.want {
			t.Errorf("%d bytes of %s: %s", c.size, c.kind, resp.Status)
		}
	}
}

// A person who is not let in reads how to get in, in a page that uses nothing but its own style.
func TestRefusedPage(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), func(*http.ServeMux, *backend.Backend) {})
	const html = "Accept: text/html"
	for path, want := range map[string]int{"/": 401, "/login?once=x": 403, "/%3Cb%3Ex": 404} {
		headers := []string{html, "Authorization:"}[:1+want%2]
		resp := s.Do(t, "GET", path, "", headers...)
		page := servetest.Text(t, resp, want)
		lethetest.Words(t, page, "<!doctype html>", "To the page")
		if strings.Contains(page, "lethe serve --open</code>") == (want == 404) {
			t.Errorf("%s tells wrongly how to get in: %s", path, page)
		}
		style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(page)[1]
		sum := sha256.Sum256([]byte(style))
		policy := resp.Header.Get("Content-Security-Policy")
		lethetest.Words(t, policy, "default-src 'none'", "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		if strings.Contains(page, "<b>x") || strings.Contains(page, "%!") {
			t.Errorf("%s: %s", path, page)
		}
	}
}
