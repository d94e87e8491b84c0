package access

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func TestDamagedFileRefusesEveryone(t *testing.T) {
	good := `{"version":1,"users":[{"id":"1"},{"id":"2"}],"chats":[]}`
	for _, bad := range []string{
		"", "\n", "null", "[]", "{}", good[:len(good)-1], good + "}", good + good, good + "x",
		`{"version":2,"users":[{"id":"2"}],"chats":[]}`,
		`{"version":1,"users":[{"id":"2","may":"speak"}],"chats":[]}`,
		`{"version":1,"users":[{"id":"2"},{"id":"2"}],"chats":[]}`,
		`{"version":1,"users":[{"id":""}],"chats":[]}`,
		`{"version":1,"users":[{"id":"2 3"}],"chats":[]}`,
		`{"version":1,"users":[{"id":2}],"chats":[]}`,
		strings.Repeat(" ", maxPeople) + good,
	} {
		p := newPolicy(t)
		writePeople(t, p, good)
		if !rules(p).User("1") || !rules(p).User("2") {
			t.Fatal("the good file does not count")
		}
		writePeople(t, p, bad)
		bad = bad[:min(len(bad), 60)]
		r, rerr := p.Rules()
		for _, user := range []string{"1", "2"} {
			if allowed(r, user, user, true) || r.User(user) {
				t.Errorf("%q: user %s is let in", bad, user)
			}
		}
		_, aerr := p.Allow("4", "", false)
		for i, err := range []error{rerr, aerr, p.Revoke("2")} {
			if !errors.Is(err, ErrPeople) || !strings.Contains(err.Error(), p.path("people.json")) {
				t.Errorf("%q: call %d: %v", bad, i, err)
			}
		}
		if now := must(os.ReadFile(p.path("people.json"))); !strings.HasPrefix(string(now), bad) {
			t.Errorf("%q was written over by %q", bad, now)
		}
		writePeople(t, p, good)
		if !rules(p).User("1") || !rules(p).User("2") {
			t.Errorf("%q: mended, and still refused", bad)
		}
	}
}

func TestUnreadableFileRefusesEveryone(t *testing.T) {
	p := newPolicy(t)
	lethetest.Must(t, os.MkdirAll(p.path("people.json"), 0o700))
	refuses := func(what string) {
		t.Helper()
		if r, err := p.Rules(); !errors.Is(err, ErrPeople) || allowed(r, "1", "1", true) {
			t.Errorf("%v, with %s in the place of the file", err, what)
		}
	}
	refuses("a directory")
	must(0, os.Remove(p.path("people.json")))
	must(0, os.Symlink("/dev/null", p.path("people.json")))
	refuses("a link")
}

// Whoever changes the file, and however fast, the next decision knows.
func TestChangesOfOthersAreSeen(t *testing.T) {
	p := newPolicy(t)
	other := &Policy{Dir: p.Dir}
	for i, allowed := range []bool{true, false, true, false, true, false} {
		// The same size, within the same instant, and at times in the same inode.
		id := map[bool]string{true: "2", false: "3"}[allowed]
		writePeople(t, p, fmt.Sprintf(`{"version":1,"users":[{"id":"%s"}],"chats":[]}`, id))
		if rules(p).User("2") != allowed || rules(other).User("2") != allowed {
			t.Fatalf("change %d was not seen", i)
		}
	}
}

// A list that is away for a moment, as editors do it, makes nobody a stranger.
func TestListIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t)
		if rules(p).User("7") {
			t.Fatal("listed without a list")
		}
		writePeople(t, p, `{"version":1,"users":[{"id":"7"}],"chats":[]}`)
		rules(p)
		path := p.path("people.json")
		must(0, os.Rename(path, path+"~"))
		time.Sleep(time.Hour)
		if _, err := p.Rules(); !errors.Is(err, ErrPeople) {
			t.Errorf("without the list: %v", err)
		}
		must(0, os.Rename(path+"~", path))
		if !rules(p).User("7") {
			t.Error("who is listed is not, when the list is back")
		}
		must(0, os.Remove(path))
		_, _ = p.Rules()
		time.Sleep(awayFor + 1)
		if rules(p).User("7") {
			t.Error("a list that stays away lists somebody")
		}
	})
}

func TestDocumentedPeopleFile(t *testing.T) {
	example := lethetest.Blocks(t, "bridges.md", "json")[0]
	f, err := parsePeople([]byte(example))
	lethetest.Must(t, err)
	if len(f.Users) == 0 || len(f.Chats) == 0 || f.Users[0].Name == "" || f.Users[0].At.IsZero() {
		t.Errorf("the example leaves something out: %+v", f)
	}
	// What this program writes is what the page shows, to the byte.
	p := newPolicy(t)
	must(0, os.MkdirAll(p.Dir, 0o700))
	must(0, os.WriteFile(p.path("people.json"), must(f.encode()), 0o600))
	if got := must(os.ReadFile(p.path("people.json"))); string(got) != example {
		t.Errorf("the page shows\n%s\nand this is written:\n%s", example, got)
	}
}

// A file of an earlier version is read; the codes that it gave out are void.
func TestEarlierPeopleFile(t *testing.T) {
	f, err := parsePeople([]byte(`{"version":1,"users":[{"id":"7"}],"chats":[],"wrong":["x"],"blocked_until":"x",
		"pending":[{"id":"8","private":true,"used":true,"code":"K7QM3XPA"}]}`))
	if err != nil || len(f.Users) != 1 || f.Pending != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

// Each write of each change fails once before it happens and once after: what is
// there then is the state before or after the change, and the change can be made
// again.
func TestBrokenWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { durable.Fault = nil }()
		for _, stage := range []durable.Stage{durable.Before, durable.After} {
			for n := 1; brokenWrite(t, stage, n); n++ {
			}
		}
	})
}

var errBroken = errors.New("broken")

// brokenWrite breaks the n-th step; it returns false when there are not as many.
func brokenWrite(t *testing.T, stage durable.Stage, n int) (failed bool) {
	p := newPolicy(t)
	steps := 0
	durable.Fault = func(s durable.Stage, op, path string) error {
		if s != stage {
			return nil
		}
		if steps++; steps != n {
			return nil
		}
		failed = true
		return errBroken
	}
	// insist does something, and again where it failed; done is the second error if the first
	// attempt was persisted.
	insist := func(do func() error, done error) {
		t.Helper()
		err := do()
		if errors.Is(err, errBroken) {
			p = &Policy{Dir: p.Dir}
			if err = do(); done != nil && errors.Is(err, done) {
				err = nil
			}
		}
		if err != nil {
			t.Fatalf("%s step %d, made again: %v", stage, n, err)
		}
	}
	insist(func() error { _, err := p.Allow("7", "dev", false); return err }, nil)
	if !rules(p).User("7") || rules(p).Room("7", true) != "dev" {
		t.Fatalf("%s step %d: not listed", stage, n)
	}
	insist(func() error { return p.Revoke("7") }, ErrNotListed)
	if rules(p).User("7") {
		t.Fatalf("%s step %d: not revoked", stage, n)
	}
	if !failed && n < 5 {
		t.Fatalf("only %d steps", n)
	}
	return failed
}

// Two processes, which two Policies stand for, lose nothing of each other's.
func TestTwoProcesses(t *testing.T) {
	p := newPolicy(t)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() { must((&Policy{Dir: p.Dir}).Allow(fmt.Sprint(i+1), "", false)) })
		wg.Go(func() { rules(p).Decide("1", "1", true) })
	}
	wg.Wait()
	lethetest.Equal(t, "listed of 12", len(rules(p).Users), 12)
}
