package page

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"lethe/internal/test/lethetest"
)

// The tests show pages in a real Chromium:
//
//	b := startBrowser(t, shell)         // one for all; skips where there is no Chromium
//	p := b.Open(t, url, Look{Width: 320, Dark: true})
//	p.Do(chromedp.Click("button"))
//	p.Until(`document.querySelector("#live") === null`)
//	p.Check()                           // axe-core, foreign requests, the console, scrolling sideways
//
// axe-core comes from internal/test/js, where `npm ci` puts it.

// Browser is a running Chromium.
type Browser struct {
	ctx context.Context
	axe string // the script of axe-core

	mu    sync.Mutex
	hosts map[string]*profile
}

// profile is what the browser keeps for one server, since a cookie would be sent to those at other ports, too. The tests
// of a server follow each other.
type profile struct {
	id       cdp.BrowserContextID
	loggedIn bool
}

// shell is the Chromium without windows, which shows pages for half of the processor's time, but no notices.
const shell = "chromium-headless-shell"

// startBrowser starts a Chromium that ends with the test, one of those preferred where there is one.
func startBrowser(t testing.TB, preferred ...string) *Browser {
	t.Helper()
	path := ""
	for _, name := range append(preferred, "chromium", "chromium-browser", "google-chrome") {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		t.Skip("there is no Chromium: apt-get install chromium")
	}
	axe, err := os.ReadFile(filepath.Join(lethetest.Root(t), "internal", "test", "js", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("there is no axe-core: run npm ci in internal/test/js")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); end() })
	lethetest.Must(t, chromedp.Do(ctx))
	return &Browser{ctx: ctx, axe: string(axe), hosts: map[string]*profile{}}
}

// Look is how a page is looked at.
type Look struct {
	Width, Height  int64 // default 1280 × 800
	Dark, NoScript bool
}

// Page is an open tab.
type Page struct {
	t    testing.TB
	ctx  context.Context
	host string
	axe  string

	mu       sync.Mutex
	requests []string              // URLs
	console  []string              // errors that the page wrote
	worker   serviceworker.Version // the one that is active
}

// profile returns the one of a host.
func (b *Browser) profile(t testing.TB, host string) *profile {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hosts[host] == nil {
		browser := chromedp.FromContext(b.ctx).Browser
		made, err := cdp.Call(b.ctx, browser, target.CreateBrowserContext, target.CreateBrowserContextParams{})
		lethetest.Must(t, err)
		b.hosts[host] = &profile{id: made.BrowserContextID}
	}
	return b.hosts[host]
}

// Open shows a page in a tab, which is closed with the test. It logs in where no tab of the server has.
func (b *Browser) Open(t testing.TB, address string, look Look) *Page {
	t.Helper()
	at, err := url.Parse(address)
	lethetest.Must(t, err)
	p, own := &Page{t: t, host: at.Host, axe: b.axe}, b.profile(t, at.Host)
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithExistingBrowserContext(own.id), chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	lethetest.Must(t, chromedp.Do(ctx)) // a deadline of the first call would be that of the tab
	p.ctx = ctx
	p.Do(call(network.Enable, network.EnableParams{}), call(cdplog.Enable, cdp.Empty{}))
	p.Look(look)
	login := at.Path == "/login"
	if !login || !own.loggedIn {
		p.Goto(address)
		p.Until(`location.pathname !== "/login" && document.readyState === "complete"`) // which leads on by itself
		own.loggedIn = login || own.loggedIn
	}
	return p
}

// Look has the page looked at otherwise.
func (p *Page) Look(look Look) {
	p.t.Helper()
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	p.Do(
		chromedp.EmulateViewport(cmp.Or(look.Width, 1280), cmp.Or(look.Height, 800)),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}),
		call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: look.NoScript}),
	)
}

// Goto shows another page in the tab.
func (p *Page) Goto(address string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(address))
}

// Print shows the page as it is on paper.
func (p *Page) Print() {
	p.t.Helper()
	p.Do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
}

func call[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, c, params)
		return v, err
	}
}

func (p *Page) listen(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError && !strings.Contains(e.Entry.Text, "net::ERR_") { // a server that a test kills
			p.console = append(p.console, e.Entry.Text+" "+e.Entry.URL)
		}
	case *serviceworker.EventWorkerVersionUpdated:
		for _, v := range e.Versions {
			if v.Status == "activated" {
				p.worker = *v
			}
		}
	case *runtime.EventExceptionThrown:
		p.console = append(p.console, e.ExceptionDetails.Text)
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			p.console = append(p.console, thrown.Description)
		}
	}
}

