package telegram

import (
	"sync/atomic"
	"testing"

	"lethe/bridge/access"
	"lethe/internal/botapi"
)

// Who has the name of somebody else does not get to sign with it.
func TestNames(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada := st.User("Ada", "ada")
	st.cfg.Users = []string{id(ada.ID) + " ada"}
	st.cfg.Names = func() []string { return []string{"lethe"} }
	var members []botapi.User
	for _, name := range []string{"ADA", "Bob", "bob", "Lethe", "[a] b", "\u202e"} {
		members = append(members, st.User(name, ""))
	}
	crew := st.crew(append(members, ada)...)
	r := st.start()
	st.Say(crew, ada, "0")
	for _, m := range members {
		st.Say(crew, m, "x")
	}
	want := []string{"ada", "ADA-" + id(members[0].ID), "Bob", "bob-" + id(members[2].ID), "Lethe-" + id(members[3].ID)}
	got := st.hears("dev", 7)
	for i, name := range want {
		has(t, "name", got[i], name+": ")
	}
	st.stop(r)
	st.start()
	st.Say(crew, members[2], "again")
	has(t, "after a restart", st.hears("dev", 8)[7], "bob-"+id(members[2].ID)+": ")
	st.well()
}

// The name of an identity is its own from the moment that there is one.
func TestNameOfANewIdentity(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	nova := st.User("Nova", "")
	crew := st.crew(nova)
	var born atomic.Bool
	st.cfg.Names = func() []string { return map[bool][]string{true: {"ada", "nova"}, false: {"ada"}}[born.Load()] }
	st.start()
	st.Say(crew, nova, "one")
	st.hears("dev", 1)
	born.Store(true)
	st.Say(crew, nova, "two")
	equalAll(t, "room", st.hears("dev", 2), "Nova: one", "Nova-"+id(nova.ID)+": two")
	st.well()
}

// Nobody gets the name that the bridge makes for the second of two by calling
// himself so.
func TestNamesWithIDs(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	bob1, bob2 := st.User("Bob", ""), st.User("Bob", "")
	mal, eve := st.User("Bob-"+id(bob2.ID), ""), st.User("Bob-", "")
	crew := st.crew(bob1, bob2, mal, eve)
	st.start()
	for _, u := range []botapi.User{mal, bob1, bob2, mal, eve} {
		st.Say(crew, u, "x")
	}
	equalAll(t, "room", st.hears("dev", 5), "Bob-"+id(bob2.ID)+"-"+id(mal.ID)+": x", "Bob: x", "Bob-"+id(bob2.ID)+": x",
		"Bob-"+id(bob2.ID)+"-"+id(mal.ID)+": x", "Bob-: x")
	equal(t, "a chat and a user", access.NameWithID("x", "-1") == access.NameWithID("x-", "1"), false)
	st.well()
}

// A listed name is its owner's, whoever was heard under it before.
func TestListedNames(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	mal, ada := st.User("ada", "mal"), st.User("Ada", "ada")
	crew := st.crew(ada, mal)
	r := st.start()
	st.Say(crew, mal, "I am ada")
	st.hears("dev", 1)
	if err := st.stop(r); err != nil {
		t.Fatal(err)
	}
	st.cfg.Users = []string{id(ada.ID) + " ada"}
	st.start()
	st.Say(crew, ada, "no, me")
	st.Say(crew, mal, "but I was")
	equalAll(t, "room", st.hears("dev", 3), "ada: I am ada", "ada: no, me", "ada-"+id(mal.ID)+": but I was")
	st.well()
}

// Nor by a name that only looks like it: in another script, with marks, with letters
// that do not show, or with an id that is none.
func TestNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada := st.User("Ada", "ada")
	st.cfg.Users = []string{id(ada.ID) + " ada"}
	st.cfg.Names = func() []string { return []string{"lethe"} }
	alike := []string{"\u0410da", "\uff21da", "A\u200bd\u0301a", "\u04c0ethe", "B\u043eb", "Bob\u2011" + id(ada.ID), "Bob-5OOO"}
	own := []string{"Bob", "Ада", "Ελένη", "李雷", "Jean-Lol"}
	var members []botapi.User
	for _, name := range append(own, alike...) {
		members = append(members, st.User(name, ""))
	}
	crew := st.crew(members...)
	r := st.start()
	say := func() {
		for _, m := range members {
			st.Say(crew, m, "x")
		}
	}
	say()
	got := st.hears("dev", len(members))
	equalAll(t, "names of their own", got[:len(own)], "Bob: x", "Ада: x", "Ελένη: x", "李雷: x", "Jean-Lol: x")
	for i, text := range got[len(own):] {
		has(t, alike[i], text, "-"+id(members[len(own)+i].ID)+": ")
	}
	st.stop(r)
	st.start()
	say()
	equalAll(t, "after a restart", st.hears("dev", 2*len(members))[len(members):], got...)
	st.well()
}
