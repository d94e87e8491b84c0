package telegram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/botapi"
)

// One bot, many chats, many rooms: each hears its own.
func TestManyRooms(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	crew := st.crew(ada)
	board := st.Supergroup("Board", ada)
	st.cfg.Chats = append(st.cfg.Chats, id(board.ID))
	builds := st.Topic(crew, "builds")
	st.cfg.Routes = []Route{{Chat: id(crew.ID), Room: "crew"}, {Chat: id(crew.ID), Topic: builds.Thread, Room: "builds"}, {Chat: id(board.ID), Room: "crew"}}
	st.start()
	for _, where := range []botapi.Chat{dm, crew, board, builds} {
		st.Say(where, ada, fmt.Sprintf("in %d.%d", where.ID, where.Thread))
	}
	equalAll(t, "dev", st.hears("dev", 1), fmt.Sprintf("Ada: in %d.0", dm.ID))
	equalAll(t, "builds", st.hears("builds", 1), fmt.Sprintf("Ada: in %d.%d", builds.ID, builds.Thread))
	st.hears("crew", 2)
	for _, room := range []string{"dev", "crew", "builds"} {
		st.answers(room, "to "+room)
	}
	equalAll(t, "dm", st.sent(dm, 1), "to dev")
	equalAll(t, "board", st.sent(board, 1), "to crew")
	equalAll(t, "topic", st.sent(builds, 1), "to builds")
	equalAll(t, "crew and its topic", slices.Sorted(slices.Values(st.sent(botapi.Chat{ID: crew.ID}, 2))), "to builds", "to crew")
	st.well()
}

// A room that an approval names is a route; the configuration's wins; neither needs
// a restart of the bridge.
func TestRoomOfApproval(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	mal, eve := st.User("Mal", ""), st.User("Eve", "")
	mals, eves := st.Private(mal), st.Private(eve)
	st.cfg.Routes = []Route{{Chat: id(eve.ID), Room: "fixed"}}
	st.start()
	st.Say(mals, mal, "hi")
	st.Say(eves, eve, "hi")
	st.approve(st.sent(mals, 1)[0], "ops")
	st.approve(st.sent(eves, 1)[0], "ops")
	st.Say(mals, mal, "one")
	st.Say(eves, eve, "one")
	equalAll(t, "ops", st.hears("ops", 1), "Mal: one")
	equalAll(t, "fixed", st.hears("fixed", 1), "Eve: one")

	// The owner edits the room.
	people := st.file("people.json")
	data, err := os.ReadFile(people)
	if err != nil {
		t.Fatal(err)
	}
	st.answers("lab", "before you came")
	edited := people + ".new"
	if err := os.WriteFile(edited, []byte(strings.Replace(string(data), `"room": "ops"`, `"room": "lab"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(edited, people); err != nil {
		t.Fatal(err)
	}
	st.Say(mals, mal, "two")
	st.within("he is in the lab", func() bool { return len(st.lines("lab")) == 2 })
	st.answers("lab", "welcome to the lab")
	st.within("he hears it", func() bool { return strings.Contains(strings.Join(st.Texts(mals), "\n"), "welcome to the lab") })
	st.answers("ops", "not to him")
	st.answers("lab", "the end")
	st.within("he hears it", func() bool { return strings.Contains(strings.Join(st.Texts(mals), "\n"), "the end") })
	for _, text := range st.Texts(mals) {
		if text == "not to him" || text == "before you came" {
			t.Errorf("he hears %q", text)
		}
	}
	st.well()
}

// What was said while the bridge was away goes out when it is back, to every chat
// that had written before.
func TestRestart(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	crew := st.crew(ada)
	r := st.start()
	st.Say(dm, ada, "one")
	st.hears("dev", 1)
	st.stop(r)
	equal(t, "healthy", st.health().Healthy(), true)
	st.answers("dev", "while you were away")
	equal(t, "healthy, with a line waiting", st.health().Healthy(), false)
	st.Say(dm, ada, "two")
	st.start()
	equalAll(t, "dm", st.sent(dm, 1), "while you were away")
	equalAll(t, "crew", st.sent(crew, 1), "while you were away")
	equalAll(t, "room", st.hears("dev", 3), "Ada: one", "lethe: while you were away", "Ada: two")
	st.well()
}

// Who writes faster than he may is delayed, told so once, and loses nothing.
func TestFlood(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.Flood = bridge.Flood{User: bridge.Rate{Lines: 3, Per: time.Second}}
	var want []string
	for i := range 7 { // they come as one batch
		st.Say(dm, ada, fmt.Sprintf("line %d", i))
		want = append(want, fmt.Sprintf("Ada: line %d", i))
	}
	st.start()
	has(t, "notice", st.sent(dm, 1)[0], "Nothing is lost")
	equalAll(t, "room", st.hears("dev", 7), want...)
	st.quiet()
	st.sent(dm, 1)
	st.well()
}

// A backlog of many batches comes in whole and in order.
func TestBacklog(t *testing.T) {
	t.Parallel()
	const lines = 1000
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	for i := range lines {
		st.Say(dm, ada, fmt.Sprintf("line %d", i))
	}
	st.start()
	st.within("all of it", func() bool {
		_, total, _, err := chat.Tail(chat.Path(st.home, "dev"), 1)
		time.Sleep(50 * time.Millisecond) // looking costs as much as the bridge does
		return err == nil && total == lines
	})
	for i, l := range st.lines("dev") {
		if l.Text != fmt.Sprintf("line %d", i) {
			t.Fatalf("line %d is %q", i, l.Text)
		}
	}
	st.well()
}

// A message that goes to another room than its chat hears so far waits until the
// chat hears that one: its answer could be missed otherwise.
func TestSettle(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	s, hub := st.session()
	defer hub.Close()
	s.voices.setPeers(map[string]string{"7": "dev"})
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.settle(ctx, []bridge.Message{{Peer: "7", Room: "dev"}, {Peer: "8", Room: "ops"}}); err != nil || len(s.nudge) > 0 {
		t.Errorf("it asked for a change where there is none: %v", err)
	}
	cancel()
	if err := s.settle(ctx, []bridge.Message{{Peer: "8", Room: "dev"}, {Peer: "7", Room: "ops"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait: %v", err)
	}
}

// A list that is gone lists nobody.
func TestListIsGone(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	mal := st.User("Mal", "")
	dm := st.Private(mal)
	st.start()
	st.Say(dm, mal, "hi")
	st.approve(st.sent(dm, 1)[0], "")
	st.sent(dm, 2)
	if err := os.Remove(st.file("people.json")); err != nil {
		t.Fatal(err)
	}
	position := st.file("peers/" + id(mal.ID) + ".json")
	st.within("he is forgotten", func() bool { _, err := os.Stat(position); return os.IsNotExist(err) })
}
