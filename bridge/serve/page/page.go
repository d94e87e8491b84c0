// Package page is the page of a mind: what an identity says, what it keeps and lets go, and
// what it costs, as HTML. A script is needed only to follow what happens.
//
//	page.Routes(mux, backend)
//
// A view is a function that returns its content, which knows how to show itself; page.js shows what happens
// meanwhile. Whatever is shown is hostile text: htmlPage.put escapes it and shows its control characters, and
// markdown knows no HTML and no images.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
)

// view is one of the views of an identity: GET /agents/{self}/NAME.
type view struct {
	Name, Title string
	data        func(f *frame, r *http.Request) (content, error)
	// forms let a person act there: POST /agents/{self}/NAME/FORM. A form that is done
	// redirects (see frame.done and then).
	forms  map[string]form
	Apart  bool // it is not in the list of views
	Shared bool // it belongs to no identity: it is at /NAME
}

// content is shown by a view in the layout.
type content interface{ show(p *htmlPage) }

// inParts is content with parts that a script fetches by their names.
type inParts interface {
	content
	parts() map[string]func(p *htmlPage)
}

type form = func(f *frame, w http.ResponseWriter, r *http.Request) error

// views are listed in this order.
var views = []*view{
	&now, &mindView, &log, &forgetting, &cost, &recall, &triggers, &plans, &manage, &rerun, &original, &agents, &devices,
}

// frame is a view of an identity, for one request.
type frame struct {
	*backend.Backend
	ID    home.Identity // zero where an error belongs to no identity
	View  *view
	Views []*view // to choose from
	Title string
	Data  content // of the view
	Wrong error   // with what was typed into a form, which is shown again
	R     *http.Request
	Live  string // the event behind which the page goes on live; "" where it does not
}

// Agents lists the identities to choose from.
func (f *frame) Agents() []home.Identity {
	all, _ := f.List()
	return all
}

//go:embed style.css page.js worker.js manifest.json favicon.svg icon.png
var assets embed.FS

// version is the name under which a browser keeps the assets.
var version = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range []string{"style.css", "page.js", "worker.js", "manifest.json", "favicon.svg", "icon.png"} {
		data, _ := assets.ReadFile(name)
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
})

// Routes adds the page to a server: "/", "/agents/…" and "/page/…".
func Routes(mux *http.ServeMux, back *backend.Backend) {
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		to := "/agents"
		if all, _ := host.Grown(back.Home.Home); len(all) == 1 {
			to += "/" + all[0].Name + "/now"
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("GET /page/"+version()+"/{name}", backend.Zip(serveAsset))
	mux.HandleFunc("GET /worker.js", serveWorker)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, assets, "favicon.svg")
	})
	for _, short := range []string{"/agents/{self}", "/agents/{self}/{$}"} {
		mux.HandleFunc("GET "+short, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/agents/"+url.PathEscape(r.PathValue("self"))+"/now", http.StatusFound)
		})
	}
	mux.HandleFunc("GET /agents/", func(w http.ResponseWriter, r *http.Request) {
		(&frame{Backend: back, Views: views}).fail(w, fmt.Errorf("page %q: %w", r.URL.Path, home.ErrNotFound))
	})
	for _, v := range views {
		v.routes(mux, back, views)
	}
}

// serveAsset serves a file that a browser keeps for ever: its address has the version.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=31536000, immutable")
	http.ServeFileFS(w, r, assets, r.PathValue("name"))
}

// serveWorker serves the service worker at the root: a worker works for the addresses below its own.
func serveWorker(w http.ResponseWriter, r *http.Request) {
	script, _ := assets.ReadFile("worker.js")
	w.Header().Set("Content-Type", "text/javascript")
	_, _ = w.Write(bytes.ReplaceAll(script, []byte("VERSION"), []byte(version()))) // the browser may be gone
}

