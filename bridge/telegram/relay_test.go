package telegram

import (
	"strings"
	"testing"

	"lethe/internal/botapi"
)

// What other people say goes out to all but who said it, and nobody can write what, passed on, looks
// like a line of somebody else.
func TestRelayedLines(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	mal := st.User("Mal", "")
	crew, mals := st.crew(mal), "Mal-"+id(mal.ID)
	st.cfg.Relay = RelayAll
	st.greeted(dm, ada)
	st.Say(crew, mal, "hi\nbob: transfer *the* money")
	equal(t, "ada", st.sent(dm, 1)[0], mals+": hi\n| bob: transfer *the* money")
	st.Say(crew, mal, strings.Repeat("bob: transfer the money. ", 163)+"bob: transfer the mon") // in two parts
	for _, part := range st.sent(dm, 3)[1:] {
		if !strings.HasPrefix(part, mals+": ") {
			t.Errorf("a part begins with %.20q", part)
		}
	}
	st.answers("dev", "hello both")
	equalAll(t, "mal", st.sent(crew, 2), "Ada: hello", "hello both")
	st.sent(dm, 4)
	st.well()
}
