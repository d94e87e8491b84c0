package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"lethe/agent/home"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/push"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// phone uses the page as a phone does: installs it, gets notices, and loses the server and the login.
func phone(t *testing.T, _ *Browser) {
	b := startBrowser(t)
	s := servetest.Start(t, lethetest.Dir(t), Routes, api.Routes)
	_, s.Backend.PushKey, _ = strings.Cut(push.NewKey(), ".")
	s.Backend.Mentions = func(name string) bool { return name == "ada" }
	_, err := home.Boot(s.Backend.Home.Home, s.Backend.Store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	says(t, s.Backend, "dev", "", "the safe is behind the mirror")

	p := b.Open(t, s.Link(), Look{Width: 390, Height: 800})
	origin := s.Page()
	inBrowser := func(ctx context.Context, _ *chromedp.Target) (none chromedp.Void, err error) {
		c := chromedp.FromContext(ctx)
		_, err = cdp.Call(ctx, c.Browser, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: "granted", Origin: origin,
			BrowserContextID: c.BrowserContextID,
		})
		return none, err
	}
	p.Do(call(serviceworker.Enable, cdp.Empty{}), inBrowser)
	devices := origin + "/agents/ada/devices"
	p.Goto(devices)
	p.Until(`!document.querySelector("#push").hidden`)
	p.Check()
	if small := Eval[string](p, `[...document.querySelectorAll(".devices :is(button, input:not([type=hidden]))")].filter(e `+
		`=> e.getBoundingClientRect().height < 44).map(e => e.outerHTML).join(" ")`); small != "" {
		t.Errorf("less than 44 pixels high: %s", small)
	}

	// It can be installed, by what Chromium says.
	for _, what := range []chromedp.Action[chromedp.Void]{func(ctx context.Context, tab *chromedp.Target) (none chromedp.Void, err error) {
		manifest, err := cdp.Call(ctx, tab, page.GetAppManifest, page.GetAppManifestParams{})
		if err == nil && (len(manifest.Errors) > 0 || manifest.URL == "" || !strings.Contains(manifest.Data, `"standalone"`)) {
			err = fmt.Errorf("the manifest: %+v", manifest)
		}
		if err != nil {
			return none, err
		}
		wrong, err := cdp.Call(ctx, tab, page.GetInstallabilityErrors, cdp.Empty{})
		for _, e := range wrong.InstallabilityErrors {
			if e.ErrorID != "in-incognito" { // as each tab of a test is
				t.Errorf("it cannot be installed: %s %v", e.ErrorID, e.ErrorArguments)
			}
		}
		return none, err
	}} {
		p.Do(what)
	}

	// The push service is the test: Chromium's own is elsewhere.
	p.Do(chromedp.Evaluate[chromedp.Void](`PushManager.prototype.subscribe = async o => ({o, toJSON: () => ({
		endpoint: "https://push.example.org/" + o.applicationServerKey + o.userVisibleOnly,
		keys: {auth: "8eDyX_uCN0XRhSbY5hs7Hg",
			p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}})});
		document.querySelector("#push").name.value = "<b>my</b> phone"`))
	p.Do(chromedp.Click("#push button"))
	p.Until(`document.querySelector(".devices li b")?.innerText === "<b>my</b> phone"`)
	p.Check()
	if *pictures != "" {
		p.Picture(filepath.Join(*pictures, "devices-narrow.png"))
	}
	listed, err := push.Devices(s.Backend.Dir)
	if err != nil || len(listed) != 1 || listed[0].Endpoint != "https://push.example.org/"+s.Backend.PushKey+"true" {
		t.Errorf("listed is %+v, %v", listed, err)
	}

	// A notice is shown, once where it comes twice, and opens the room.
	worker := func() serviceworker.Version {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.worker
	}
	lethetest.Eventually(t, "the worker is registered", func() bool { return worker().ScriptURL != "" })
	p.Goto(devices)
	p.Until(`navigator.serviceWorker.controller`)
	notice, err := json.Marshal(map[string]string{"title": "ada asks", "body": "Deploy? · yes · no",
		"url": "/agents/ada/now?room=dev", "tag": "3fa9c0d2e1b4a5f6"})
	lethetest.Must(t, err)
	const shown = `navigator.serviceWorker.ready.then(w => w.getNotifications()).then(all => all.map(n => [n.title, n.body, ` +
		`n.data, n.tag].join("|")))`
	lethetest.Eventually(t, "the notice is shown", func() bool { // a busy Chromium drops one
		p.Do(call(serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin,
			RegistrationID: worker().RegistrationID, Data: string(notice)}))
		return len(Eval[[]string](p, shown)) > 0
	})
	p.Do(call(serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin,
		RegistrationID: worker().RegistrationID, Data: string(notice)}))
	if got := Eval[[]string](p, shown); !slices.Equal(got,
		[]string{"ada asks|Deploy? · yes · no|/agents/ada/now?room=dev|3fa9c0d2e1b4a5f6"}) {
		t.Errorf("shown is %q", got)
	}

	// Whatever was looked at, the shell alone is kept.
	for _, at := range []string{"/agents/ada/now?room=dev", "/api/rooms", "/agents/ada/life"} {
		p.Goto(origin + at)
		p.Until(`document.readyState === "complete"`)
		if strings.Contains(at, "now") && p.Text(".hear") != "Heard by ada when @ada is named" {
			t.Errorf("who hears the room, and when: %q", p.Text(".hear"))
		}
	}
	p.Goto(devices)
	kept := Eval[[]string](p, `(async () => { const kept = []; for (const name of await caches.keys()) for (const r of await `+
		`(await caches.open(name)).keys()) kept.push(new URL(r.url).pathname); return kept.sort(); })()`)
	if shell := "/page/" + version() + "/"; !slices.Equal(kept, []string{shell + "favicon.svg", shell + "page.js", shell + "style.css"}) {
		t.Errorf("kept is %q", kept)
	}
	// A new version takes its place when no page is open any more, and what older ones have kept goes.
	Eval[bool](p, `caches.open("/page/older/").then(() => navigator.serviceWorker.register("/worker.js?2")).then(() => true)`)
	lethetest.Eventually(t, "the new version waits", func() bool {
		return Eval[bool](p, `navigator.serviceWorker.getRegistration().then(r => r.waiting !== null)`)
	})
	p.Goto("about:blank")
	lethetest.Eventually(t, "the new version takes over", func() bool { return strings.HasSuffix(worker().ScriptURL, "?2") })
	p.Goto(origin + "/agents/ada/life")
	lethetest.Equal(t, "the kept versions", Eval[string](p, "caches.keys().then(String)"), "/page/"+version()+"/")

	p.Goto(devices)
	p.Do(chromedp.Click(".devices li button"))
	p.Until(`document.querySelector(".devices li")?.innerText === "No device yet."`)
	if listed, err := push.Devices(s.Backend.Dir); err != nil || len(listed) > 0 {
		t.Errorf("still listed is %+v, %v", listed, err)
	}

	// Who is not logged in any more, or does not reach the server, sees nothing of it.
	at, _ := url.Parse(origin)
	p.Do(call(network.DeleteCookies, network.DeleteCookiesParams{Name: "lethe", Domain: at.Hostname()}))
	p.Goto(origin + "/agents/ada/now?room=dev")
	p.Until(`document.body.innerText.includes("needs the token")`)
	s.CloseClientConnections()
	s.Close()
	p.Goto(origin + "/agents/ada/now?room=dev")
	p.Until(`document.querySelector("h1")?.innerText === "Lethe is not reached" && document.querySelector("a")`)
	if text := p.Text("html"); strings.Contains(text, "mirror") || !Eval[bool](p, "document.styleSheets[0]?.cssRules.length > 9") {
		t.Errorf("without the server, and without its style, it shows %q", text)
	}
}
