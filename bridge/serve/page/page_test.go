package page

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm/rehearsal"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

var pictures = flag.String("pictures", "", "write pictures of the views to this `directory`")

var images = flag.String("images", "", "make the images of docs/page.md in this `directory`")

// asServer makes the test binary a server of the home that it names, at an address.
const asServer = "LETHE_TEST_SERVER"

func TestMain(m *testing.M) {
	host.Main()
	if where := os.Getenv(asServer); where != "" {
		fmt.Println(mortalServer(strings.Cut(where, " ")))
		return
	}
	lethetest.AskFaults()
	os.Exit(m.Run())
}

func mortalServer(address, dir string, _ bool) error {
	home, err := home.Open(dir)
	if err != nil {
		return err
	}
	store, err := blobs.Open(home.Blobs())
	if err != nil {
		return err
	}
	watcher := chat.NewWatcher(0, nil)
	go func() { _ = watcher.Run(context.Background()) }() // ends with the process
	return serve.Run(context.Background(), serve.Config{
		Settings: serve.Settings{Address: address, Socket: "off"}, Home: report.Home{Home: home, Store: store, People: []string{"you"}},
		Watcher: watcher, User: "you", Log: slog.New(slog.DiscardHandler), Parts: []serve.Part{Routes, api.Routes},
		Ready: func(_ string, link func() string) { fmt.Println(link()) },
	})
}

func open(t testing.TB, dir string) *backend.Backend {
	t.Helper()
	home, err := home.Open(dir)
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	watcher := chat.NewWatcher(0, nil)
	b, err := bridge.Open(bridge.Config{Home: dir, Name: backend.Name, Watcher: watcher})
	lethetest.Must(t, err)
	t.Cleanup(func() { b.Close() })
	return &backend.Backend{Home: report.Home{Home: home, Store: store, Zone: time.UTC}, Bridge: b, Watcher: watcher,
		User: "grace", Log: slog.New(slog.DiscardHandler)}
}

// says says a line in a room.
func says(t testing.TB, b *backend.Backend, room, who, text string) {
	t.Helper()
	_, err := b.Say("", room, who, text)
	lethetest.Must(t, err)
}

// alive runs the identity ada in a home until the test ends, in room dev, with the offline model at an address of its own.
func alive(t testing.TB, dir string) {
	t.Helper()
	lethetest.Write(t, filepath.Join(dir, "config.toml"),
		"user = \"you\"\npeople = [\"you\"]\n[model]\nmax_tokens = 1024\n[context]\nlimit = 20000\n[prices.rehearsal]\nhit = "+
			"0.06\nmiss = 1.2\noutput = 4.0\n")
	place, err := home.Open(dir)
	lethetest.Must(t, err)
	var settings config.Settings
	lethetest.Must(t, config.Read(dir, &settings))
	ready := make(chan home.Identity, 1)
	model := rehearsal.New(rehearsal.Options{Pace: 20 * time.Millisecond})
	url, err := model.Listen("127.0.0.1:0")
	lethetest.Must(t, err)
	h, err := host.New(place, settings, host.Options{BaseURL: url, Model: "rehearsal", Rooms: []string{"dev"},
		Ready: func(id home.Identity) { ready <- id }})
	lethetest.Must(t, err)
	id, err := h.Boot(home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- h.Run(ctx, []home.Identity{id}) }() // both end with ctx
	go func() { ended <- model.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		lethetest.Must(t, errors.Join(<-ended, <-ended))
	})
	<-ready
}

// tell types a line and says it with the keyboard alone.
func tell(t testing.TB, p *Page, text string) {
	t.Helper()
	if Eval[string](p, "document.activeElement.id") != "text" { // by the second link of the page
		p.Do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"), chromedp.KeyEvent(kb.Tab),
			chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
		p.Until(`document.activeElement.id === "text"`)
	}
	p.Do(chromedp.KeyEvent(text), chromedp.KeyEvent(kb.Enter))
	p.Until(fmt.Sprintf(`[...document.querySelectorAll("#lines .line:not(.own) .said")].some(e => e.innerText.trim() === %q)`, text))
}

const answered = `document.querySelector("#lines .line:last-child")?.classList.contains("own") && ` +
	`!document.querySelector("#live").children.length`

