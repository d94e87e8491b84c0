package telegram

import (
	"testing"

	"lethe/bridge/telegram/botapi"
)

// Who has the name of somebody else does not get to sign with it.
func TestNames(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada := st.User("Ada", "ada")
	st.cfg.Users = []string{id(ada.ID) + " ada"}
	st.cfg.Names = []string{"lethe"}
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
	equal(t, "a chat and a user", withID("x", "-1") == withID("x-", "1"), false)
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
