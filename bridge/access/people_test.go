package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"lethe/internal/durable"
	"lethe/internal/lethetest"
)

func TestDamagedFileRefusesEveryone(t *testing.T) {
	good := `{"version":1,"users":[{"id":"2"}],"chats":[]}`
	for _, bad := range []string{
		"", "\n", "null", "[]", "{}", good[:len(good)-1], good + "}", good + good, good + "x",
		`{"version":2,"users":[{"id":"2"}],"chats":[]}`,
		`{"version":1,"users":[{"id":"2","may":"speak"}],"chats":[]}`,
		`{"version":1,"users":[{"id":"2"},{"id":"2"}],"chats":[]}`,
		`{"version":1,"users":[{"id":""}],"chats":[]}`,
		`{"version":1,"users":[{"id":"2 3"}],"chats":[]}`,
		`{"version":1,"users":[{"id":2}],"chats":[]}`,
		`{"version":1,"pending":[{"id":"2","at":"2026-11-20T12:57:16Z","salt":"AAAA"}]}`, // whose chat?
		strings.Repeat(" ", maxPeople) + good,
	} {
		p, _ := newPolicy(t)
		lethetest.Must(t, p.Static(Lists{Users: []string{"1"}}))
		writePeople(t, p, good)
		if !must(p.Rules()).User("1") || !must(p.Rules()).User("2") {
			t.Fatal("the good file does not count")
		}
		code, _, err := p.Ask(Applicant{ID: "3", Private: true})
		lethetest.Must(t, err)
		writePeople(t, p, bad)
		bad = bad[:min(len(bad), 60)]
		r, rerr := p.Rules()
		for _, user := range []string{"1", "2"} {
			if v := r.Decide(user, user, true); v.Allowed || r.User(user) {
				t.Errorf("%q: user %s: %+v", bad, user, v)
			}
		}
		_, _, aerr := p.Ask(Applicant{ID: "4", Private: true})
		_, perr := p.Approve(code, "")
		_, lerr := p.List()
		_, oerr := Open(p.dir)
		for i, err := range []error{rerr, aerr, perr, p.Revoke("2"), lerr, oerr} {
			if damaged := new(PeopleError); !errors.As(err, &damaged) || damaged.Path != p.path("people.json") {
				t.Errorf("%q: call %d: %v", bad, i, err)
			}
		}
		if now := must(os.ReadFile(p.path("people.json"))); !strings.HasPrefix(string(now), bad) {
			t.Errorf("%q was written over by %q", bad, now)
		}
		writePeople(t, p, good)
		if !must(p.Rules()).User("1") || !must(p.Rules()).User("2") {
			t.Errorf("%q: mended, and still refused", bad)
		}
	}
}