// TestInBrowser looks at all views in one browser, since each takes a second to start.
func TestInBrowser(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	b := startBrowser(t, shell)
	for name, test := range map[string]func(*testing.T, *Browser){"use": use, "killed": killed, "views": looks,
		"other sites": otherSites, "begins": begins, "phone": phone, "rooms": rooms} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// use uses the page as people do, of an identity that lives.
func use(t *testing.T, b *Browser) {
	dir := lethetest.Dir(t)
	alive(t, dir)
	s := servetest.Start(t, dir, Routes, api.Routes)
	now := s.Page() + "/agents/ada/now?room=dev"
	show := func(t *testing.T, look Look) *Page {
		p := b.Open(t, s.Link(), look)
		p.Goto(now)
		return p
	}
	t.Run("a reply is shown while it streams", func(t *testing.T) {
		p := show(t, Look{})
		tell(t, p, "count to 60")
		p.Until(`document.querySelector("#live .own .streams")?.textContent.includes("1 2 3")`)
		p.Until(answered)
		lethetest.Words(t, p.Text("#lines"), "57 58 59 60")
		p.Until(`document.querySelector("#news").textContent === "ada waits for a line"`)
	})
	t.Run("a tab that nobody sees takes no connection", func(t *testing.T) {
		p := show(t, Look{})
		p.Until("source.readyState === EventSource.OPEN")
		for _, hidden := range []bool{true, false} {
			p.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %v, configurable: `+
				`true}); document.dispatchEvent(new Event("visibilitychange"))`, hidden)))
			lethetest.Equal(t, fmt.Sprint("closed where hidden is ", hidden), Eval[bool](p, "source.readyState === EventSource.CLOSED"), hidden)
			says(t, s.Backend, "dev", "bob", fmt.Sprintf("remember the tab %v", hidden))
		}
		p.Until(`["true", "false"].every(t => document.querySelector("#lines").innerText.includes("I will remember: the tab " + t))`)
	})
	t.Run("a log that was cut is said, and loaded anew", func(t *testing.T) {
		p := show(t, Look{})
		p.Do(chromedp.Evaluate[chromedp.Void](`follow("999999999999")`))
		p.Until(`document.querySelector("#wrong button")`)
		p.Do(chromedp.Click("#wrong button"))
		p.Until(`document.readyState === "complete" && document.querySelector("#wrong").textContent === ""`)
	})
	t.Run("what is in a blob is not run", func(t *testing.T) {
		p := show(t, Look{})
		script := `<script>document.title = "it ran"</script>`
		for text, kind := range map[string]string{
			"<!doctype html><html>" + script:                               "text/plain",
			`<svg xmlns="http://www.w3.org/2000/svg">` + script + "</svg>": "text/plain", "\x89PNG\r\n\x1a\n" + script: "image/png",
		} {
			h, err := s.Backend.Store.Put(blobs.Meta{}, []byte(text))
			lethetest.Must(t, err)
			p.Goto(s.Page() + "/api/blobs/" + h.String())
			if got := Eval[string](p, `document.contentType + " " + document.scripts.length + " " + document.title.includes("it `+
				`ran")`); got != kind+" 0 false" {
				t.Errorf("%q is shown as %s", text, got)
			}
		}
	})
	t.Run("calls are folded", func(t *testing.T) {
		p := show(t, Look{})
		tell(t, p, "run echo here-it-is")
		p.Until(answered)
		p.Do(chromedp.Click("#lines .line:last-child details:nth-of-type(2) summary"))
		lethetest.Words(t, p.Text("#lines .line:last-child .did[open]"), "BASH", "echo here-it-is", "ok")
		p.Check()
	})
	t.Run("Life grows, and nothing moves while one reads", func(t *testing.T) {
		p, life := show(t, Look{Height: 300}), show(t, Look{})
		life.Goto(s.Page() + "/agents/ada/life")
		p.Do(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
		for i := range 3 {
			says(t, s.Backend, "dev", "bob", fmt.Sprintf("remember number %d", i))
			p.Until(answered + fmt.Sprintf(`&& document.querySelector("#lines").innerText.includes("I will remember: number %d")`, i))
		}
		lethetest.Equal(t, "the place of the page", Eval[int](p, "Math.round(scrollY)"), 0)
		life.Until(`document.querySelector("main").innerText.includes("I will remember: number 2")`)
		lethetest.Equal(t, "answers in Life", strings.Count(life.Text("main"), "I will remember: number 0"), 1)
	})
	t.Run("a room is opened, and its newest line shows elsewhere", func(t *testing.T) {
		p := show(t, Look{})
		p.Do(chromedp.SetValue("#room", "ops"), chromedp.Click("#room + button"))
		p.Until(`location.search === "?room=ops" && document.readyState === "complete"`)
		p.Goto(now)
		says(t, s.Backend, "ops", "bob", "hello")
		p.Until(`[...document.querySelectorAll(".rooms li")].some(e => e.textContent.includes("ops") && e.querySelector(".clip"))`)
	})
	// inSight looks for a button where somebody reads further up.
	inSight := func(t *testing.T, p *Page, button string) {
		t.Helper()
		p.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#lines").style.minHeight = "3000px"; scrollTo(0, 0)`))
		if !Eval[bool](p, fmt.Sprintf(`(() => {
			const b = document.querySelector(%q), r = b.getBoundingClientRect();
			return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)?.closest("button") === b;
		})()`, button)) {
			t.Errorf("%s is out of sight further up", button)
		}
	}
	t.Run("a question is answered with a button", func(t *testing.T) {
		p := show(t, Look{Height: 500})
		tell(t, p, "ask me before you run date")
		p.Until(`document.querySelector(".question button")`)
		p.Check()
		inSight(t, p, ".question button")
		p.Do(chromedp.Click(".question button"))
		p.Until(`document.querySelector("#lines").innerText.includes("to “Shall I run date?”")`)
		p.Until(`!document.querySelector(".question")`)
		said := p.Text("#lines")
		if regexp.MustCompile(`q[0-9a-f]{6}`).MatchString(said) {
			t.Errorf("a question or its answer is shown with its id:\n%s", said)
		}
		p.Until(`end() < 48 && !location.hash && !document.querySelector(".day.new") && document.querySelector(".rooms ` +
			`[aria-current] + b").hidden`)
	})
	t.Run("what is let go is told where it happened, and leads to its original", func(t *testing.T) {
		p := show(t, Look{})
		tell(t, p, "count to 100")
		p.Until(answered)
		tell(t, p, "/forget e1..e200")
		p.Until(`document.querySelector(".did.mind")?.innerText.startsWith("ada let go")`)
		lethetest.Words(t, p.Text(".glance"), "of 20k tokens", "rehearsal")
		p.Do(chromedp.Click(".did.mind a"))
		p.Until(`location.pathname.endsWith("/original") && document.querySelector("pre.original")?.innerText.length > 5`)
	})
	t.Run("a turn is stopped", func(t *testing.T) {
		p := show(t, Look{Height: 500})
		tell(t, p, "run sleep 100")
		p.Until(`document.querySelector(".state button") && document.querySelector(".state").innerText.includes("runs BASH")`)
		inSight(t, p, ".state button")
		p.Do(chromedp.Click(".state button"))
		p.Until(`document.querySelector("#lines").innerText.includes("Stopped.")`)
	})
	t.Run("the model is changed", func(t *testing.T) {
		p := show(t, Look{Height: 500})
		p.Do(chromedp.SetValue("#model", "rehearsal-2"), chromedp.Submit("#model"))
		p.Until(`document.querySelector("#lines").innerText.includes("I use the model rehearsal-2")`)
		p.Check()
	})
	t.Run("files are attached, without script", func(t *testing.T) {
		lethetest.Write(t, filepath.Join(dir, "a plan.txt"), "first, think")
		p := show(t, Look{NoScript: true})
		p.Do(chromedp.SetValue("#text", "here is the plan"),
			chromedp.SetUploadFiles("input[type=file]", []string{filepath.Join(dir, "a plan.txt")}), chromedp.Click("#say button"))
		lethetest.Eventually(t, "the line stands there", func() bool {
			text, _ := os.ReadFile(chat.Path(dir, "dev"))
			return strings.Contains(string(text), "here is the plan\u2028[document a plan.txt text/plain 12 B hash=")
		})
	})
	t.Run("looks", func(t *testing.T) {
		strangers(t, dir)
		for name, look := range map[string]Look{"light": {Width: 1400, Height: 900},
			"dark": {Width: 1400, Height: 900, Dark: true}, "narrow": {Width: 320, Height: 700}} {
			p := b.Open(t, s.Link(), look)
			for _, v := range []string{"now?room=dev", "now?room=bad", "life", "nowhere"} {
				if name == "dark" && v == "now?room=bad" && *pictures == "" { // as in light, but for its colours
					continue
				}
				p.Goto(s.Page() + "/agents/ada/" + v)
				p.Fits()
				if name == "light" {
					p.Check()
				} else if name == "dark" {
					p.Contrast()
				}
				if *pictures != "" {
					p.Picture(filepath.Join(*pictures, strings.ReplaceAll(v, "?", "-")+"-"+name+".png"))
				}
				if n := Eval[int](p, `document.querySelectorAll("main script, main img, main iframe, main [style], main `+
					`[onerror]").length + (window.pwned ? 1 : 0)`); n != 0 {
					t.Errorf("%s: %d elements that a stranger wrote", v, n)
				}
			}
		}
	})
}

