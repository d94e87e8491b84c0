package telegram

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-telegram/bot/models"

	"lethe/chat"
	"lethe/internal/test/botapi"
)

// One bot, many chats, many rooms: each hears its own.
func TestManyRooms(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	crew := st.crew()
	board := st.Group(models.ChatTypeSupergroup, "Board")
	st.lets("", id(board.ID))
	builds := st.Topic(crew, "builds")
	st.lets("crew", id(crew.ID), id(board.ID))
	st.lets("builds", keyOf(id(crew.ID), builds.Thread))
	st.start()
	for _, where := range []botapi.Chat{ada.dm, crew, board, builds} {
		st.Say(where, ada.User, fmt.Sprintf("in %d.%d", where.ID, where.Thread))
	}
	equalAll(t, "dev", st.hears("dev", 1), fmt.Sprintf("Ada: in %d.0", ada.dm.ID))
	equalAll(t, "builds", st.hears("builds", 1), fmt.Sprintf("Ada: in %d.%d", builds.ID, builds.Thread))
	st.hears("crew", 2)
	for _, room := range []string{"dev", "crew", "builds"} {
		st.answers(room, "to "+room)
	}
	equalAll(t, "ada.dm", ada.got(1), "to dev")
	equalAll(t, "board", st.sent(board, 1), "to crew")
	equalAll(t, "topic", st.sent(builds, 1), "to builds")
	equalAll(t, "crew and its topic", slices.Sorted(slices.Values(st.sent(botapi.Chat{ID: crew.ID}, 2))), "to builds", "to crew")
}

// What was said while the bridge was away goes out when it is back, to every chat
// that had written before.
func TestRestart(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	crew := st.crew()
	r := st.start()
	ada.says("one")
	st.hears("dev", 1)
	st.stop(r)
	equal(t, "healthy", st.health().Ailment() == "", true)
	st.answers("dev", "while you were away")
	equal(t, "healthy, with a line waiting", st.health().Ailment() == "", false)
	ada.says("two")
	st.start()
	equalAll(t, "ada.dm", ada.got(1), "while you were away")
	equalAll(t, "crew", st.sent(crew, 1), "while you were away")
	equalAll(t, "room", st.hears("dev", 3), "Ada: one", "lethe: while you were away", "Ada: two")
}

// A backlog of many batches comes in whole and in order.
func TestBacklog(t *testing.T) {
	const lines = 300
	st := newStage(t)
	var people []models.User
	for i := range 6 { // one of them would be a flood
		people = append(people, st.User(fmt.Sprint("P", i)))
	}
	crew := st.crew()
	for i := range lines {
		st.Say(crew, people[i%len(people)], fmt.Sprintf("line %d", i))
	}
	st.start()
	st.within("all of it", func() bool {
		_, total, _, err := chat.Tail(chat.Path(st.home, "dev"), 1)
		return err == nil && total == lines
	})
	for i, l := range st.lines("dev") {
		if l.Text != fmt.Sprintf("line %d", i) {
			t.Fatalf("line %d is %q", i, l.Text)
		}
	}
}

// A group that becomes a supergroup before it is allowed is let in,
// and told where it is now.
func TestMigratesBeforeAllow(t *testing.T) {
	st := newStage(t)
	ada := st.User("Ada")
	crew := st.Group(models.ChatTypeGroup, "Crew")
	st.start()
	st.ready()
	st.Say(crew, ada, "/start")
	told := st.sent(crew, 1)[0]
	super := st.Migrate(crew)
	st.quiet()
	st.allow(told, "")
	has(t, "welcome", st.sent(super, 1)[0], "let in")
	st.Say(super, ada, "hello")
	equalAll(t, "room", st.hears("dev", 1), "Ada-"+id(ada.ID)+": hello")
	st.answers("dev", "welcome")
	equal(t, "answer", st.sent(super, 2)[1], "welcome")
}