// Do runs steps, each of which waits for what it needs.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for _, step := range steps {
		err := chromedp.Do(ctx, step)
		for err != nil && strings.Contains(err.Error(), "Could not find node with given id") { // the page put another in its place
			err = chromedp.Do(ctx, step)
		}
		if err != nil {
			p.t.Fatalf("%v; the page shows:\n%.3000s", err, p.Text("body"))
		}
	}
}

// Eval returns the value of a JavaScript expression; a promise is awaited.
func Eval[T any](p *Page, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %.100s: %v", script, err)
	}
	return v
}

// Text returns the text of an element as it shows.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("(document.querySelector(%q) || {innerText: ''}).innerText", selector))
}

// patience is how long a step may take that takes milliseconds on an idle machine.
const patience = 2 * time.Minute

// Until waits until a JavaScript condition holds, in this document or in one that follows it.
func (p *Page) Until(condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for start := time.Now(); ; {
		once, end := context.WithTimeout(ctx, 3*time.Second) // Chromium answers nothing that it is asked while it changes the process of a tab
		ok, err := chromedp.Run(once, chromedp.Evaluate[bool]("!!("+condition+")"))
		end()
		if err == nil && ok {
			return
		}
		select {
		case <-time.After(min(max(10*time.Millisecond, time.Since(start)/10), 100*time.Millisecond)):
		case <-ctx.Done():
			p.t.Fatalf("waited %v in vain: %s (%v); the page shows:\n%.3000s", patience, condition, err, p.Text("body"))
		}
	}
}

// Requests returns what the page has asked for.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Check fails the test where Fits does or axe-core finds a violation, which may take a second.
func (p *Page) Check() {
	p.t.Helper()
	p.Fits()
	p.violations(`"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"`)
}

// Contrast fails the test where axe-core finds too little contrast: all that another scheme of colours can change.
func (p *Page) Contrast() {
	p.t.Helper()
	p.violations(`"color-contrast", "link-in-text-block"`)
}

// violations fails the test where rules of axe-core, or rules with a tag, are violated.
func (p *Page) violations(rules string) {
	p.t.Helper()
	Eval[bool](p, p.axe+";true")
	for _, v := range Eval[[]string](p, `axe.run(document, {runOnly: [`+rules+`], resultTypes: ["violations"], selectors: false}).then(
		r => r.violations.map(v => v.id + ": " + v.help + " — " +
			v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))`) {
		p.t.Errorf("axe-core: %s", v)
	}
}

// Fits fails the test where the page scrolls sideways, asked another host for something, or wrote
// an error to the console, which is where a violated policy shows.
func (p *Page) Fits() {
	p.t.Helper()
	for _, r := range p.Requests() {
		if u, err := url.Parse(r); err != nil || u.Host != p.host {
			p.t.Errorf("the page asks another host: %.200s", r)
		}
	}
	p.mu.Lock()
	console := slices.Clone(p.console)
	p.mu.Unlock()
	itself := " " + Eval[string](p, "location.href") // an error's page
	for _, line := range console {
		if strings.HasSuffix(line, itself) {
			continue
		}
		p.t.Errorf("the console says: %.300s", line)
	}
	if wide := Eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		p.t.Errorf("the page scrolls sideways by %d pixels: %s", wide, Eval[string](p, `[...document.querySelectorAll("body *")].filter(
			e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 100)).join(" … ")`))
	}
}

// Touch fails the test where something that fingers touch is less than 44 pixels high. A link in a text is as high as the
// text.
func (p *Page) Touch() {
	p.t.Helper()
	for _, small := range Eval[[]string](p,
		`[...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary")].filter(e => {
		const box = e.getBoundingClientRect(), inText = e.matches("a") && getComputedStyle(e).display === "inline" &&
			e.closest("p, li, td, dd, figcaption, pre, .mind") && !e.closest("nav");
		return e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && box.width > 1 && box.right > 0 &&
			!inText && !e.closest("svg") && box.height < 43.5;
	}).map(e => Math.round(e.getBoundingClientRect().height) + " pixels: " + e.outerHTML.slice(0, 150))`) {
		p.t.Errorf("too small to touch, %s", small)
	}
}

// Picture writes what shows as PNG.
func (p *Page) Picture(path string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	lethetest.Must(p.t, err)
	lethetest.Must(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	lethetest.Must(p.t, os.WriteFile(path, png, 0o644))
}
