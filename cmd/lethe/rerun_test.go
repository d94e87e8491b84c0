//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// asked keeps what a model is asked, but for the tasks of compactions.
type asked struct {
	*travel
	model  *rehearsal.Server
	bodies [][]byte
}

func newAsked(t *testing.T) *asked {
	a := &asked{travel: &travel{T: t}, model: rehearsal.New(rehearsal.Options{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		isTask := bytes.Contains(body, []byte(`<task name=`))
		if r.Method == http.MethodPost && !isTask {
			a.mu.Lock()
			a.bodies = append(a.bodies, body)
			a.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// rerun returns the report of lethe rerun, and what the model was asked for it.
func (a *asked) rerun(home string, args ...string) (r struct {
	Moments []struct {
		Entry string
		Same  bool `json:"same_calls"`
	}
	Differ int
	Ended  string
}, bodies [][]byte) {
	a.Helper()
	before := len(a.bodies)
	out := a.lethe(home, append([]string{"rerun", "ada", "--json", "--yes"}, args...)...)
	lethetest.Must(a, json.Unmarshal(out, &r))
	return r, a.bodies[before:]
}

// A past request that is asked again is the same to the byte, over a compaction, and the life is not touched. A turn
// ends at the first call that differs; a budget and a missing yes end it before anything is asked.
func TestRerun(t *testing.T) {
	a := newAsked(t)
	home := a.newHome()
	var lines []string
	for n := range 13 {
		lines = append(lines, fmt.Sprintf("run echo number %d of the long list of numbers that are counted here", n))
	}
	a.lines(home, func() { a.lethe(home, "context", "ada", "--compact") }, lines...)
	a.lines(home, func() {}, lines...)
	then := a.bodies
	if len(then) < 50 {
		t.Fatalf("only %d requests", len(then))
	}
	logs, err := filepath.Glob(filepath.Join(home, "agents", "*", "LIFE.md"))
	lethetest.Must(t, err)
	life, err := os.ReadFile(logs[0])
	lethetest.Must(t, err)
	r, now := a.rerun(home, "--from", "epoch 0", "--to", "now")
	if len(now) != len(then) || len(r.Moments) != len(then) || r.Differ != 0 {
		t.Fatalf("%d requests again, %d of then, %d differ", len(now), len(then), r.Differ)
	}
	for i := range then {
		if !bytes.Equal(then[i], now[i]) {
			t.Fatalf("request %d is not the same:\n%s\n%s", i, then[i], now[i])
		}
	}
	first := r.Moments[0].Entry
	if r, now = a.rerun(home, "--at", first); len(now) != 2 || r.Ended != "" {
		t.Errorf("a turn: %d requests, %+v", len(now), r)
	}
	call := rehearsal.Call{Name: "BASH", Arguments: `{"command":"true"}`}
	a.model.Push(rehearsal.Step{Answer: &rehearsal.Answer{Calls: []rehearsal.Call{call}}})
	if r, now = a.rerun(home, "--at", first); len(now) != 1 || r.Differ != 1 || r.Ended == "" {
		t.Errorf("another call: %d requests, %+v", len(now), r)
	}

	soul := filepath.Join(lethetest.Dir(t), "soul.md")
	lethetest.Write(t, soul, "You are a gull.\n")
	if _, now = a.rerun(home, "--at", first, "--soul", soul); !bytes.Contains(now[0], []byte(`"content":"You are a gull.\n\n`)) {
		t.Errorf("another soul: %.300s", now[0])
	}
	asked := len(a.bodies)
	a.refuses(2, home, "rerun", "ada", "--at", first, "--json")
	lethetest.Write(t, filepath.Join(home, "config.toml"), fmt.Sprintf("[model]\nbase_url = %q\nname = \"rehearsal\"\n"+
		"[budget]\nday_usd = 0.01\n[prices.rehearsal]\nhit = 1\nmiss = 1\noutput = 1\n", a.url))
	said := a.refuses(1, home, "rerun", "ada", "--at", first, "--yes")
	lethetest.Words(t, said, "at most", "of 0.01 USD")
	if len(a.bodies) != asked {
		t.Errorf("%d requests were sent without a yes, or beyond the budget", len(a.bodies)-asked)
	}
	after, err := os.ReadFile(logs[0])
	lethetest.Must(t, err)
	if !bytes.Equal(life, after) {
		t.Error("LIFE.md has changed")
	}
}
