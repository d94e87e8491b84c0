package telegram

import (
	"testing"

	"lethe/internal/botapi"
)

// Only listed people sign with a bare name; that of an identity is nobody's.
func TestNames(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, nova, bob := st.User("Ada", "ada"), st.User("Nova", ""), st.User("Bob", "")
	st.cfg.Users = []string{id(ada.ID) + " ada", id(nova.ID)}
	st.cfg.Names = func() []string { return []string{"nova"} }
	crew := st.crew(ada, nova, bob)
	st.start()
	for _, m := range []botapi.User{ada, nova, bob} {
		st.Say(crew, m, "x")
	}
	equalAll(t, "room", st.hears("dev", 3), "ada: x", "Nova-"+id(nova.ID)+": x", "Bob-"+id(bob.ID)+": x")
	st.well()
}
