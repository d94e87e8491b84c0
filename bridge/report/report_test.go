package report

import (
	"os"
	"strings"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// The day and the newest turn cost what the calls of models did that count for them.
func TestContextTellsTheCost(t *testing.T) {
	place, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(place.Blobs())
	lethetest.Must(t, err)
	id, err := home.Boot(place, store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	now := time.Now()
	answer, err := store.Put(blobs.Meta{At: now, Gist: "so", Life: id.Self}, mind.Answer{Text: "so"}.Encode())
	lethetest.Must(t, err)
	log, err := life.Open(id.LIFE())
	lethetest.Must(t, err)
	defer log.Close()
	for i, paid := range []event.Tokens{{USD: 4, Day: "2026-01-01"}, {USD: 1}, {USD: 0.25}, {USD: 0.5}} {
		if paid.Day == "" {
			paid.Day = now.In(time.UTC).Format(time.DateOnly)
		}
		reply := event.Reply{N: i + 1, Turn: i / 2, Tokens: paid, Finish: "stop"}
		lethetest.Must(t, log.Append(event.Line(now, reply, blobs.Ref{Hash: store.Short(answer), Gist: "so"})))
	}
	c, err := Home{Home: place, Store: store, Zone: time.UTC}.Context(id)
	if err != nil || c.Today != budget.Of(1.75) || c.Turn != budget.Of(0.75) {
		t.Errorf("the day has cost %v, the turn %v, %v", c.Today, c.Turn, err)
	}
}

// Everybody is listed once: also who is its own parent, or whose parent is gone.
func TestFamily(t *testing.T) {
	var list []Agent
	for _, line := range []string{"ada", "ada-1 ada", "bob gone", "eve eve", "eve-1 eve"} {
		name, parent, _ := strings.Cut(line, " ")
		a := Agent{Parent: parent}
		a.Name = name
		list = append([]Agent{a}, list...)
	}
	var names []string
	for _, a := range family(list) {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "eve eve-1 bob ada ada-1" {
		t.Error(got)
	}
}

// sharing is what hosts share, as one sees it that cannot reach it.
type sharing struct{ home.Sharing }

func (sharing) Away() bool { return true }

func (sharing) Elsewhere() []*home.ElsewhereError {
	return []*home.ElsewhereError{{Identity: home.Identity{Name: "bob", Self: "b0"}, Host: "laptop"}}
}

// An identity of another host is listed with it, and one that waits for the store says so.
func TestAgentsOfHosts(t *testing.T) {
	place, err := home.Open(t.TempDir())
	lethetest.Must(t, err)
	store, err := blobs.Open(place.Blobs())
	lethetest.Must(t, err)
	id, err := home.Boot(place, store, home.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	lock, err := home.Lock(id)
	lethetest.Must(t, err)
	defer lock.Close()
	lethetest.Must(t, status.Write(id.Dir, status.Status{Name: "ada", Self: id.Self, PID: os.Getpid(), State: status.Idle}))
	place.Shared = sharing{}
	all, err := Home{Home: place, Store: store}.Agents()
	if err != nil || len(all) != 2 || all[0].State != "waits for the store" || all[1].Host != "laptop" {
		t.Errorf("%+v, %v", all, err)
	}
}

// A moment is read as docs write it, by the clock of this machine.
func TestMomentToTheMinute(t *testing.T) {
	for _, text := range []string{"2026-01-20T12:57", "2026-01-20 12:57", "2026-01-20T12:57:00", "2026-01-20 12:57:00"} {
		when, err := ParseMoment(text, time.Now())
		if want := time.Date(2026, 1, 20, 12, 57, 0, 0, time.Local); err != nil || !when.At.Equal(want) {
			t.Errorf("%s is %v, %v", text, when.At, err)
		}
	}
}
