package api_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/report"
	"lethe/bridge/serve/api"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// keeping has this process run what is started, as the server's own process does.
func (w *world) keeping() {
	place := w.Backend.Home.Home
	h, err := host.New(place, config.Settings{People: []string{"you"}}, host.Options{Offline: true})
	lethetest.Must(w.t, err)
	w.t.Cleanup(func() { lethetest.Must(w.t, h.Close()) })
	w.Backend.RunStarted = func() error {
		for _, started := range place.Started() {
			if err := h.Of(started.Identity).Resume(w.t.Context()); err != nil && !errors.As(err, new(*home.RunningError)) {
				return err
			}
		}
		return nil
	}
	w.Backend.Archive = func(out io.Writer, id home.Identity, copied, workspace bool, to ...string) error {
		if len(to) > 0 {
			return &report.InvalidError{Err: errors.New("no recipient")}
		}
		_, err := fmt.Fprint(out, "archive of ", id.Name, copied, workspace)
		return err
	}
}

// An identity is booted, stopped, archived and removed by the owner's token, and by no other.
func TestLives(t *testing.T) {
	w := newWorld(t)
	w.keeping()
	const eve = `{"name":"eve","soul":"Keep the lamp.","rooms":["lamp"],"offline":true}`
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/agents", eve}, {"POST", "/api/agents/ada/stop", ""}, {"POST", "/api/agents/ada/archive", ""},
		{"DELETE", "/api/agents/ada", ""},
	} {
		servetest.Text(t, w.Do(t, c.method, c.path, c.body, "Authorization: Bearer "+servetest.AnnToken), 404)
		servetest.Text(t, w.Do(t, c.method, c.path, c.body, "Authorization:"), 401)
	}
	for range 2 { // sent twice, it is booted once
		a := into[report.Agent](t, w.ask("POST", "/api/agents", eve, 201))
		if a.Name != "eve" || a.Rooms[0] != "lamp" || a.State == "stopped" {
			t.Errorf("booted: %+v", a)
		}
	}
	w.ask("POST", "/api/agents", `{"name":"eve","soul":"Another.","offline":true}`, 409)
	w.ask("POST", "/api/agents", `{"name":"cron-x","offline":true}`, 400)
	w.ask("POST", "/api/agents", `{"name":"bob","rooms":["y/z"],"offline":true}`, 400)
	lethetest.Words(t, w.ask("DELETE", "/api/agents/eve", "", 409), "running already")
	if got := w.ask("POST", "/api/agents/eve/archive?copy=1&workspace=1", "", 200); got != "archive of evetrue true" {
		t.Error(got)
	}
	w.ask("POST", "/api/agents/eve/archive?copy=2", "", 400)
	w.ask("POST", "/api/agents/eve/archive?to=nobody", "", 400)
	for _, ran := range []bool{true, false} {
		if e := into[api.Ended](t, w.ask("POST", "/api/agents/eve/stop", "", 200)); e.Name != "eve" || e.Ran != ran {
			t.Errorf("stopped: %+v, want %v", e, ran)
		}
	}
	id, err := w.Backend.Find("eve")
	lethetest.Must(t, err)
	w.ask("DELETE", "/api/agents/eve", "", 200)
	w.ask("DELETE", "/api/agents/eve", "", 404)
	if _, err := os.Stat(id.Dir); err == nil {
		t.Error("its files are there")
	}
	if left, _ := os.ReadDir(w.Backend.Dir); len(left) == 0 {
		t.Error("the home is gone")
	} else {
		for _, e := range left {
			if len(e.Name()) > 8 && e.Name()[:8] == ".archive" {
				t.Error(e.Name(), "is left")
			}
		}
	}
}
