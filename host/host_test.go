package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/agent"
	"lethe/events"
	"lethe/internal/lethetest"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, dir string) *Host {
	t.Helper()
	h, err := Open(dir, Options{Offline: true})
	lethetest.Must(t, err)
	return h
}

func start(t *testing.T, h *Host, name string) *Identity {
	t.Helper()
	i, err := h.Start(t.Context(), agent.BootOptions{Name: name})
	lethetest.Must(t, err)
	return i
}

func TestStress(t *testing.T) {
	os.RemoveAll("/tmp/hs")
	h := open(t, "/tmp/hs")
	i := start(t, h, "ada")
	for k := range 300 {
		ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
		a, _ := i.Ask("dev")
		l, _ := Post(h.home, "dev", "x", "/status")
		t.Log(k, a.after, l.Hash)
		if _, err := a.Await(ctx, l, func(e events.Event) error { t.Log(k, e.ID, e.Type, e.Entry, e.Room, e.Line); return nil }); err != nil {
			data, _ := os.ReadFile(i.LIFE())
			t.Fatal(k, err, string(data))
		}
		end()
	}
	lethetest.Must(t, h.Close())
}

var _ = errors.Is
var _ = filepath.Join
var _ = strings.Cut
var _ = events.End

// The program of docs/embed.md compiles, and the JSON there is a Reply.
func TestDocumented(t *testing.T) {
	lethetest.Unraced(t)
	var r Reply
	dec := json.NewDecoder(strings.NewReader(lethetest.Blocks(t, "embed.md", "json")[0]))
	dec.DisallowUnknownFields()
	lethetest.Must(t, dec.Decode(&r))
	if r.Name != "ada" || r.Calls != 1 || r.USD == 0 {
		t.Errorf("%+v", r)
	}
	file := filepath.Join("testdata", "embed", "main.go")
	lethetest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	defer os.RemoveAll("testdata")
	lethetest.Must(t, os.WriteFile(file, []byte(lethetest.Blocks(t, "embed.md", "go")[0]), 0o600))
	if out, err := exec.Command("go", "vet", "./"+filepath.Dir(file)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
