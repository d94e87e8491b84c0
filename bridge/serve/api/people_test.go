package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/serve/api"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// A person's own token serves what the person may read. Everything else looks as if it were not there, and nobody is
// spoken for.
func TestTokenOfAPerson(t *testing.T) {
	place, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	h, err := host.New(place, config.Settings{People: []string{"you"}}, host.Options{Offline: true})
	lethetest.Must(t, err)
	readers := map[string][]string{"ann": {"ann"}, "ben": {"ben"}, "house": {"ann", "ben"}}
	for room, people := range readers {
		lethetest.Must(t, chat.About{Readers: people}.Write(place.Dir, room))
		line, err := chat.Format(false, people[0], time.Now(), "said in "+room)
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(place.Dir, room), line)
		lethetest.Must(t, err)
		_, err = h.Boot(home.BootOptions{Name: "bot-" + room, Rooms: []string{room}})
		lethetest.Must(t, err)
	}
	lethetest.Must(t, h.Close())
	page := func(mux *http.ServeMux, _ *backend.Backend) {
		mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) { t.Error("the page is shown") })
		mux.HandleFunc("GET /api/other", func(_ http.ResponseWriter, r *http.Request) {
			if guard.Person(r) != "ann" {
				t.Errorf("%q asks", guard.Person(r))
			}
		})
	}
	s := servetest.Start(t, place.Dir, api.Routes, page)
	as := "Authorization: Bearer " + servetest.AnnToken
	get := func(path string, status int) string {
		t.Helper()
		return servetest.Text(t, s.Do(t, "GET", path, "", as), status)
	}
	get("/api/other", 200)
	agents, rooms := get("/api/agents", 200), get("/api/rooms", 200)
	for name, shown := range map[string]bool{"bot-ann": true, "bot-house": true, "bot-ben": false} {
		if strings.Contains(agents, `"`+name+`"`) != shown {
			t.Errorf("shows %s: %t, in %s", name, !shown, agents)
		}
	}
	if strings.Contains(rooms, `"ben"`) || strings.Contains(rooms, "bot-") || !strings.Contains(rooms, `"house"`) {
		t.Errorf("rooms: %s", rooms)
	}
	lethetest.Words(t, get("/api/rooms/ann/lines", 200), "said in ann")
	get("/api/agents/bot-ann/life", 200)
	missing, secret := get("/api/agents/bot-ten", 404), get("/api/agents/bot-ben", 404)
	if strings.ReplaceAll(missing, "bot-ten", "") != strings.ReplaceAll(secret, "bot-ben", "") {
		t.Errorf("%s tells more than %s", secret, missing)
	}
	for _, path := range []string{
		"/", "/metrics", "/v1/models", "/api/agents/bot-ben/life", "/api/agents/bot-ben/context", "/api/agents/bot-ann/events",
		"/api/rooms/ben/lines", "/api/rooms/notify-ben/lines", "/api/budget", "/api/questions", "/api/blobs/0000000000000000",
	} {
		get(path, 404)
	}
	say := func(room, body string, status int) string {
		t.Helper()
		return servetest.Text(t, s.Do(t, "POST", "/api/rooms/"+room+"/lines", body, as, "Idempotency-Key: 1"), status)
	}
	say("house", `{"text":"hello"}`, 202)
	say("house", `{"text":"hello","user":"ben"}`, 400)
	say("ben", `{"text":"hello"}`, 404)
	say("new", `{"text":"hello"}`, 404)
	lethetest.Words(t, get("/api/rooms/house/lines", 200), "ann", "hello")
	servetest.Text(t, s.Do(t, "POST", "/api/rooms", `{"name":"mine"}`, as), 404)
}
