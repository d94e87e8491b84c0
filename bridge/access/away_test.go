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
		for _, back := range []time.Duration{0, time.Second, awayFor - time.Millisecond, awayFor + time.Second} {
			if !must(p.Rules()).User("7") {
				t.Fatal("who is listed is not")
			}
			p.moveAway(t, back)
			var damaged *PeopleError
			for waited := time.Duration(0); waited < min(back, awayFor); waited += 100 * time.Millisecond {
				if _, err := p.Rules(); !errors.Is(err, ErrAway) || !errors.As(err, &damaged) {
					t.Fatalf("away for %s: %v", waited, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if back > awayFor {
				if r, err := p.Rules(); err != nil || r.User("7") {
					t.Errorf("a list that stays away: %v", err)
				}
			}
			time.Sleep(back)
			synctest.Wait()
		}
	})
}
