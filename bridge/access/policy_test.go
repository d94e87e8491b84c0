package access

import (
	"errors"
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

func newPolicy(t *testing.T) *Policy {
	return &Policy{Dir: filepath.Join(t.TempDir(), "bridges", "telegram")}
}

func writePeople(t *testing.T, p *Policy, text string) {
	t.Helper()
	lethetest.Must(t, errors.Join(os.MkdirAll(p.Dir, 0o700), os.WriteFile(p.path("people.json"), []byte(text), 0o600)))
}

// rules are those of a policy whose file can be read.
func rules(p *Policy) Rules { return must(p.Rules()) }

func allowed(r Rules, user, chat string, private bool) bool {
	is, _ := r.Decide(user, chat, private)
	return is
}

func TestDecide(t *testing.T) {
	p := newPolicy(t)
	writePeople(t, p, `{"version":1,"users":[{"id":"1"},{"id":"3"}],"chats":[{"id":"-10"},{"id":"-30"}]}`)
	for _, c := range []struct {
		members, user, chat string
		private, allowed    bool
	}{
		{"", "1", "1", true, true},
		{"", "3", "3", true, true},
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
		p.Members = c.members
		allowed, why := rules(p).Decide(c.user, c.chat, c.private)
		if allowed != c.allowed || (why == "") != allowed {
			t.Errorf("members %q: Decide(%q, %q, %v) = %v, %q", c.members, c.user, c.chat, c.private, allowed, why)
		}
	}
}

func TestObeyed(t *testing.T) {
	r := Rules{Users: []Person{{ID: "1"}}}
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
	cli := &Policy{Dir: p.Dir}
	must(cli.Allow("1 ada", "", false))
	for _, bad := range []string{"", " ", "7 two words", "7 a]b", strings.Repeat("9", maxID+1)} {
		if _, err := cli.Allow(bad, "", false); err == nil {
			t.Errorf("%q was allowed", bad)
		}
	}
	if _, err := cli.Allow("7", "../x", false); err == nil || rules(p).User("7") {
		t.Errorf("allowed into room ../x: %v", err)
	}
	must(cli.Allow("7", "ops", false))
	if _, err := cli.Allow("7 Ada", "dev", false); err == nil {
		t.Error("two have one name")
	}
	must(cli.Allow("7 bob", "dev", false)) // again, with a name and another room
	must(cli.Allow("-10 The team", "", true))
	r := rules(p)
	if len(r.Users) != 2 || !allowed(r, "7", "7", true) || r.User("8") || r.Chat("7") || r.User("-10") || !allowed(r, "9", "-10", false) {
		t.Errorf("listed: %+v", r)
	}
	if r.Room("7", true) != "dev" || r.Room("8", true) != "" || r.Room("7", false) != "" || r.NameFor("7", "x") != "bob" {
		t.Error("the room or the name is wrong")
	}
	if err := cli.Revoke("7"); err != nil || rules(p).User("7") {
		t.Errorf("revoke: %v", err)
	}
	if err := p.Revoke("7"); !errors.Is(err, ErrNotListed) {
		t.Errorf("revoked twice: %v", err)
	}
}