// Whoever hears of a call and looks finds it at once, though status.json follows a moment later; and so with its end.
func TestFootFollowsEvents(t *testing.T) {
	dir := lethetest.Dir(t)
	alive(t, dir)
	s := servetest.Start(t, dir, Routes)
	id, err := s.Backend.Find("ada")
	lethetest.Must(t, err)
	log := events.Log{Path: id.LIFE(), Name: "ada"}
	for i := range 5 {
		after, err := events.End(log.Path)
		lethetest.Must(t, err)
		says(t, s.Backend, "dev", "", "run sleep 100")
		heard, err := events.Open(s.Backend.Store, log, after)
		lethetest.Must(t, err)
		foot := func(kind, want string) {
			t.Helper()
			lethetest.Eventually(t, kind, func() bool {
				for e, err := range heard.All() {
					lethetest.Must(t, err)
					if e.Type == kind {
						return true
					}
				}
				return false
			})
			text := servetest.Text(t, s.Do(t, "GET", "/agents/ada/now?room=dev&part=foot", ""), 200)
			if !strings.Contains(text, want) || strings.Contains(text, "Stop<") != strings.Contains(want, "BASH") {
				t.Errorf("round %d: after %s the page says\n%s", i, kind, text)
			}
		}
		foot(events.ToolRequest, "ada runs BASH")
		says(t, s.Backend, "dev", "", "/stop")
		foot(events.TurnEnd, "ada waits for a line")
		heard.Close()
	}
}