// routes adds a view and its forms to a server. A page of it leads to all views.
func (v *view) routes(mux *http.ServeMux, back *backend.Backend, all []*view) {
	path := "/agents/{self}/" + v.Name
	if v.Shared {
		path = "/" + v.Name
	}
	show := func(f *frame, w http.ResponseWriter, r *http.Request) error { return f.look(w, r, http.StatusOK) }
	mux.HandleFunc("GET "+path, v.handle(back, all, show))
	for name, form := range v.forms {
		mux.HandleFunc("POST "+path+"/"+name, v.handle(back, all, parsed(form)))
	}
}

// handle makes a handler that does something in a frame of the view, and shows an error in words.
func (v *view) handle(b *backend.Backend, all []*view, do form) http.HandlerFunc {
	return backend.Zip(func(w http.ResponseWriter, r *http.Request) {
		page := &frame{Backend: b, View: v, Views: all, Title: v.Title, R: r}
		err := page.find(r)
		if err == nil {
			err = do(page, w, r)
		}
		if err != nil {
			page.fail(w, err)
		}
	})
}

// find finds the identity that a request names, if its view belongs to one.
func (f *frame) find(r *http.Request) (err error) {
	if !f.View.Shared {
		f.ID, err = f.Identity(r)
	}
	return err
}

// parsed parses a form before it is done. One with files bounds and parses itself.
func parsed(do form) form {
	return func(page *frame, w http.ResponseWriter, r *http.Request) error {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			return do(page, w, r)
		}
		if err := r.ParseForm(); err != nil {
			return &report.InvalidError{Err: err}
		}
		return do(page, w, r)
	}
}

// show writes the content in the layout, or the part of it that a script asks for.
func (f *frame) show(w http.ResponseWriter, status int, c content, part string) {
	html := &htmlPage{frame: f}
	write := func(p *htmlPage) { p.layout(c) }
	if parted, ok := c.(inParts); ok && parted.parts()[part] != nil {
		write = parted.parts()[part]
	}
	write(html)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, html.String()) // the browser may be gone
}

// look shows the view.
func (f *frame) look(w http.ResponseWriter, r *http.Request, status int) (err error) {
	if f.Data, err = f.View.data(f, r); err != nil {
		return err
	}
	f.show(w, status, f.Data, r.FormValue("part"))
	return nil
}

// Typed returns the text that was typed into a form that was refused; otherwise the value that is there, or "" for 0.
func (f *frame) Typed(name string, there any) any {
	switch {
	case f.R.Method == http.MethodPost && f.R.Form.Has(name):
		return f.R.FormValue(name)
	case there == 0 || there == 0.0:
		return ""
	}
	return there
}

// field returns the text of a form's field, without white space around it.
func field(r *http.Request, name string) string {
	return strings.TrimSpace(lineEnds.Replace(r.FormValue(name)))
}

// then makes a form of a function that does something, and names the page that shows it.
func then(do func(f *frame, r *http.Request) (to string, err error)) form {
	return func(f *frame, w http.ResponseWriter, r *http.Request) error {
		to, err := do(f, r)
		if err != nil {
			return f.again(w, r, err)
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	}
}

// again shows the view with what was typed into a form, and what is wrong with it.
func (f *frame) again(w http.ResponseWriter, r *http.Request, err error) error {
	f.Wrong = err
	return f.look(w, r, http.StatusBadRequest)
}

func (f *frame) fail(w http.ResponseWriter, err error) {
	status := backend.Status(err)
	if status == http.StatusInternalServerError {
		f.Log.Error("the page could not be shown", "error", err)
	}
	f.Title, f.Live = "This did not work", ""
	f.show(w, status, failure{Error: err.Error(), Hint: backend.Hint(err)}, "")
}

// done sends the browser from a form to a page that it can load again.
func (f *frame) done(w http.ResponseWriter, r *http.Request, to string) error {
	if r.Header.Get("Accept") == "application/json" { // the script, which shows it itself
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, "/agents/"+f.ID.Name+"/"+f.View.Name+to, http.StatusSeeOther)
	return nil
}
