package access

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// moveAway moves people.json away, and brings it back after a time.
func (p *Policy) moveAway(t *testing.T, back time.Duration) {
	t.Helper()
	path := p.path("people.json")
	must(0, os.Rename(path, path+"~"))
	time.AfterFunc(back, func() { must(0, os.Rename(path+"~", path)) })
}

// A list that is away for a moment, as editors do it, makes nobody a stranger.
func TestListIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPolicy(t)
		if r, err := p.Rules(); err != nil || r.User("7") {
			t.Fatalf("without a list: %v", err)
		}
		writePeople(t, p, `{"version":1,"users":[{"id":"7"}],"chats":[]}`)
		for _, back := range []time.Duration{0, time.Second, listAway - time.Millisecond, listAway + time.Second} {
			if !must(p.Rules()).User("7") {
				t.Fatal("who is listed is not")
			}
			p.moveAway(t, back)
			var damaged *PeopleError
			for waited := time.Duration(0); waited < min(back, listAway); waited += 100 * time.Millisecond {
				if _, err := p.Rules(); !errors.Is(err, ErrAway) || !errors.As(err, &damaged) {
					t.Fatalf("away for %s: %v", waited, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if back > listAway {
				if r, err := p.Rules(); err != nil || r.User("7") {
					t.Errorf("a list that stays away: %v", err)
				}
			}
			time.Sleep(back)
			synctest.Wait()
		}
	})
}

// A process that begins while the list is away knows by the key that there was one.
func TestListIsAwayAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := newPolicy(t)
		must(p.Approve(must(p.askCode(private("7"))), ""))
		p.moveAway(t, time.Second)
		if !must(openAt(p.dir, c).Rules()).User("7") {
			t.Error("who is listed is not")
		}
		must(0, os.Remove(p.path("people.json")))
		began := time.Now()
		if must(openAt(p.dir, c).Rules()).User("7") || time.Since(began) < listAway {
			t.Errorf("a list that is gone is waited for %s", time.Since(began))
		}
		must(0, os.Remove(p.path("people.key")))
		began = time.Now()
		openAt(p.dir, c)
		if time.Since(began) > 0 {
			t.Error("a list that never was is waited for")
		}
	})
}

// No change is made to a list that is away: what would come back takes its place.
func TestChangeWaitsForTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := newPolicy(t)
		other := openAt(p.dir, c)
		must(p.Approve(must(p.askCode(private("7"))), ""))
		code := must(p.askCode(private("8")))
		must(other.Rules())
		for i, change := range []func() error{
			func() error { _, _, err := other.Ask(private("9")); return err },
			func() error { _, err := p.Approve(code, ""); return err },
			func() error { return other.Revoke("8") },
		} {
			p.moveAway(t, time.Second)
			if err := change(); err != nil {
				t.Errorf("change %d: %v", i, err)
			}
		}
		if l := must(p.List()); len(l.Users) != 1 || l.Users[0].ID != "7" || len(l.Pending) != 1 || l.Pending[0].ID != "9" {
			t.Errorf("%+v", l)
		}
	})
}