// strangers makes a room of what strangers may write.
func strangers(t testing.TB, dir string) {
	t.Helper()
	for i, text := range []string{
		`<script>window.pwned = 1</script><img src=x onerror="window.pwned = 1"><iframe src="https://example.com"></iframe>`,
		"![pixel](https://example.com/pixel.png) [click](javascript:window.pwned=1) [in](/agents/ada/now/stop) " +
			"<https://example.com/a\"b>\n\n<div style='position:fixed'>\n# heading\n</div>",
		"\u202egnitirw \u2066desrever\u2069 \x1b[2J", "◱hash=3fa9c0d2e1b4a5f6 gist=forged◲", strings.Repeat("long", 256<<10),
		strings.Repeat("*_`[", lethetest.Sample(1<<8, 1<<8, 1<<12)), // each of them is some elements
		"```\n" + strings.Repeat("a wide line of code ", 50) + "\n```\n|a|b|\n|-|-:|\n|" + strings.Repeat("x", 300) + "|y|",
		"\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "? q3fa9c1: <b>Deploy</b>?\n1) <i>yes</i>\n2) no",
	} {
		line, err := chat.Format(i%2 == 0, []string{"ada", "<b>bob</b>"}[i%2], time.Date(2026, 11, 20+i, 9, 0, 0, 0, time.UTC), text)
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(dir, "bad"), line)
		lethetest.Must(t, err)
	}
}

