package access

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/chat"
	_ "lethe/internal/test/seed"
)

func TestNameFor(t *testing.T) {
	p := newPolicy(t)
	writePeople(t, p, `{"version":1,"users":[{"id":"1","name":"ada"},{"id":"2","name":"bob"},{"id":"3","name":"Bob"},`+
		`{"id":"4"},{"id":"5","name":"eve-5x"},{"id":"6"},{"id":"8","name":"Anne-Marie"}],"chats":[{"id":"-10","name":"Team"}]}`)
	p.Names = func() []string { return []string{"grace"} }
	r := rules(p)
	for _, c := range [][3]string{
		{"1", "whatever", "ada"},
		{"2", "Robert", "bob-2"},
		{"3", "x", "Bob-3"}, // which is another's, too
		{"4", "Cleo", "Cleo"},
		{"4", "Grace", "Grace-4"},
		{"4", "eve-7", "eve-7-4"}, // as a stranger who is called eve would sign
		{"4", "", "unknown-4"},
		{"5", "", "eve-5x"}, // as the owner says
		{"6", "Dora", "Dora"},
		{"8", "x", "Anne-Marie"},
		{"7", "eve", "eve-7"},
		{"7", "Ada", "Ada-7"},
		{"7", "ada-1", "ada-1-7"},
		{"7", "ada-7", "ada-7"}, // its own id is told already
		{"7", "ada-", "ada-7"},
		{"7", "a da", "a_da-7"},
		{"7", "", "unknown-7"},
		{"7", "] ", "unknown-7"},
		{"-1", "x", "x--1"},
		{"1", "x-", "ada"},
		{"7", "ada-" + strings.Repeat("x", 80), "ada-" + strings.Repeat("x", 58) + "-7"},
	} {
		if got := r.NameFor(c[0], c[1]); got != c[2] {
			t.Errorf("NameFor(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Whatever a stranger claims, the name is valid, has the id, and is no listed person's.
func TestNamesCannotBeTaken(t *testing.T) {
	rules := Rules{reserved: []string{"grace"}, Users: []Person{{ID: "1", Name: "ada"}, {ID: "2", Name: "Bob-the-builder"}}}
	ids := rapid.StringMatching(`[1-9][0-9]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		id := ids.Draw(t, "id")
		claim := rapid.SampledFrom([]string{"ada", "bob-the-builder", "grace", ""}).Draw(t, "base") + rapid.String().Draw(t, "end")
		name := rules.NameFor(id, claim)
		if !chat.ValidName(name) || !strings.HasSuffix(name, "-"+id) {
			t.Fatalf("%s, who claims to be %q, signs as %q", id, claim, name)
		}
	})
}

// Who may approve is nobody's claim: the owner says so.
func TestPeopleAreNotClaimed(t *testing.T) {
	rules := Rules{people: []string{"grace", "ada"}, Chats: []Person{{ID: "-9"}},
		Users: []Person{{ID: "1", Name: "ada"}, {ID: "2"}, {ID: "3", Name: "grace"}}}
	for user, want := range map[string]string{"1": "ada", "2": "Grace-2", "3": "grace", "-9": "Grace--9"} {
		if got := rules.NameFor(user, "Grace"); got != want {
			t.Errorf("user %s signs as %s, want %s", user, got, want)
		}
	}
}
