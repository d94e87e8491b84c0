package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/internal/lethetest"
)

// testClock is a clock that stands until it is moved.
type testClock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *testClock {
	return &testClock{at: time.Date(2026, 11, 20, 12, 57, 16, 0, time.UTC)}
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// must is for steps that are not what a test is about.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// openAt opens the policy in dir, on the given clock, as a process of its own would.
func openAt(dir string, c *testClock) *Policy {
	p := must(Open(dir))
	p.now = c.now
	return p
}

func newPolicy(t *testing.T) (*Policy, *testClock) {
	c := newClock()
	return openAt(filepath.Join(t.TempDir(), "bridges", "telegram"), c), c
}

func writePeople(t *testing.T, p *Policy, text string) {
	t.Helper()
	lethetest.Must(t, errors.Join(os.MkdirAll(p.dir, 0o700), os.WriteFile(p.path("people.json"), []byte(text), 0o600)))
}

func TestDecide(t *testing.T) {
	p, _ := newPolicy(t)
	writePeople(t, p, `{"version":1,"users":[{"id":"3"}],"chats":[{"id":"-30"}]}`)
	for _, c := range []struct {
		members, user, chat string
		private, allowed    bool
	}{
		{"", "1", "1", true, true},      // of the configuration
		{"", "3", "3", true, true},      // approved
		{"", "2", "2", true, false},     // a stranger
		{"", "2", "1", true, false},     // in a chat that bears a listed user's id
		{"", "-10", "-10", true, false}, // a listed chat is not a listed user
		{"", "", "", true, false},
		{"", "2", "-10", false, true}, // everyone in a listed group
		{"", "2", "-30", false, true},
		{"", "", "-10", false, true},   // a channel's post
		{"", "1", "-20", false, false}, // a listed user elsewhere
		{"", "1", "1", false, false},   // a listed user is not a listed chat
		{"", "", "", false, false},
		{"all", "2", "-10", false, true},
		{"listed", "2", "-10", false, false},
		{"listed", "1", "-10", false, true},
		{"listed", "3", "-10", false, true},
		{"listed", "", "-10", false, false},
		{"listed", "-10", "-10", false, false}, // who speaks as the group itself
		{"listed", "1", "-20", false, false},
		{"listed", "1", "1", true, true},
	} {
		lethetest.Must(t, p.Static(Lists{Users: []string{"1"}, Chats: []string{"-10"}, Members: c.members}))
		v := must(p.Rules()).Decide(c.user, c.chat, c.private)
		if v.Allowed != c.allowed || v.Why == "" {
			t.Errorf("members %q: Decide(%q, %q, %v) = %+v, want %v", c.members, c.user, c.chat, c.private, v, c.allowed)
		}
	}
	r := must(p.Rules())
	if !r.User("1") || !r.User("3") || r.User("2") || r.User("-10") {
		t.Error("User differs from Decide")
	}
	if !r.Chat("-10") || !r.Chat("-30") || r.Chat("-20") || r.Chat("1") {
		t.Error("Chat differs from Decide")
	}
}

func TestStaticRefusesNonsense(t *testing.T) {
	p, _ := newPolicy(t)
	lethetest.Must(t, p.Static(Lists{Users: []string{"1 ada"}}))
	for _, l := range []Lists{
		{Users: []string{""}},
		{Users: []string{" "}},
		{Users: []string{"2 a]b"}},
		{Users: []string{"2 two words"}},
		{Users: []string{"2", "2"}},
		{Users: []string{"2 eve", "3 EVE"}},
		{Users: []string{strings.Repeat("9", maxID+1)}},
		{Users: []string{"2\u200b"}},
		{Chats: []string{"-10", "-10 team"}},
		{Members: "nobody"},
	} {
		if err := p.Static(l); err == nil {
			t.Errorf("%+v was taken", l)
		}
	}
	if !must(p.Rules()).User("1") || must(p.Rules()).User("2") {
		t.Error("a refused list changed what was set before")
	}
	if err := p.Static(Lists{Chats: []string{"-10 the whole team"}}); err != nil {
		t.Error(err)
	}
}

func TestDeniedIsToldOncePerHour(t *testing.T) {
	p, c := newPolicy(t)
	if !p.Denied("7") || p.Denied("7") || !p.Denied("8") {
		t.Error("not once per person")
	}
	c.move(time.Hour - time.Second)
	if p.Denied("7") {
		t.Error("told again within the hour")
	}
	c.move(time.Second)
	if !p.Denied("7") || p.Denied("7") {
		t.Error("not told after an hour")
	}
	c.move(-24 * time.Hour)
	if !p.Denied("7") {
		t.Error("a clock that was put back silences denials")
	}
}

func TestDeniedIsBounded(t *testing.T) {
	p, c := newPolicy(t)
	told := 0
	for i := range 2 * maxDenied {
		if p.Denied(fmt.Sprint(i)) {
			told++
		}
	}
	if told != maxDenied || len(p.denied) != maxDenied {
		t.Errorf("%d of a crowd were told of, and %d are remembered; the bound is %d", told, len(p.denied), maxDenied)
	}
	c.move(deniedEvery)
	if !p.Denied("new") || len(p.denied) != 1 {
		t.Errorf("%d are remembered after an hour", len(p.denied))
	}
}

func TestList(t *testing.T) {
	p, c := newPolicy(t)
	must(0, p.Static(Lists{Users: []string{"1 ada", "2"}, Chats: []string{"-10"}, Members: MembersListed}))
	writePeople(t, p, `{"version":1,"users":[{"id":"2","name":"bob","room":"dev"},{"id":"3","name":"cleo"}],"chats":[]}`)
	must(p.askCode(Applicant{ID: "4", Name: "Dora", Private: true}))
	c.move(time.Minute)
	must(p.askCode(Applicant{ID: "4", Chat: "-20", ChatTitle: "The team"}))
	l := must(p.List())
	var got []string
	for _, u := range l.Users {
		got = append(got, fmt.Sprintf("%s %s %s %v", u.ID, u.Name, u.Room, u.Config))
	}
	if want := "1 ada  true, 2 bob dev true, 3 cleo  false"; strings.Join(got, ", ") != want {
		t.Errorf("users: %s, want %s", strings.Join(got, ", "), want)
	}
	if len(l.Chats) != 1 || l.Chats[0].ID != "-10" || l.Members != MembersListed {
		t.Errorf("%+v", l)
	}
	if len(l.Pending) != 2 || l.Pending[0].String() != `user 4 ("Dora")` || l.Pending[1].String() != `chat -20 ("The team"), asked for by user 4` ||
		l.Pending[0].Expires.Sub(l.Pending[0].Asked) != codeLife {
		t.Errorf("pending: %+v", l.Pending)
	}
	c.move(time.Hour - time.Minute)
	if l := must(p.List()); len(l.Pending) != 1 || l.Members != MembersListed {
		t.Errorf("after an hour: %+v", l.Pending)
	}
}

// askCode is Ask for tests that take a fresh code for granted.
func (p *Policy) askCode(who Applicant) (string, error) {
	code, fresh, err := p.Ask(who)
	if err == nil && !fresh {
		err = fmt.Errorf("the code of %s is not fresh", who)
	}
	return code, err
}
