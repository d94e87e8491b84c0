package page

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/internal/test/servetest"
)

// attack does from another page what pages can do, and then says so in its title.
const attack = `<!doctype html><meta charset="utf-8"><img src="%[1]s/secret?img"><iframe name="f"></iframe><iframe ` +
	`src="%[1]s/secret?frame"></iframe>
<form id="form" method="post" target="f" action="%[1]s/secret?form"><input name="text" value="/stop"></form>
<script type="module">
document.getElementById("form").submit();
new EventSource("%[1]s/secret?stream", {withCredentials: true});
for (const mode of ["no-cors", "cors"])
	for (const method of ["GET", "POST"])
		await fetch("%[1]s/secret?fetch-" + mode + method, {mode, method, credentials: "include"}).catch(() => 0);
await fetch("%[1]s/secret?json", {method: "PUT", credentials: "include",
	headers: {"Authorization": "Bearer x", "Content-Type": "application/json"}, body: "{}"}).catch(() => 0);
await fetch("%[1]s/login", {method: "POST", credentials: "include"}).catch(() => 0);
navigator.sendBeacon("%[1]s/secret?beacon", "x");
await fetch("/done");
document.title = "done";
</script>`

// A real browser is let in by the link, and lends itself to no other page: neither to one of another site, wherever
// that leads it, nor to one on another port of the same host, which nobody can know and to which it sends its cookies.
func otherSites(t *testing.T, b *Browser) {
	var mu sync.Mutex
	var reached, cookies []string
	s := servetest.Start(t, t.TempDir(), func(mux *http.ServeMux, _ *backend.Backend) {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.URL.Path != "/favicon.ico" {
				reached = append(reached, r.URL.String())
			}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<!doctype html><title>home</title><form method="post" `+
				`action="/said"><button>say</button></form><script>document.title = "inline"</script>`)
		})
	})
	own := s.Page()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range r.Cookies() {
			cookies = append(cookies, r.Host+" "+c.Name)
		}
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(w, attack, own)
	}))
	t.Cleanup(other.Close)

	p := b.Open(t, s.URL+guard.Link(servetest.Token), Look{}) // as lethe serve --open prints it
	p.Until(`document.title === "home"`)                      // the script in the page does not run
	for _, host := range []string{"localhost", "127.0.0.1", "lethe.localhost", s.Guard.Host} {
		mu.Lock()
		reached = nil
		mu.Unlock()
		p.Goto(other.URL + "/?to=" + strings.Replace(other.URL, "127.0.0.1", host, 1))
		p.Until(`document.title === "done"`)
		mu.Lock()
		if len(reached) > 0 {
			t.Errorf("a page of %s reaches %q", host, reached)
		}
		mu.Unlock()
	}
	mu.Lock()
	for _, c := range cookies {
		if !strings.HasPrefix(c, s.Guard.Host) {
			t.Errorf("another server is sent the cookie: %s", c)
		}
	}
	if len(cookies) == 0 {
		t.Error("not even at another port of the page's host is the cookie sent: what is it that has to be a secret?")
	}
	mu.Unlock()
	p.Goto(own + "/")
	p.Until(`document.querySelector("button").click() || true`)
	p.Until(`location.pathname === "/said" && document.title === "home"`)
}
