package report_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/adopt/shelf"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/internal/test/lethetest"
)

// What was adopted is drawn by agents: its days across, the sessions that began on each up.
func TestAdoptedBy(t *testing.T) {
	dir := lethetest.Dir(t)
	place, err := home.Open(filepath.Join(dir, "home"))
	lethetest.Must(t, err)
	store, err := blobs.Open(place.Blobs())
	lethetest.Must(t, err)
	id, err := home.Boot(place, store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	if none, err := report.AdoptedBy(id); len(none) > 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	for n, day := range []int{4, 4, 6, 14} {
		row := `{"type":"user","uuid":"u%d","timestamp":"2026-03-%02dT10:12:00Z","message":{"role":"user","content":"%d"}}` + "\n"
		text := fmt.Sprintf(row, n, day, n) + fmt.Sprintf(row, n+10, 20, n+10)
		lethetest.Write(t, filepath.Join(dir, fmt.Sprintf("claude/projects/p/s%d.jsonl", n)), text)
	}
	held, err := journal.Hold(place, id, store, nil)
	lethetest.Must(t, err)
	defer held.Close()
	laid, err := shelf.Open(held)
	lethetest.Must(t, err)
	from := adopt.Source{Agent: "claude-code", Place: filepath.Join(dir, "claude")}
	_, err = laid.From(t.Context(), from, adopt.Options{})
	lethetest.Must(t, errors.Join(err, laid.Close()))
	all, err := report.AdoptedBy(id)
	lethetest.Must(t, err)
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	lethetest.Equal(t, "agents", len(all), 1)
	lethetest.Equal(t, "it", *all[0], report.Adopted{
		Title: "Claude Code", Sessions: 4, Entries: 8, From: day(4), To: day(14),
		Path: "M0.0 100V0.0M20.0 100V50.0M100.0 100V50.0",
	})
}
