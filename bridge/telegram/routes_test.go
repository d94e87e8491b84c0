package telegram

import (
	"testing"

	"lethe/internal/botapi"
)

// A supergroup may be listed by the id of the group it was, by its own, or by both.
func TestListedByEitherID(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada := st.User("Ada", "ada")
	crew := st.Group("Crew", ada)
	st.cfg.Chats = []string{id(crew.ID)}
	r := st.start()
	st.ready()
	super := st.Migrate(crew)
	st.Say(super, ada, "one")
	st.hears("dev", 1)
	for i, chats := range [][]string{{id(super.ID) + " the crew"}, {id(super.ID), id(crew.ID)}} {
		if err := st.stop(r); err != nil {
			t.Fatal(err)
		}
		st.cfg.Chats = chats
		r = st.start()
		st.ready()
		st.Say(super, ada, "more")
		st.hears("dev", 2+i)
	}
	st.answers("dev", "to all")
	equalAll(t, "supergroup", st.sent(super, 1), "to all")
	st.well()
}

// A group that becomes a supergroup between its code and the approval is let in,
// and told where it is now.
func TestMigratesBeforeAllow(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada := st.User("Ada", "ada")
	crew := st.Group("Crew", ada)
	st.start()
	st.ready()
	st.Say(crew, ada, "/start")
	code := st.sent(crew, 1)[0]
	super := st.Migrate(crew)
	st.quiet()
	st.approve(code, "")
	has(t, "welcome", st.sent(super, 1)[0], "let in")
	st.Say(super, ada, "hello")
	equalAll(t, "room", st.hears("dev", 1), "Ada-"+id(ada.ID)+": hello")
	st.answers("dev", "welcome")
	equal(t, "answer", st.sent(super, 2)[1], "welcome")
	st.well()
}