func TestUnreadableFileRefusesEveryone(t *testing.T) {
	p, _ := newPolicy(t)
	lethetest.Must(t, errors.Join(p.Static(Lists{Users: []string{"1"}}), os.MkdirAll(p.path("people.json"), 0o700)))
	refuses := func(what string) {
		t.Helper()
		if r, err := p.Rules(); err == nil || errors.Is(err, ErrAway) || r.Decide("1", "1", true).Allowed {
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
	p, c := newPolicy(t)
	other := openAt(p.dir, c)
	for i, allowed := range []bool{true, false, true, false, true, false} {
		// The same size, within the same instant, and at times in the same inode.
		id := map[bool]string{true: "2", false: "3"}[allowed]
		writePeople(t, p, fmt.Sprintf(`{"version":1,"users":[{"id":"%s"}],"chats":[]}`, id))
		if must(p.Rules()).User("2") != allowed || must(other.Rules()).User("2") != allowed {
			t.Fatalf("change %d was not seen", i)
		}
	}
	code, _, err := other.Ask(Applicant{ID: "2", Private: true})
	lethetest.Must(t, err)
	must(other.Approve(code, ""))
	if !must(p.Rules()).User("2") {
		t.Error("what another process approved does not count")
	}
	must(0, os.Remove(p.path("people.json")))
	if r, err := p.Rules(); !errors.Is(err, ErrAway) || r.User("2") {
		t.Errorf("a file that is gone still counts, %v", err)
	}
}

func TestDocumentedPeopleFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/bridges.md")
	lethetest.Must(t, err)
	_, section, found := strings.Cut(string(page), "\n## Who may speak\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, example, fenced := strings.Cut(section, "\n```json\n")
	example, _, closed := strings.Cut(example, "```\n")
	if !found || !fenced || !closed {
		t.Fatal("docs/bridges.md has no example of people.json under Who may speak")
	}
	f, err := parsePeople([]byte(example))
	lethetest.Must(t, err)
	if len(f.Users) == 0 || len(f.Chats) == 0 || len(f.Pending) == 0 || f.Users[0].Name == "" || f.Users[0].At.IsZero() {
		t.Errorf("the example leaves something out: %+v", f)
	}
	// What this program writes is what the page shows, to the byte.
	p, c := newPolicy(t)
	c.at = f.Pending[len(f.Pending)-1].At
	must(0, os.MkdirAll(p.dir, 0o700))
	must(0, p.save(f))
	if got := must(os.ReadFile(p.path("people.json"))); string(got) != example {
		t.Errorf("the page shows\n%s\nand this is written:\n%s", example, got)
	}
}

// Each write of each change fails once before it happens and once after: what is
// there then is the state before or after the change, and the change can be made
// again.
func TestBrokenWrites(t *testing.T) { synctest.Test(t, brokenWrites) }

func brokenWrites(t *testing.T) {
	defer func() { durable.Fault = nil }()
	broken := errors.New("broken")
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for n := 1; ; n++ {
			c := newClock()
			p := openAt(filepath.Join(t.TempDir(), "telegram"), c)
			steps, failed := 0, false
			durable.Fault = func(s durable.Stage, op, path string) error {
				if s != stage {
					return nil
				}
				if steps++; steps == n {
					failed = true
					return broken
				}
				return nil
			}
			insist := func(do func() error) {
				t.Helper()
				err := do()
				if errors.Is(err, broken) {
					p = openAt(p.dir, c)
					err = do()
				}
				if err != nil {
					t.Fatalf("%s step %d, made again: %v", stage, n, err)
				}
			}
			var code string
			insist(func() (err error) { code, _, err = p.Ask(private("7")); return err })
			insist(func() error {
				_, err := p.Approve(code, "dev")
				if errors.Is(err, ErrUsedCode) && must(p.Rules()).User("7") { // it was persisted
					return nil
				}
				return err
			})
			if !must(p.Rules()).User("7") || must(p.Rules()).Room("7", true) != "dev" {
				t.Fatalf("%s step %d: not listed", stage, n)
			}
			insist(func() error {
				err := p.Revoke("7")
				if errors.Is(err, ErrNotListed) {
					return nil
				}
				return err
			})
			if must(p.Rules()).User("7") {
				t.Fatalf("%s step %d: not revoked", stage, n)
			}
			if !failed {
				if n < 6 {
					t.Fatalf("only %d steps", n)
				}
				break
			}
		}
	}
}

// Two processes, which two Policies stand for, lose nothing of each other's, and a
// code is used once.
func TestTwoProcesses(t *testing.T) {
	c := newClock()
	dir := filepath.Join(t.TempDir(), "telegram")
	both := []*Policy{openAt(dir, c), openAt(dir, c)}
	const strangers = 6
	codes := make([][2]string, strangers)
	var wg sync.WaitGroup
	for i := range strangers {
		for side, p := range both {
			wg.Go(func() { codes[i][side] = must2(p.Ask(private(fmt.Sprint(i + 1)))) })
		}
	}
	wg.Wait()
	var mu sync.Mutex
	approved := map[string]int{}
	for i, pair := range codes {
		if pair[0] != pair[1] {
			t.Errorf("stranger %d has two codes", i+1)
		}
		for _, p := range both {
			wg.Go(func() {
				who, err := p.Approve(pair[0], "")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					approved[who.ID]++
				} else if !errors.Is(err, ErrUsedCode) {
					t.Error(err)
				}
			})
			wg.Go(func() { must(p.Rules()).Decide("1", "1", true) })
		}
	}
	wg.Wait()
	for i := range strangers {
		id := fmt.Sprint(i + 1)
		if approved[id] != 1 || !must(both[0].Rules()).User(id) || !must(both[1].Rules()).User(id) {
			t.Errorf("stranger %s was approved %d times", id, approved[id])
		}
	}
}

func must2[A, B any](a A, _ B, err error) A { return must(a, err) }
