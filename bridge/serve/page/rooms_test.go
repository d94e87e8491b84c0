package page

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"lethe/agent/home"
	"lethe/bridge"
	"lethe/bridge/serve/api"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// rooms uses the rooms of an identity that has lived for long, and does not run.
func rooms(t *testing.T, b *Browser) {
	s := servetest.Start(t, lethetest.Dir(t), Routes, api.Routes)
	age(t, s.Backend, 2000)
	id, err := s.Backend.Find("ada")
	lethetest.Must(t, err)
	lethetest.Must(t, s.Backend.MakeRoom("ops", id))
	now := s.Page() + "/agents/ada/now?room=dev"
	all, err := chat.After(chat.Path(s.Backend.Dir, "dev"), 0, 3000)
	lethetest.Must(t, err)
	const shown = `[...document.querySelectorAll("#lines .line")].map(e => +e.id.slice(1))`
	// are checks that what is shown are lines that follow each other, and no day twice.
	whole := func(t *testing.T, p *Page, most int) {
		t.Helper()
		lines := Eval[[]int64](p, shown)
		i := slices.IndexFunc(all, func(l chat.Line) bool { return l.From == lines[0] })
		for n, from := range lines {
			if i < 0 || i+n >= len(all) || all[i+n].From != from {
				t.Fatalf("line %d is not the %d. behind %d", from, n, lines[0])
			}
		}
		if days := `[...document.querySelectorAll(".day")].map(e => e.textContent)`; !Eval[bool](p,
			"new Set("+days+").size === "+days+".length") {
			t.Error("a day begins twice")
		}
		if len(lines) > most {
			t.Errorf("%d lines are loaded", len(lines))
		}
	}
	t.Run("the page is light", func(t *testing.T) {
		if l := load(t, b, s, "/agents/ada/now"); l.Bytes > 50_000 || l.Requests > 6 {
			t.Errorf("%d bytes in %d requests: %s", l.Bytes, l.Requests, l.Names)
		}
	})
	t.Run("older lines come as one scrolls, and nothing moves", func(t *testing.T) {
		p := b.Open(t, s.Link(), Look{})
		p.Goto(now)
		whole(t, p, linesShown)
		for range 2 {
			n := len(Eval[[]int64](p, shown))
			p.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 200); window.first = document.querySelector(".line"); window.at = ` +
				`first.getBoundingClientRect().top`))
			p.Until(fmt.Sprintf("%s.length > %d", shown, n))
			if moved := Eval[float64](p,
				`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => `+
					`done(Math.abs(first.getBoundingClientRect().top - at)))))`); moved > 2 {
				t.Errorf("what one reads moves by %.0f pixels", moved)
			}
		}
		whole(t, p, 4*linesShown)
		p.Goto(s.Page() + "/agents/ada/life")
		n := Eval[int](p, `document.querySelectorAll(".event").length`)
		p.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
		p.Until(fmt.Sprintf(`document.querySelectorAll(".event").length > %d`, n))
	})
	t.Run("a link leads to a line of any age", func(t *testing.T) {
		p := b.Open(t, s.Link(), Look{Width: 390})
		old := all[300]
		p.Goto(fmt.Sprintf("%s&line=%d#l%[2]d", now, old.From))
		at := fmt.Sprintf(`document.querySelector("#l%d")`, old.From)
		p.Until(at + `.matches(":target") && ` + at + `.getBoundingClientRect().top >= 0 && ` + at + `.getBoundingClientRect().top < innerHeight`)
		p.Do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 1e6)`))
		p.Until(fmt.Sprintf("%s.length > %d", shown, linesShown))
		whole(t, p, 3*linesShown)
		if to := Eval[string](p, at+`.querySelector(".at").href`); !strings.HasSuffix(to, fmt.Sprintf("now?room=dev&line=%d#l%[1]d", old.From)) {
			t.Errorf("its own link is %s", to)
		}
	})
	t.Run("without script, links lead to older and newer lines", func(t *testing.T) {
		p := b.Open(t, s.Link(), Look{NoScript: true})
		p.Goto(now)
		newest := Eval[[]int64](p, shown)
		p.Do(chromedp.Click("#lines .more a"))
		p.Until(`location.search.includes("before=") && document.readyState === "complete"`)
		whole(t, p, linesShown)
		p.Do(chromedp.Click("#lines .more:last-child a"))
		p.Until(`location.search.includes("from=") && document.readyState === "complete"`)
		if got := Eval[[]int64](p, shown); !slices.Equal(got, newest) {
			t.Errorf("behind the older lines stand %v, not %v", got, newest)
		}
	})
	t.Run("a line is copied as it was written", func(t *testing.T) {
		text := "**so** it is\n\n* one"
		says(t, s.Backend, "ops", "bob", text)
		p := b.Open(t, s.Link(), Look{})
		p.Goto(s.Page() + "/agents/ada/now?room=ops")
		p.Do(chromedp.Evaluate[chromedp.Void](`navigator.clipboard.writeText = async text => { window.copied = text; }; ` +
			`document.querySelector(".line:last-child .copy").click()`))
		p.Until(`window.copied`)
		lethetest.Equal(t, "copied", Eval[string](p, "copied"), text)
	})
	t.Run("a draft is kept, and what was not seen is marked", func(t *testing.T) {
		p := b.Open(t, s.Link(), Look{})
		p.Goto(now)
		p.Do(chromedp.Focus("#text"), chromedp.KeyEvent("half a"))
		says(t, s.Backend, "ops", "bob", "look here")
		p.Goto(now)
		const mark = `document.querySelector("li[data-room=ops] b")`
		if got := Eval[string](p, `document.querySelector("#text").value`); got != "half a" || Eval[bool](p, mark+".hidden") {
			t.Errorf("kept is %q", got)
		}
		p.Goto(s.Page() + "/agents/ada/now?room=ops")
		p.Until(`document.querySelector(".new").nextElementSibling.innerText.includes("look here")`)
		p.Until(mark + ".hidden")
		p.Goto(now)
		if !Eval[bool](p, mark+".hidden") {
			t.Error("what was seen is marked")
		}
		p.Do(chromedp.Focus("#text"), chromedp.KeyEvent(" line\r"))
		p.Until(`document.querySelector(".line:last-of-type").innerText.includes("half a line")`)
		p.Goto(now)
		lethetest.Equal(t, "the draft of what was said", Eval[string](p, `document.querySelector("#text").value.trim()`), "")
	})
	t.Run("one field finds what was said, in rooms of all identities, and leads to the line", func(t *testing.T) {
		eve, err := home.Boot(s.Backend.Home.Home, s.Backend.Store, home.BootOptions{Name: "eve", Rooms: []string{"attic"}})
		lethetest.Must(t, err)
		lethetest.Must(t, s.Backend.MakeRoom("attic", eve))
		for i := range 200 {
			says(t, s.Backend, "attic", "bob", map[bool]string{true: "the <i>Étude</i> lies in the blue box", false: "dust"}[i == 20])
		}
		p := b.Open(t, s.Link(), Look{NoScript: true, Width: 390})
		p.Goto(s.Page() + "/agents/ada/life")
		p.Do(chromedp.Focus("#find"), chromedp.KeyEvent("étude BOX bob\r"))
		p.Until(`document.querySelector(".fades a mark")?.innerText === "Étude"`)
		p.Do(chromedp.Click(".fades a"))
		p.Until(`location.pathname === "/agents/eve/now" && document.querySelector(":target .said")?.innerText === "the ` +
			`<i>Étude</i> lies in the blue box"`)
	})
	t.Run("a room has a title, and is put away and brought back", func(t *testing.T) {
		p := b.Open(t, s.Link(), Look{Width: 390, Height: 1500})
		p.Goto(s.Page() + "/agents/ada/now?room=ops")
		p.Do(chromedp.SetValue("#title", `The <b>pager</b> "desk"`), chromedp.Click("#title ~ button"))
		p.Until(`document.querySelector("h1").innerText === 'The <b>pager</b> "desk"' && ` +
			`document.querySelector(".rooms").innerText.includes("pager")`)
		p.Do(chromedp.Click("button[name=archived]"))
		p.Until(`document.querySelector("[data-part=rooms] details")?.innerText.includes("pager") && document.readyState === "complete"`)
		p.Check()
		p.Touch()
		if *pictures != "" {
			p.Picture(filepath.Join(*pictures, "rooms-away.png"))
		}
		lethetest.Holds(t, filepath.Join(chat.Dir(s.Backend.Dir), "ops.toml"), "title = \"The <b>pager</b> \\\"desk\\\"\"\narchived = true\n")
		p.Do(chromedp.Click("[name=title][type=hidden] ~ button"))
		p.Until(`!document.querySelector("[data-part=rooms] details") && document.querySelector("h1").innerText.includes("pager")`)
	})
	t.Run("pictures are shown, and other files are links", func(t *testing.T) {
		var picture bytes.Buffer
		lethetest.Must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 960, 480))))
		text := ""
		for name, data := range map[string][]byte{"plan.png": picture.Bytes(),
			"fake.png": []byte("<script>window.pwned = 1</script>"),
			"x.svg":    []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>window.pwned = 1</script></svg>`)} {
			_, tag, err := bridge.File{Kind: "photo", Name: name, Mime: "image/png"}.Put(s.Backend.Store, time.Now(), "bob", data)
			lethetest.Must(t, err)
			text += tag + "\n"
		}
		says(t, s.Backend, "ops", "bob", text+"[photo gone.png hash=0123456789abcdef] so")
		p := b.Open(t, s.Link(), Look{Width: 320})
		p.Goto(s.Page() + "/agents/ada/now?room=ops")
		p.Until(`document.querySelector(".line:last-child img")?.complete`)
		if got := Eval[string](p, `[...document.querySelectorAll(".line:last-child .file")].map(e => `+
			`e.querySelector("img")?.naturalWidth ?? e.innerText).sort().join(" · ")`); got != "960 · fake.png, 33 B · x.svg, 79 B" {
			t.Errorf("shown is %s", got)
		}
		if *pictures != "" {
			p.Picture(filepath.Join(*pictures, "rooms-narrow.png"))
		}
		lethetest.Words(t, p.Text(".line:last-child"), "[photo gone.png hash=0123456789abcdef] so")
		p.Check()
	})
}
