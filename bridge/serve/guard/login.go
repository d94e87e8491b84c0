package guard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	linkTime    = time.Minute         // that a login link is good for, once
	sessionTime = 30 * 24 * time.Hour // that a browser stays logged in
	maxLinks    = 100                 // that are good at once
)

// pageHost makes the host of the page of a token. Since no other program can know it, none can have a browser send it
// the cookie of the page, as it could with a known name: whatever listens on another port of a host is sent its cookies.
func pageHost(token string) string {
	return "l-" + keyed(token, "host")[:16] + ".localhost"
}

// logins are the codes of links that nobody has used.
type logins struct {
	mu    sync.Mutex
	until map[string]time.Time // by the hash of the code
}

// Link is the path of a new login link.
func (g *Guard) Link() string {
	code := rand.Text()
	l := &g.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	for old, until := range l.until {
		if len(l.until) >= maxLinks || time.Now().After(until) {
			delete(l.until, old)
		}
	}
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	l.until[digest(code)] = time.Now().Add(linkTime)
	return "/login?once=" + code
}

// use says whether a code is good. Then it is used up.
func (l *logins) use(code string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.until[digest(code)]
	delete(l.until, digest(code))
	return ok && time.Now().Before(until)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:])
}

// invite answers whoever has the token with a login link for a browser.
func (g *Guard) invite(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, POST")
		Refuse(w, r, http.StatusMethodNotAllowed, "there is no "+r.Method+" of /login", "POST makes a link")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"path": g.Link()}) // the client may be gone
}

// login gives the browser that follows a link its cookie. A link that names this machine leads on to the host of the
// page: so the host is in no terminal, no log and no list of processes. At that host login answers with a page and not
// with a redirect, behind which a browser sends no strict cookie when the link stood on another site.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !g.logins.use(r.URL.Query().Get("once")) {
		Refuse(w, r, http.StatusForbidden, "this link was used, or is older than a minute", "lethe serve --open prints a new one")
		return
	}
	if !g.hasPage(r.Host) {
		http.Redirect(w, r, "//"+g.Host+":"+(&url.URL{Host: r.Host}).Port()+g.Link(), http.StatusSeeOther)
		return
	}
	until := time.Now().Add(sessionTime)
	proxied := r.Header.Get("X-Forwarded-Proto") == "https" // who lies has a cookie that it cannot use
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie(), Value: g.sign(until.Unix()), Path: "/", Expires: until,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.cfg.TLS || proxied,
	})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lethe</title><meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open Lethe</a>`)
}

// cookie is the name of the cookie. With TLS browsers keep it from other hosts and from paths.
func (g *Guard) cookie() string {
	if g.cfg.TLS {
		return "__Host-lethe"
	}
	return "lethe"
}

// sign makes the value of a cookie: good until a time, for this token only, over restarts. It
// does not tell the token.
func (g *Guard) sign(until int64) string {
	return fmt.Sprintf("%d.%s", until, keyed(g.cfg.Token, fmt.Sprintf("session until %d", until)))
}

// keyed is what only the token makes of a text, and does not tell it.
func keyed(token, text string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (g *Guard) session(value string) bool {
	text, _, _ := strings.Cut(value, ".")
	until, err := strconv.ParseInt(text, 10, 64)
	return err == nil && time.Now().Unix() < until && Same(value, g.sign(until))
}
