package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

// must is for steps that are not what a test is about.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newPolicy(t *testing.T) *Policy { return New(filepath.Join(t.TempDir(), "bridges", "telegram")) }

func writePeople(t *testing.T, p *Policy, text string) {
	t.Helper()
	lethetest.Must(t, errors.Join(os.MkdirAll(p.dir, 0o700), os.WriteFile(p.path("people.json"), []byte(text), 0o600)))
}

// rules are those of a policy whose file can be read.
func rules(p *Policy) Rules { return must(p.Rules()) }

func allowed(r Rules, user, chat string, private bool) bool {
	is, _ := r.Decide(user, chat, private)
	return is
}

func TestDecide(t *testing.T) {
	p := newPolicy(t)
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
		allowed, why := rules(p).Decide(c.user, c.chat, c.private)
		if allowed != c.allowed || (why == "") != allowed {
			t.Errorf("members %q: Decide(%q, %q, %v) = %v, %q", c.members, c.user, c.chat, c.private, allowed, why)
		}
	}
}

func TestStaticRefusesNonsense(t *testing.T) {
	p := newPolicy(t)
	lethetest.Must(t, p.Static(Lists{Users: []string{"1 ada"}, Chats: []string{"-10 the whole team"}}))
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
	if !rules(p).User("1") || rules(p).User("2") {
		t.Error("a refused list changed what was set before")
	}
}

// What is of a time to come was written before the clock was put back: it is not recent.
func TestClockPutBack(t *testing.T) {
	now := time.Now()
	for ahead, want := range map[time.Duration]bool{0: true, 30 * time.Second: true, 2 * time.Minute: false, 24 * time.Hour: false} {
		if r := (request{Code: "CODE", At: now.Add(ahead)}); r.live(now) != want {
			t.Errorf("a code given %s from now is good: %v", ahead, !want)
		}
	}
}

func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPolicy(t)
		must(0, p.Static(Lists{Users: []string{"1 ada", "2"}, Chats: []string{"-10"}, Members: MembersListed}))
		writePeople(t, p, `{"version":1,"users":[{"id":"2","name":"bob","room":"dev"},{"id":"3","name":"cleo"}],"chats":[]}`)
		must(p.askCode(Applicant{ID: "4", Name: "Dora", Private: true}))
		time.Sleep(time.Minute)
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
		time.Sleep(time.Hour - time.Minute)
		if l := must(p.List()); len(l.Pending) != 1 {
			t.Errorf("after an hour: %+v", l.Pending)
		}
	})
}

// askCode is Ask for tests that take a fresh code for granted.
func (p *Policy) askCode(who Applicant) (string, error) {
	code, fresh, err := p.Ask(who)
	if err == nil && !fresh {
		err = fmt.Errorf("the code of %s is not fresh", who)
	}
	return code, err
}
