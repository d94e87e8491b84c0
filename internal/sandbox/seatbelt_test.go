package sandbox

import (
	"os"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// What a Mac is told. No Mac has run this text: what holds here is that it says what is meant, in the right order.
func TestSeatbelt(t *testing.T) {
	o := order{
		Command: Command{Confine: true, Hide: []string{"/lethe", "/etc/k\"e\\y"}, Read: []string{"/lethe/skills"},
			Write: []string{"/lethe/agents/51c0/workspace"}},
		UserHome: "/Users/ada",
	}
	const golden = "testdata/seatbelt.golden"
	got := seatbelt(o)
	if os.Getenv("UPDATE") != "" {
		lethetest.Write(t, golden, got)
	}
	if want := lethetest.Read(t, golden); got != want {
		t.Errorf("the profile has changed (UPDATE=1 writes it anew):\n%s", got)
	}
	after := func(first, then string) {
		t.Helper()
		if i, j := strings.Index(got, first), strings.LastIndex(got, then); i < 0 || j < i {
			t.Errorf("%q does not come before %q", first, then)
		}
	}
	after(`(subpath "/private/etc")`, `(subpath "/lethe")`)
	after(`(subpath "/lethe")`, `(subpath "/lethe/skills")`)
	after(`(subpath "/Users/ada")`, `(subpath "/lethe/agents/51c0/workspace")`)
	lethetest.Words(t, got, `(subpath "/etc/k\"e\\y")`)
	o.Offline = true
	if strings.Contains(seatbelt(o), "network") || strings.Count(got, "(") != strings.Count(got, ")") {
		t.Error("offline it has a network, or it has an open parenthesis")
	}
	o.UserHome = "/usr" // of some service users
	if strings.Contains(seatbelt(o), "deny file-read*\n  (subpath \"/lethe\")\n  (subpath \"/etc/k\\\"e\\\\y\")\n  (subpath \"/usr\")") {
		t.Error("the system is hidden")
	}
	o.Confine = false
	lethetest.Words(t, seatbelt(o), "(allow default)\n(deny network*)\n")
}
