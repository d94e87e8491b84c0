package guard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	linkTime    = time.Minute         // a login link is good so long, once
	sessionTime = 30 * 24 * time.Hour // a browser stays logged in so long
)

// pageHost makes the host of the page of a token. A browser sends a cookie to whatever listens on any port of its host;
// since no other program can know this host, no program can have a browser send it the cookie of the page.
func pageHost(token string) string {
	return "l-" + keyed(token, "host")[:16] + ".localhost"
}

// Link makes the path of a login link. Whoever has the token can: it is good once, for a minute.
func Link(token string) string {
	return "/login?once=" + signed(token, "link", time.Now().Add(linkTime), rand.Text())
}

// use reports whether a code is good, and uses it up. In its first minute the guard refuses codes from before it began,
// which may have been used then; later they are too old. A code that would be good for longer than a minute was made
// before the clock was put back.
func (g *Guard) use(code string) bool {
	until, ok := verify(g.cfg.Token, "link", code)
	early := time.Since(g.began) < linkTime && until < g.first
	late := until > time.Now().Add(linkTime).Unix()
	if !ok {
		return false
	}
	if early || late {
		return false
	}
	_, used := g.used.LoadOrStore(code, true)
	return !used
}

// login gives the browser that follows a link its cookie. A link that names this machine leads on to the host of the
// page: so the host is in no terminal, no log and no list of processes. At that host login answers with a page and not
// with a redirect, behind which a browser sends no strict cookie when the link stood on another site.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !g.use(r.URL.Query().Get("once")) {
		Refuse(w, r, http.StatusForbidden, "this link was used, or is older than a minute",
			"lethe serve --open prints a new one")
		return
	}
	if !g.hasPage(r.Host) {
		http.Redirect(w, r, "//"+g.Host+":"+(&url.URL{Host: r.Host}).Port()+Link(g.cfg.Token), http.StatusSeeOther)
		return
	}
	until := time.Now().Add(sessionTime)
	proxied := r.Header.Get("X-Forwarded-Proto") == "https" // who lies has a cookie that it cannot use
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie(), Value: signed(g.cfg.Token, "session", until, ""), Path: "/", Expires: until,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.cfg.TLS || proxied,
	})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lethe</title>
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open Lethe</a>`)
}

// cookie returns the name of the cookie. With TLS browsers keep it from other hosts and from paths.
func (g *Guard) cookie() string {
	if g.cfg.TLS {
		return "__Host-lethe"
	}
	return "lethe"
}

// signed makes a text that is good until a time, for one purpose and this token only, over restarts. It does
// not tell the token.
func signed(token, purpose string, until time.Time, more string) string {
	text := fmt.Sprintf("%d.%s", until.Unix(), more)
	return text + "." + keyed(token, purpose+" until "+text)
}

// verify reads a signed text, unless its time is over.
func verify(token, purpose, value string) (until int64, ok bool) {
	at := strings.LastIndexByte(value, '.')
	text := value[:max(at, 0)]
	seconds, _, _ := strings.Cut(text, ".")
	until, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || until <= time.Now().Unix() {
		return until, false
	}
	return until, Same(value[at+1:], keyed(token, purpose+" until "+text))
}

// keyed returns a code of a text that only the token can make. It does not tell the token.
func keyed(token, text string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}
