package report

import (
	"path/filepath"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

// What LIFE tells of a trigger: a turn with calls, one that is shared and ends in silence, a line that is not heard yet.
func TestFirings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LIFE.md")
	log, err := life.Create(path)
	lethetest.Must(t, err)
	defer log.Close()
	due := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	notice := func(room string, from int64) event.Notice {
		return event.Notice{Say: "x", Posting: event.Posting{TS: due, Posts: []event.Place{{Room: room, Mark: chat.Mark{Inode: 1, From: from}}}}}
	}
	at := func(room string, from, to int64) event.Passage {
		return event.Passage{Room: room, Inode: 1, At: event.Span{From: from, To: to}}
	}
	said := event.Posting{TS: due, Posts: []event.Place{{Room: "dev", Mark: chat.Mark{Inode: 1, From: 50}}}}
	for _, e := range []event.Event{
		event.Boot{Name: "ada", Version: "1"},
		event.Inbound{N: 1, Passage: at("dev", 0, 50), Lines: 1},
		event.Reply{N: 2, Turn: 1, Model: "m", Tokens: event.Tokens{USD: 9}, Posting: said},
		event.Fired{ID: "k1", By: "cron-brief", Missed: 2, Notice: notice("dev", 100)},
		event.Inbound{N: 3, Passage: at("dev", 50, 170), Lines: 1},
		event.Reply{N: 4, Turn: 2, Model: "m", Tokens: event.Tokens{USD: 1}},
		event.Fired{ID: "k2", By: "watch-file", Notice: notice("ops", 0)},
		event.Inbound{N: 5, Passage: at("ops", 0, 70), Lines: 1},
		event.Reply{N: 6, Turn: 2, Model: "m", Tokens: event.Tokens{USD: 0.5}},
		event.Inbound{N: 7, Passage: at("dev", 170, 200), Lines: 1},
		event.Reply{N: 8, Turn: 3, Model: "m", Tokens: event.Tokens{USD: 9}, Posting: said},
		event.Fired{ID: "k3", By: "cron-brief", Notice: notice("dev", 200)},
	} {
		lethetest.Must(t, log.Append(event.Line(due, e)))
	}
	got, err := firingsOf(path)
	lethetest.Must(t, err)
	for by, want := range map[string]Firings{
		"cron-brief": {Last: due, Fired: 2, Missed: 2, USD: 1.25, Model: "m"},
		"watch-file": {Last: due, Fired: 1, USD: 0.25, Model: "m"},
	} {
		if f := got[by]; f == nil || *f != want {
			t.Errorf("%s: %+v, want %+v", by, f, want)
		}
	}
}
