package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/report/parts"
	"lethe/bridge/serve/api"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// managed is a server over an empty home, in which what is started on the page runs until the test ends.
type managed struct {
	*servetest.Server
	t   testing.TB
	dir string
}

func manages(t testing.TB) *managed {
	t.Helper()
	for _, name := range []string{"DEEPSEEK_API_KEY", "OPENAI_API_KEY"} {
		if t, ok := t.(*testing.T); ok && os.Getenv(name) != "" {
			t.Fatalf("%s is set", name)
		}
		t.Cleanup(func() { secret.Keep(name, "") }) // what a form gives one is known to the whole process
	}
	dir := lethetest.Dir(t)
	m := &managed{servetest.Start(t, dir, Routes, api.Routes), t, dir}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { // ends with ctx
		ended <- host.Keep(ctx, m.Backend.Home.Home, host.Options{Log: slog.New(slog.DiscardHandler)},
			func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	t.Cleanup(func() { cancel(); lethetest.Must(t, <-ended) })
	m.Backend.RunStarted = func() error { return nil }
	return m
}

// post sends a form, and returns the page that the browser shows then.
func (m *managed) post(path string, status int, fields ...string) string {
	m.t.Helper()
	v := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	resp := m.Do(m.t, "POST", path, v.Encode(), "Content-Type: application/x-www-form-urlencoded")
	return servetest.Text(m.t, resp, status)
}

func (m *managed) get(path string) string {
	m.t.Helper()
	return servetest.Text(m.t, m.Do(m.t, "GET", path, ""), 200)
}

// shows fails the test unless a page has each of words.
func (m *managed) shows(path string, words ...string) {
	m.t.Helper()
	lethetest.Words(m.t, m.get(path), words...)
}

// An empty home welcomes, and an identity begins, stops and goes on, once, whatever is clicked how often.
func TestBegins(t *testing.T) {
	m := manages(t)
	m.shows("/", "Welcome to Lethe", "an assistant that stays", "offline: a script", `name="key" type="password"`,
		`<option value="" class="keyless">offline`, `<option class="keyless">ollama</option>`, `<option>openai</option>`)
	lethetest.Words(t, m.post("/agents/boot", 400, "name", "cron-x", "soul", "to <b>err</b>"), "names that begin with cron-",
		`value="cron-x"`, "to &lt;b&gt;err&lt;/b&gt;</textarea>")
	lethetest.Words(t, m.post("/agents/boot", 400, "name", "ada", "model.preset", "openai", "key", "two\nlines"), "a key is one line")
	lethetest.Words(t, m.post("/agents/boot", 400, "name", "ada", "model.preset", "openai"), "OPENAI_API_KEY is not set",
		"give it a key, or choose", `<option selected>openai</option>`)
	if _, err := os.Stat(config.File(m.dir)); err == nil {
		t.Error("what was refused stands in config.toml")
	}
	lethetest.Words(t, m.post("/agents/boot", 400, "name", "ada", "room", "notices-x y/z"), "y/z")
	if all, _ := m.Backend.List(); len(all) != 0 {
		t.Fatalf("booted: %v", all)
	}
	for _, place := range []string{"agents", "started"} { // what fails in the middle is done by the next click
		mended := lethetest.Break(t, filepath.Join(m.dir, place), func(durable.Stage, string, string) error { return syscall.ENOSPC })
		lethetest.Words(t, m.post("/agents/boot", 400, "name", "ada", "soul", "Keep the lamp.\nTell nobody.", "room", "lamp"),
			"no space left on device")
		mended()
	}
	var clicks sync.WaitGroup
	for range 4 {
		clicks.Go(func() {
			page := m.post("/agents/boot", 200, "name", " Ada ", "soul", "Keep the lamp.\r\nTell nobody.", "room", "lamp")
			lethetest.Words(t, page, "lamp</bdi></h1>", "ada waits for a line")
		})
	}
	clicks.Wait()
	id, err := m.Backend.Find("ada")
	lethetest.Must(t, err)
	lethetest.Holds(t, filepath.Join(id.Dir, "SOUL.md"), "Keep the lamp.\nTell nobody.")
	lethetest.Words(t, m.post("/agents/boot", 400, "name", "ada", "soul", "another"), "an identity of that name already")
	m.shows("/agents", "<b>ada</b>", "idle", "offline model", "Stop")
	m.shows("/agents/ada/manage", "Keep the lamp.", "and stays", "mind?open=memory", "ada runs: stop it first")
	for range 2 {
		lethetest.Words(t, m.post("/agents/ada/manage/run", 200, "do", "stop"), "stopped", "Start offline")
		if _, running := home.Running(id); running {
			t.Fatal("it runs")
		}
	}
	lethetest.Words(t, m.post("/agents/ada/manage/run", 400, "do", "model"),
		"start ada: open model: no api key for deepseek: DEEPSEEK_API_KEY is not set")
	m.shows("/agents", "no api key for deepseek", "deepseek has no key yet",
		`<option value="" selected>the offline model`, "There is none yet.")
	for range 2 {
		lethetest.Words(t, m.post("/agents/ada/manage/run", 200, "do", "offline"), "Start anew")
	}
	before := lethetest.Read(t, filepath.Join(id.Dir, "LIFE.md"))
	lethetest.Words(t, m.post("/agents/ada/manage/run", 200, "do", "offline", "anew", "1"), "Start anew")
	if after := lethetest.Read(t, filepath.Join(id.Dir, "LIFE.md")); strings.Count(after, " resumed ") != strings.Count(before,
		" resumed ")+1 {
		t.Errorf("it was not started anew once:\n%s", after)
	}
	m.shows("/agents/ada/manage", "deepseek has no <a")
	lethetest.Words(t, m.post("/agents/ada/manage/run", 400, "do", "model", "anew", "1"), "no api key",
		"it runs with the offline model, as before", "Start anew")
	if now := m.get("/agents/ada/now"); !strings.Contains(now, "the offline model; <a") || strings.Contains(now, `id="model"`) {
		t.Error("a model is asked for that would not think")
	}
	m.shows("/agents/ada/triggers", `room = "lamp"`)

	m.post("/agents/ada/manage/label", 400, "label", "No Label")
	lethetest.Words(t, m.post("/agents/ada/manage/label", 200, "label", "first"), "The label first is given")
	lethetest.Words(t, m.post("/agents/ada/manage/fork", 400, "name", "bea", "at", "e999", "room", "lamp"), `value="bea"`,
		`value="e999"`, `value="lamp"`)
	m.post("/agents/ada/manage/fork", 400, "name", "ada", "room", "lamp")
	lethetest.Words(t, m.post("/agents/ada/manage/fork", 200, "name", "Bea", "at", "now", "room", "bees"), "<h1>bea</h1>",
		"A fork of ada", "Its files go for good.")
	m.shows("/", "<b>ada</b>", "<b>bea</b>")
	lethetest.Words(t, m.post("/agents/bea/manage/remove", 400, "sure", "ada"), "type the name bea")
	m.post("/agents/ada/manage/remove", 400, "sure", "ada") // it runs
	lethetest.Words(t, m.post("/agents/bea/manage/remove", 200, "sure", "bea"), "bea is removed.")
	if all, _ := m.Backend.List(); len(all) != 1 {
		t.Errorf("left: %v", all)
	}
	lethetest.Words(t, m.post("/agents/room", 400, "gone", "../x"), "is not the name of a room")
	m.post("/agents/room", 200, "gone", "bees")
	if _, err := os.Lstat(chat.Path(m.dir, "bees")); err == nil {
		t.Error("the room is there")
	}
	for _, act := range []string{"/agents/ada/manage/run?do=stop", "/agents/boot?name=eve", "/agents/settings?context.limit=1",
		"/agents/ada/triggers/turn?do=remove&trigger=x"} {
		if resp := m.Do(t, "GET", act, ""); resp.StatusCode == 200 && resp.Request.URL.String() == m.URL+act {
			t.Errorf("GET %s: %s", act, resp.Status)
		}
		if resp := m.Do(t, "POST", act, "x=1", "Content-Type: application/x-www-form-urlencoded",
			"Origin: https://evil.example"); resp.StatusCode != 403 {
			t.Errorf("another site posts %s: %s", act, resp.Status)
		}
	}
	if _, running := home.Running(id); !running {
		t.Error("it was stopped by GET, or by another site")
	}
}

// away is what hosts share, where another one has a life.
type away struct{ home.Sharing }

func (away) Elsewhere() []*home.ElsewhereError {
	return []*home.ElsewhereError{{Identity: home.Identity{Name: "bea", Self: strings.Repeat("b", 64)}, Host: "<i>laptop"}}
}

// An identity that lives at another host stands in the list with that host, and leads nowhere.
func TestListsHosts(t *testing.T) {
	m := manages(t)
	m.Backend.Home.Shared = away{}
	page := m.get("/agents")
	lethetest.Words(t, page, "<b>bea</b>", "at <bdi>&lt;i&gt;laptop</bdi>", "lethe take bea")
	if strings.Contains(page, "/agents/bea") || strings.Contains(page, "elsewhere") {
		t.Errorf("it is shown as one of this host:\n%s", page)
	}
}

// What is saved of MEMORY is said where it was typed; a reply is named by what it says, not by what was thought.
func TestSavedIsSaid(t *testing.T) {
	m := manages(t)
	m.post("/agents/boot", 200, "name", "ada")
	page := m.post("/agents/ada/mind/edit", 200, "part", "memory", "seen", new(parts.Part).Seen(), "text", "# mine")
	_, opened, _ := strings.Cut(page, `class="opened"`)
	lethetest.Words(t, opened, "Saved.", "<details open>", "# mine</textarea>")
	lethetest.Equal(t, "places that say so", strings.Count(page, "Saved."), 1)
	for text, want := range map[string]string{
		"<reasoning>\nhm\n</reasoning>\n\nyes\nno": "yes", "<reasoning>\nhm\n</reasoning>\n": "hm", "\n one": "one",
	} {
		lethetest.Equal(t, text, firstLine(text), want)
	}
}

// Who was hired stands there with the role, the people and the costs.
func TestTeam(t *testing.T) {
	m := manages(t)
	store, err := blobs.Open(m.Backend.Blobs())
	lethetest.Must(t, err)
	hired := home.Hired{Role: "nurse", For: []string{"ann"}, With: home.Role{Day: 1}}
	_, err = home.Boot(m.Backend.Home.Home, store, home.BootOptions{Name: "nurse-ann", Hired: &hired})
	lethetest.Must(t, err)
	m.shows("/agents", "nurse for ann; today 0.00 USD of 1.00, left 1.00; this month 0.00 USD")
}

// Settings that all identities share are edited where people wrote them, and a key is nowhere but in its file.
func TestShares(t *testing.T) {
	m := manages(t)
	store, err := blobs.Open(m.Backend.Blobs())
	lethetest.Must(t, err)
	_, err = home.Boot(m.Backend.Home.Home, store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	file := config.File(m.dir)
	lethetest.Write(t, file, "# mine\n[budget]\nday_usd = 2.0 # enough\n")
	m.shows("/agents", `name="budget.day_usd" inputmode="decimal" size="6" value="2"`)
	const key = "sk-0123456789-of-the-page"
	page := m.post("/agents/settings", 200, "model.preset", "openai", "model.name", "gpt-5.1", "model.base_url", "", "key",
		key, "context.limit", "50000", "budget.day_usd", "0.5", "budget.month_usd", "")
	lethetest.Words(t, page, "Saved.", `<option selected>openai</option>`)
	want := "# mine\n[budget]\nday_usd = 0.5 # enough\n\n[context]\nlimit = 50000\n\n[model]\npreset = \"openai\"\nname = \"gpt-5.1\"\n"
	lethetest.Equal(t, file, lethetest.Read(t, file), want)
	if fi, err := os.Stat(config.KeysFile(m.dir)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	for fields, want := range map[[2]string]string{
		{"context.limit", "many"}: `context.limit = &#34;many&#34; is not a number`,
		{"budget.day_usd", "-1"}:  "budget.day_usd = -1 is not an amount",
		{"budget.day_usd", "nan"}: "is not an amount", {"model.preset", "deep"}: "model.preset = &#34;deep&#34; is none of",
		{"context.limit", "2.5"}: "integer",
	} {
		page += m.post("/agents/settings", 400, fields[0], fields[1], "budget.month_usd", "7.25", "key", "")
		lethetest.Words(t, page, want, `value="7.25"`)
	}
	if got := lethetest.Read(t, file); got != want || strings.Contains(page+got, key) {
		t.Errorf("it is\n%s", got)
	}
	cost := m.get("/agents/ada/cost")
	lethetest.Words(t, cost, "0.50")
	lethetest.Write(t, file, "user = 3\n")
	m.shows("/agents", "config.toml: ", "has to be of type string")
}

// Triggers are made, checked, edited, paused and removed; what was changed meanwhile is not lost.
func TestTriggersAreEdited(t *testing.T) {
	m := manages(t)
	m.post("/agents/boot", 200, "name", "ada")
	id, err := m.Backend.Find("ada")
	lethetest.Must(t, err)
	path := func(name string) string { return filepath.Join(report.TriggersDir(id), name) }
	const daily = "cron = \"0 9 29 2 *\" # rarely\nroom = \"dev\"\nsay = \"hi\"\n"
	check := m.post("/agents/ada/triggers/edit", 200, "do", "check", "part", "check", "text", daily)
	lethetest.Words(t, check, "Next:", "29 Feb 2028 09:00", "29 Feb 2032 09:00", "29 Feb 2036 09:00")
	if strings.Contains(check, "<html") {
		t.Error("all of the page comes where the times were asked for")
	}
	lethetest.Words(t, m.post("/agents/ada/triggers/edit", 200, "do", "check", "name", "x", "text",
		"cron = '0 25 * * *'\nsay = '<b>'"), "hour &#34;25&#34; is not from 0 to 23", "say = &#39;&lt;b&gt;&#39;</textarea>")
	for name, text := range map[string]string{"../../x": daily, "A": daily, "": "every = 1"} {
		m.post("/agents/ada/triggers/edit", 400, "name", name, "text", text)
	}
	lethetest.Words(t, m.post("/agents/ada/triggers/edit", 200, "name", "brief", "text",
		strings.ReplaceAll(daily, "\n", "\r\n")), "Saved.", "cron 0 9 29 2 *")
	lethetest.Holds(t, path("brief.toml"), daily)
	lethetest.Words(t, m.post("/agents/ada/triggers/edit", 409, "name", "brief", "text", "every = '1h'\nsay = 'mine'"),
		"both versions", "# rarely", "say = &#39;mine&#39;")
	lethetest.Holds(t, path("brief.toml"), daily)
	edit := m.get("/agents/ada/triggers?name=brief")
	_, seen, _ := strings.Cut(edit, `name="seen" value="`)
	seen, _, _ = strings.Cut(seen, `"`)
	m.post("/agents/ada/triggers/edit", 200, "name", "brief", "seen", seen, "text", "every = '72h'\nsay = 'so'\n")
	m.post("/agents/ada/triggers/edit", 409, "name", "brief", "seen", seen, "text", daily)

	lethetest.Words(t, m.post("/agents/ada/triggers/turn", 200, "do", "pause", "trigger", "brief"), "paused", "Resume")
	lethetest.Holds(t, path(".brief.toml"), "every = '72h'\nsay = 'so'\n")
	m.shows("/agents/ada/triggers?name=.brief", "Change .brief")
	if all, err := m.Backend.Triggers(id); err != nil || len(all) != 1 || !all[0].Paused || !all[0].Next.IsZero() ||
		report.Fire(id, "brief", all) == nil {
		t.Errorf("%+v, %v", all, err)
	}
	lethetest.Write(t, path("brief.toml"), daily) // by somebody else
	lethetest.Words(t, m.post("/agents/ada/triggers/turn", 400, "do", "resume", "trigger", "brief"), "another trigger brief")
	lethetest.Must(t, os.Remove(path("brief.toml")))
	mended := lethetest.Break(t, report.TriggersDir(id), func(durable.Stage, string, string) error { return syscall.ENOSPC })
	m.post("/agents/ada/triggers/turn", 400, "do", "resume", "trigger", "brief")
	m.post("/agents/ada/triggers/edit", 500, "name", "other", "text", daily)
	mended()
	lethetest.Holds(t, path(".brief.toml"), "every = '72h'\nsay = 'so'\n")
	m.post("/agents/ada/triggers/turn", 200, "do", "resume", "trigger", "brief")
	m.post("/agents/ada/triggers/turn", 400, "do", "remove", "trigger", "../brief")
	m.post("/agents/ada/triggers/turn", 200, "do", "pause", "trigger", "brief")
	m.post("/agents/ada/triggers/turn", 200, "do", "remove", "trigger", "brief")
	if left, _ := os.ReadDir(report.TriggersDir(id)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// begins is the first hour of somebody who has the address alone.
func begins(t *testing.T, b *Browser) {
	m := manages(t)
	stranger := b.Open(t, m.Page()+"/", Look{Width: 320, Dark: true})
	if stranger.Check(); Eval[string](stranger, `getComputedStyle(document.querySelector("h1")).fontWeight`) != "400" {
		t.Error("its style is refused")
	}
	lethetest.Words(t, stranger.Text("main"), "lethe serve --open")
	p := b.Open(t, m.Link(), Look{})
	lethetest.Words(t, p.Text("main"), "Welcome to Lethe")
	p.Check()
	for preset, needsKey := range map[string]bool{"": false, "ollama": false, "openai": true, "custom": true} {
		Eval[string](p, fmt.Sprintf(`document.querySelector("#preset").value = %q`, preset)) // SetValue sends no empty text
		if shown := Eval[bool](p, `document.querySelector("#key").checkVisibility()`); shown != needsKey {
			t.Errorf("with %q the field of the key is shown: %v", preset, shown)
		}
	}
	p.Do(chromedp.SetValue("#preset", ""))
	p.Do(chromedp.SetValue("#name", "ada"), chromedp.SetValue("#soul", "Keep the lamp."), chromedp.Click("button.main"))
	p.Until(`location.pathname === "/agents/ada/now" && document.querySelector("#text")`)
	tell(t, p, "remember that the deploy key is in vault 7")
	p.Until(answered)
	p.Goto(m.Page() + "/agents/ada/triggers")
	p.Do(chromedp.SetValue("#name", "brief"), chromedp.Focus("#text"), chromedp.KeyEvent("every = '1h' "))
	p.Until(`document.querySelector("[data-checked]").innerText.includes("line 1")`) // two assignments in one line
	p.Do(chromedp.SetValue("#text", "cron = '0 9 29 2 *'\nsay = 'so'"), chromedp.Focus("#text"), chromedp.KeyEvent("\n"))
	p.Until(`document.querySelector("[data-checked]").innerText.includes("29 Feb 2036")`)
	p.Check()
	p.Do(chromedp.Click("#edit button.main"))
	p.Until(`location.search.startsWith("?saved=1") && document.querySelector("table")`)
	small := `[...document.querySelectorAll("button, input:not([type=hidden]):not([type=file]), select, summary, nav a, .row ` +
		`> a")].filter(e => { const r = e.getBoundingClientRect(); return r.height > 0 && r.height < 44; }).map(e => ` +
		`e.outerHTML.slice(0, 100)).join(" ")`
	for _, look := range []Look{{Width: 1600}, {Width: 390, Dark: true}, {Width: 320}} {
		p.Look(look)
		for _, path := range []string{"/agents", "/agents/ada/manage", "/agents/ada/triggers?name=brief"} {
			p.Goto(m.Page() + path)
			p.Fits()
			if look.Dark {
				p.Contrast()
			}
			if look.Width == 1600 {
				p.Check()
			} else if s := Eval[string](p, small); s != "" {
				t.Errorf("%s: less than 44 pixels high: %s", path, s)
			}
			if *pictures != "" {
				p.Picture(filepath.Join(*pictures, fmt.Sprint(filepath.Base(path), look.Width, ".png")))
			}
		}
	}
}

// TestManageImages makes images of docs/page.md: go test -run ManageImages -images ../../../docs/images.
func TestManageImages(t *testing.T) {
	if *images == "" {
		t.Skip("makes images when -images names a directory")
	}
	m := manages(t)
	p := startBrowser(t, shell).Open(t, m.Link(), Look{Width: 1100, Height: 780})
	p.Picture(filepath.Join(*images, "welcome.png"))
	for name, said := range map[string]string{"ada": "ask me before you run date", "bea": "remember that the deploy key is in vault 7"} {
		m.post("/agents/boot", 200, "name", name, "room", name)
		says(t, m.Backend, name, "", said)
	}
	m.post("/agents/ada/triggers/edit", 200, "name", "morning-brief", "text",
		"cron = \"0 9 * * 1-5\"   # minute hour day month weekday\nroom = \"ada\"\nsay = \"Write the morning brief: what is "+
			"open, what is due today.\"\n")
	p.Goto(m.Page() + "/agents/ada/triggers?name=morning-brief#edit")
	p.Do(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
	p.Picture(filepath.Join(*images, "triggers.png"))
	lethetest.Eventually(t, "it asks", func() bool {
		return strings.Contains(m.get("/agents"), "1 open question") && strings.Contains(m.get("/agents"), "I will remember")
	})
	p.Goto(m.Page() + "/agents")
	p.Picture(filepath.Join(*images, "identities.png"))
}

// A person sees the plans as boards, and confirms, holds and drops them there.
func TestBoard(t *testing.T) {
	m := manages(t)
	m.post("/agents/boot", 200, "name", "ada", "room", "lamp")
	id, err := home.Home{Dir: m.dir}.Find("ada")
	lethetest.Must(t, err)
	plan := filepath.Join(id.Dir, "workspace/work/move.md")
	lethetest.Write(t, plan, "# Goal: <b>all</b>\nbounds: 2 steps, 1 USD, 1 workers\n- [ ] 1 <i>ask\n- [!] 2 say hello · worker: yes\n")
	m.shows("/agents/ada/work", "move.md", "&lt;b&gt;all", "It waits for you.", "<li><bdi>1 &lt;i&gt;ask</bdi></li>", "Failed")
	_, gate, _ := strings.Cut(m.get("/agents/ada/work"), `name="gate" value="`)
	gate, _, _ = strings.Cut(gate, `"`)
	was := lethetest.Read(t, plan)
	lethetest.Write(t, plan, strings.Replace(was, "1 USD", "100 USD", 1))
	confirms := []string{"plan", "move.md", "do", "confirm", "gate", gate}
	lethetest.Words(t, m.post("/agents/ada/work/change", 400, confirms...), "no longer as you saw it")
	lethetest.Write(t, plan, was)
	lethetest.Words(t, m.post("/agents/ada/work/change", 200, confirms...), "Pause")
	lethetest.Words(t, m.post("/agents/ada/work/change", 200, "plan", "move.md", "do", "pause"), "It waits for you.")
	lethetest.Words(t, m.post("/agents/ada/work/change", 400, "plan", "../move", "do", "drop"), "no such file")
	lethetest.Words(t, m.post("/agents/ada/work/change", 200, "plan", "move.md", "do", "drop"), "No plan")
}