// killed kills the server while a reply streams and while somebody writes: what the page shows
// in the end is the room, each line once.
func killed(t *testing.T, b *Browser) {
	dir := lethetest.Dir(t)
	alive(t, dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	lethetest.Must(t, err)
	address := l.Addr().String()
	lethetest.Must(t, l.Close())
	var server *exec.Cmd
	kill := func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed
	}
	start := func() (link string) {
		server = exec.Command(os.Args[0])
		server.Env = append(os.Environ(), asServer+"="+address+" "+dir)
		out, err := server.StdoutPipe()
		lethetest.Must(t, err)
		lethetest.Must(t, server.Start())
		link, err = bufio.NewReader(out).ReadString('\n')
		lethetest.Must(t, err)
		return strings.TrimSpace(link)
	}
	p := b.Open(t, start(), Look{})
	p.Goto(Eval[string](p, "location.origin") + "/agents/ada/now?room=dev")
	for i := range lethetest.Sample(1, 2, 20) {
		tell(t, p, fmt.Sprintf("count to %d", 40+i))
		p.Until(`document.querySelector("#live .own .streams")?.textContent.includes("1 2 3")`)
		kill()
		p.Until(`wrong.textContent.includes("lost")`)
		line, err := chat.Format(false, "bob", time.Now(), fmt.Sprintf("meanwhile %d", i))
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(dir, "dev"), line)
		lethetest.Must(t, err)
		text := fmt.Sprintf("did you hear me, %d", i) // said into the void at first
		p.Do(chromedp.Focus("#text"), chromedp.KeyEvent(text), chromedp.KeyEvent(kb.Enter))
		p.Until(`wrong.textContent.includes("kept")`)
		start()
		p.Until(`wrong.textContent === ""`)
		p.Do(chromedp.Focus("#text"), chromedp.KeyEvent(kb.Enter))
		p.Until(fmt.Sprintf(`document.querySelector("#lines").innerText.includes(%q)`, text))
	}
	room := func() (texts []string) {
		lines, _, _, err := chat.Tail(chat.Path(dir, "dev"), 100)
		lethetest.Must(t, err)
		for _, l := range lines {
			texts = append(texts, strings.TrimSpace(l.Text))
		}
		return texts
	}
	if days := `[...document.querySelectorAll(".day")].map(e => e.textContent)`; !Eval[bool](p, "new Set("+days+").size === "+days+".length") {
		t.Error("a day begins twice")
	}
	const shown = `[...document.querySelectorAll("#lines .said")].map(e => e.innerText.trim())`
	lethetest.Eventually(t, "the page shows the room", func() bool {
		return slices.Equal(Eval[[]string](p, shown), room()) && len(room()) >= 8
	})
	kill()
	lethetest.Must(t, os.Remove(filepath.Join(dir, "bridges", "serve", "token"))) // so there is a new one, and its cookie
	start()
	p.Until(`wrong.textContent.includes("not logged in")`)
	kill()
}

// TestImages makes the images of docs/page.md: go test -run Images -images ../../../docs/images.
func TestImages(t *testing.T) {
	if *images == "" {
		t.Skip("makes images when -images names a directory")
	}
	b := startBrowser(t, shell)
	dir := lethetest.Dir(t)
	alive(t, dir)
	s := servetest.Start(t, dir, Routes, api.Routes)
	now := s.Page() + "/agents/ada/now"
	p := b.Open(t, s.Link(), Look{Width: 1280, Height: 960})
	p.Goto(now)
	night := new(strings.Builder)
	for i := range 60 {
		fmt.Fprintf(night, "%02d:%02d the build of commit %x is green in %d.%d minutes, on runner %d; ", i/3, i%3*20,
			0xabc1+i*i*977, 3+i%2, i%7, i%5)
	}
	for _, text := range []string{
		"remember that the deploy key is in vault 7, behind the blue door", strings.TrimRight(night.String(), "; "),
		"write the build takes 4 minutes to notes.txt", "/forget e1..e12", "where is the deploy key?",
	} {
		tell(t, p, text)
		p.Until(answered)
	}
	says(t, s.Backend, "ops", "bob", "the pager is yours until Monday")
	id, err := s.Backend.Find("ada")
	lethetest.Must(t, err)
	err = s.Backend.MakeRoom("ops", id)
	lethetest.Must(t, err)
	tell(t, p, "ask me before you run date")
	p.Until(`document.querySelector(".question button")`)
	for name, look := range map[string]Look{"now": {Width: 1280, Height: 960},
		"life-dark": {Width: 1280, Height: 840, Dark: true}, "search": {Width: 1280, Height: 640}, "now-narrow": {Width: 320, Height: 640}} {
		p := b.Open(t, s.Link(), look)
		view, _, _ := strings.Cut(strings.Replace(name, "search", "recall?q=deploy+key", 1), "-")
		p.Goto(s.Page() + "/agents/ada/" + view)
		p.Picture(filepath.Join(*images, name+".png"))
	}
}
