package page

import (
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/browser"
	"lethe/internal/lethetest"
	"lethe/report"
)

var pictures = flag.String("pictures", "", "write pictures of the views to this `directory`")

func open(t testing.TB, dir string) *backend.Backend {
	t.Helper()
	home, err := agent.OpenHome(dir)
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	b, err := bridge.Open(bridge.Config{Home: dir, Name: backend.Name, Watcher: chat.NewWatcher(0, nil)})
	lethetest.Must(t, err)
	t.Cleanup(func() { b.Close() })
	return &backend.Backend{Home: report.Home{Home: home, Store: store, Zone: time.UTC}, Bridge: b, User: "grace", Log: slog.New(slog.DiscardHandler)}
}

func TestNow(t *testing.T) {
	b := open(t, t.TempDir())
	_, err := agent.Boot(b.Home.Home, b.Store, agent.BootOptions{Name: "ada", Rooms: []string{"dev", "ops"}})
	lethetest.Must(t, err)
	at := time.Date(2026, 11, 20, 9, 12, 0, 0, time.UTC)
	for i, said := range []string{"Good morning. Did the build go through over night?",
		"It did. All 412 tests pass; the slowest is still `TestFullDisk` with 4.2 s.\n\nTwo things I noticed:\n\n1. The disk of *build-2* is at **91 %**. I would clean `/var/cache` before Friday.\n2. Somebody pushed to `main` without a review: [c89992e](https://example.com/c89992e).\n\n```\n$ df -h /\n/dev/sda1  40G  36G  3.6G  91% /\n```",
		"Clean it then. And remember that the deploy key is in vault 7.", "I will remember: the deploy key is in vault 7. The cache is clean; the disk is at 54 % now.\n\n| disk | before | now |\n|---|---|---|\n| build-1 | 44 % | 44 % |\n| build-2 | 91 % | 54 % |"} {
		line, err := chat.Format(i%2 == 1, []string{"grace", "ada"}[i%2], at.Add(time.Duration(i)*7*time.Hour), said)
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(b.Dir, "dev"), line)
		lethetest.Must(t, err)
	}
	b.Say("", "ops", "bob", "the pager is yours until Monday <script>alert(1)</script>")
	mux := http.NewServeMux()
	Routes(mux, b)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	br := browser.Start(t)
	for name, look := range map[string]browser.Look{"light": {Width: 1400, Height: 900}, "dark": {Width: 1400, Height: 900, Dark: true}, "narrow": {Width: 320}} {
		p := br.Open(t, s.URL+"/agents/ada/now?room=dev", look)
		p.Check()
		if *pictures != "" {
			p.Picture(filepath.Join(*pictures, "now-"+name+".png"))
		}
	}
}
