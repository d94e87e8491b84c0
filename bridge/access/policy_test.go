package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestRules(t *testing.T) {
	p := newPolicy(t)
	must(0, p.Static(Lists{Users: []string{"1 ada", "2"}, Chats: []string{"-10"}, Members: MembersListed}))
	writePeople(t, p, `{"version":1,"users":[{"id":"2","name":"bob","room":"dev"},{"id":"3","name":"cleo"}],"chats":[]}`)
	r := rules(p)
	var got []string
	for _, u := range r.Users {
		got = append(got, fmt.Sprintf("%s %s %s %v", u.ID, u.Name, u.Room, u.Config))
	}
	if want := "1 ada  true, 2 bob dev true, 3 cleo  false"; strings.Join(got, ", ") != want {
		t.Errorf("users: %s, want %s", strings.Join(got, ", "), want)
	}
	if len(r.Chats) != 1 || r.Chats[0].ID != "-10" || r.Members != MembersListed {
		t.Errorf("%+v", r)
	}
	const refused = "(not obeyed: only people who are listed may use /model) "
	for _, c := range [][3]string{
		{"1", "/model x", "/model x"}, {"9", "/model x", refused + "/model x"}, {"", "/model x\n", refused + "/model x\n"},
		{"9", "/stop", "/stop"}, {"9", "a /model x", "a /model x"}, {"9", "/model", "/model"},
	} {
		if got := r.Obeyed(c[0], c[1]); got != c[2] {
			t.Errorf("%q of %s becomes %q", c[1], c[0], got)
		}
	}
}

// Whom the owner allows, by a command in another process, may speak at once, and no longer than that.
func TestAllowAndRevoke(t *testing.T) {
	p := newPolicy(t)
	cli := New(p.dir)
	must(0, p.Static(Lists{Users: []string{"1 ada"}}))
	for _, bad := range []string{"", " ", "7 two words", "7 a]b", strings.Repeat("9", maxID+1)} {
		if _, err := cli.Allow(bad, "", false); err == nil {
			t.Errorf("%q was allowed", bad)
		}
	}
	if _, err := cli.Allow("7", "../x", false); err == nil || rules(p).User("7") {
		t.Errorf("allowed into room ../x: %v", err)
	}
	must(cli.Allow("7", "ops", false))
	must(cli.Allow("7 Ada", "dev", false)) // again, with another room, and a name that is somebody else's
	must(cli.Allow("-10 The team", "", true))
	r := rules(p)
	if len(r.Users) != 2 || !allowed(r, "7", "7", true) || r.User("8") || r.Chat("7") || r.User("-10") || !allowed(r, "9", "-10", false) {
		t.Errorf("listed: %+v", r)
	}
	if r.Room("7", true) != "dev" || r.Room("8", true) != "" || r.Room("7", false) != "" || r.NameFor("7", "x") != "Ada-7" {
		t.Error("the room or the name is wrong")
	}
	if err := cli.Revoke("7"); err != nil || rules(p).User("7") {
		t.Errorf("revoke: %v", err)
	}
	if err := p.Revoke("7"); !errors.Is(err, ErrNotListed) {
		t.Errorf("revoked twice: %v", err)
	}
	must(cli.Allow("1", "", false))
	for range 2 {
		if err := p.Revoke("1"); err == nil || errors.Is(err, ErrNotListed) || !rules(p).User("1") {
			t.Errorf("revoke who is in the configuration: %v", err)
		}
	}
}
