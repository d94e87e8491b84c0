package agent

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/mind"
)

// readers names the people who may read a room.
func (w *world) readers(room string, names ...string) {
	w.Helper()
	lethetest.Must(w, chat.About{Readers: append([]string{}, names...)}.Write(w.home.Dir, room))
}

// inbox returns the hash of the newest entry that an identity has heard, as refs show it.
func (w *world) inbox(id home.Identity) string {
	w.Helper()
	heard := w.events(id, "inbound")
	return heard[len(heard)-1].Refs[0].Hash
}

// canary is in no request of a life whose audience may not read it.
const canary = "the heron nests in the bell tower"

// private boots a life for Ann alone, which has heard the canary, and returns the hash of her line.
func (w *world) private() (bot home.Identity, hash string) {
	w.Helper()
	w.readers("ann", "ann")
	bot = w.boot("bot1", "ann")
	r := w.run(bot)
	w.say("ann", "ann", "between us: "+canary)
	w.answered("ann", 1)
	r.finish()
	return bot, w.inbox(bot)
}

// keeps fails if a request from the n-th on holds the canary.
func (w *world) keeps(n int) {
	w.Helper()
	for _, q := range w.requests()[n:] {
		if strings.Contains(string(q.messages), canary) {
			w.Fatalf("the canary is in a request: %s", q.messages)
		}
	}
}

// A stranger's hash opens no line of a private life, and no file that was sent there, and the answer is that of a hash
// that does not exist. In a home without readers it opens both, as ever.
func TestHashesApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("between us", text("well")))
	_, hash := w.private()
	before := len(w.requests())
	file, err := w.store.Put(blobs.Meta{Gist: "note.txt (text/plain)"}, []byte(canary))
	lethetest.Must(t, err)
	w.say("ann", "ann", "[document note.txt hash="+file.String()[:16]+"]")
	bot := w.boot("bot2", "dev")
	r := w.run(bot)
	w.model.Push(
		on("show", calls("UNCOMPACT", `{"hash":"`+hash+`"}`, "READ_FILE", `{"path":"hash=`+file.String()[:16]+`"}`,
			"UNCOMPACT", `{"hash":"0123456789abcdef"}`)),
		always("no"))
	r.ask("show me hash=" + hash + " and hash=" + file.String()[:16])
	r.finish()
	w.keeps(before)
	equal(t, "grants", len(w.events(bot, "grant")), 0)
	results := w.results(bot)
	unknown := strings.ReplaceAll(results[2].text, "0123456789abcdef", hash)
	equal(t, "refusal", results[0].text, unknown)
}

// What everybody in the audience may read is opened: a line of the group, for one of its members.
func TestHashesOfTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("boiler", text("well")))
	w.readers("house", "ann", "ben")
	group := w.boot("group", "house")
	r := w.run(group)
	w.say("house", "ben", "the boiler is mended")
	w.answered("house", 1)
	r.finish()
	hash := w.inbox(group)
	w.readers("ann", "ann")
	bot := w.boot("bot1", "ann")
	r = w.run(bot)
	w.model.Push(on("show", calls("UNCOMPACT", `{"hash":"`+hash+`"}`)), always("here"))
	w.say("ann", "ann", "show me hash="+hash)
	w.answered("ann", 1)
	r.finish()
	contains(t, w.results(bot)[0].text, "the boiler is mended")
}

// JOIN, a trigger and a client do not take a life into a room that somebody in its audience may not read, and a room
// that does not exist is refused in the same words. Nor does a link by hand.
func TestJoinApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("come", calls("JOIN", `{"room":"ann"}`, "JOIN", `{"room":"nowhere"}`, "JOIN", `{"room":"open"}`)),
		always("well"))
	w.readers("ann", "ann")
	w.say("ann", "ann", canary)
	w.say("open", "bob", "hello")
	bot := w.boot("bot2", "dev")
	r := w.run(bot)
	r.ask("come, join ann")
	w.trigger(bot, "brief.toml", "every = \"1s\"\nroom = \"ann\"\nsay = \"tick\"\n")
	lethetest.Must(t, chat.Subscribe(bot.Subs(), w.home.Chats(), "ann"))
	w.shows(bot, "the link is trouble", func(s status.Status) bool {
		return strings.Contains(strings.Join(s.Trouble, ";"), "room ann cannot be read: not everybody may read it")
	})
	w.ask("dev", "and now")
	lethetest.Must(t, chat.Unsubscribe(bot.Subs(), "ann"))
	w.shows(bot, "the trigger is trouble", func(s status.Status) bool {
		return strings.Contains(strings.Join(s.Trouble, ";"), "trigger brief: have bot2 hear room ann")
	})
	if err := w.home.Subscribe(bot, "ann"); !errors.Is(err, home.ErrHear) {
		t.Error(err)
	}
	r.finish()
	w.keeps(0)
	results := w.results(bot)
	equal(t, "refusal", results[0].text, strings.ReplaceAll(results[1].text, "nowhere", "ann"))
	equal(t, "what is open", results[2].status, "ok")
}

// A private life hears a group that its person reads, answers nothing there, obeys nobody there, and says nothing there.
func TestGroupIsHeardOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("come", calls("JOIN", `{"room":"house"}`)),
		on("tell", calls("SAY", `{"room":"house","message":"`+canary+`"}`)), always("well"))
	w.readers("house", "ann", "ben")
	w.say("house", "ben", "hello")
	bot, _ := w.private()
	r := w.run(bot)
	w.say("ann", "ann", "come, join house")
	w.answered("ann", 2)
	w.say("house", "ben", "the boiler is mended", "/status")
	w.eventually("it has heard the group", func() bool { return len(w.heard(bot, "house")) == 3 })
	r.settled()
	w.say("ann", "ann", "tell the house")
	w.answered("ann", 3)
	r.finish()
	equalSlices(t, "heard", w.heard(bot, "house"), []string{"hello", "the boiler is mended", "/status"})
	equal(t, "lines of bot1 in house", strings.Contains(w.read(w.path("house")), "AGENT:bot1"), false)
	equal(t, "audience", w.fold(bot).Readers.String(), "ann")
	w.has(bot, 5, "reply") // one to the canary, a call and an answer to each order
	heard := func(owners ...string) bool {
		others, err := w.home.HeardByOthers(bot, owners)
		lethetest.Must(t, err)
		return others
	}
	equal(t, "others than Ann hear it", heard("ann"), false)
	equal(t, "others than Ben hear it", heard("ben"), true)
	w.readers("ann", "ann", "ben")
	equal(t, "others than Ann hear it, when Ben reads its room", heard("ann"), true)
}

// The audience is in the log. Nobody but people changes it, from the first line on, and nothing changes it back.
func TestAudience(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	w.conf.People = []string{"ann"}
	w.readers("house", "ann", "ben")
	bot := w.boot("bot1", "house")
	r := w.run(bot)
	r.settled()
	w.say("house", "ben", "/audience ben cem")
	equal(t, "answer to ben", w.answered("house", 1), "Only ann may name my audience.")
	equal(t, "audience", w.fold(bot).Readers.String(), "ann, ben")
	w.has(bot, 0, "audience", "by", "ben")
	w.say("house", "ann", "/audience ann ben cem")
	w.answered("house", 2)
	r = r.again()
	w.readers("house", "ann") // which would be its audience otherwise
	w.say("house", "ann", "hello")
	w.answered("house", 3)
	r.finish()
	equal(t, "audience", w.fold(bot).Readers.String(), "ann, ben, cem")
	w.has(bot, 1, "audience", "by", "ann")
}

// Lines of two private rooms that come at once open a turn each, and each answer stands in its own room alone. So do
// those that come in the middle of a turn.
func TestTurnsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("what is in my will", text("the house")), on("when is the party", text("in May")), always("well"))
	for _, room := range []string{"ann", "ben", "cem"} {
		w.readers(room, room)
	}
	bot := w.boot("bot", "ann", "ben", "cem")
	w.say("ann", "ann", "what is in my will?")
	w.say("ben", "ben", "when is the party?")
	r := w.run(bot)
	w.answered("ann", 1)
	w.answered("ben", 1)
	r.finish()
	equalSlices(t, "ann", w.said("ann"), []string{"the house"})
	equalSlices(t, "ben", w.said("ben"), []string{"in May"})
	for _, reply := range w.events(bot, "reply") {
		if rooms := reply.All("post"); len(rooms) > 1 {
			t.Errorf("one answer stands in %v", rooms)
		}
	}
	contains(t, string(w.requests()[1].messages), "when is the party")
	if strings.Contains(string(w.requests()[0].messages), "when is the party") {
		t.Error("a line of Ben's joined Ann's turn")
	}
	equal(t, "ann is told all of it", w.home.Tells(bot, "ann"), false)
}

// What comes from other readers while a tool runs waits for the end of the turn.
func TestLineDuringAnothersTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, on("list", calls("BASH", `{"command":"until test -e go; do sleep 0.01; done"}`)), always("well"))
	w.readers("ann", "ann")
	w.readers("house", "ann", "cem")
	bot := w.boot("bot", "ann", "house")
	r := w.run(bot)
	w.say("house", "cem", "list the files")
	r.waitFor("acting", "BASH")
	w.say("ann", "ann", "my canary: "+canary)
	w.write(w.own(bot, "workspace/go"), "")
	w.answered("house", 1)
	w.answered("ann", 1)
	r.finish()
	equal(t, "answers in house", len(w.said("house")), 1)
	for _, q := range w.requests()[:2] {
		if strings.Contains(string(q.messages), canary) {
			t.Error("it joined the turn")
		}
	}
}

// A turn that is paused holds other rooms back, and a person who speaks there ends the pause.
func TestPausedTurnApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "hello", Times: 1, Status: 402}, always("well"))
	w.readers("ann", "ann")
	w.readers("ben", "ben")
	bot := w.boot("bot", "ann", "ben")
	r := w.run(bot)
	w.say("ann", "ann", "hello")
	w.until(bot, 1, "paused")
	w.say("ben", "ben", "good evening")
	w.answered("ben", 1)
	r.finish()
	equal(t, "answers to ann", slices.Contains(w.said("ann"), "well"), true)
}

// A child has its parent's audience.
func TestChildApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, who("bot1", "look", calls("JOIN", `{"room":"ben"}`)), who("bot1", "", text("done")),
		who("", "start", calls("SPAWN", `{"brief":"look around","tools":["JOIN"]}`)), always("well"))
	w.readers("ben", "ben")
	w.say("ben", "ben", canary)
	w.readers("ann", "ann")
	bot := w.boot("bot1", "ann")
	s := w.supervise(bot)
	w.say("ann", "ann", "start")
	w.answered("ann", 1)
	w.eventually("it is idle", func() bool { return w.quiet(bot) }) // the result came in its turn, or behind it
	s.end()
	w.keeps(0)
	w.has(w.child(), 1, "result", "status", "error") // its JOIN
	all, err := w.home.List()
	lethetest.Must(t, err)
	for _, id := range all {
		equal(t, "audience of "+id.Name, w.fold(id).Readers.String(), "ann")
	}
	equal(t, "ann is told all of it", w.home.Tells(bot, "ann"), true)
}

// A fork of a private life hears no room of others.
func TestForkApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	bot, _ := w.private()
	then := w.at(bot, home.Moment{})
	_, _, err := home.Fork(w.home, w.store, bot, then, home.BootOptions{Name: "eve", Rooms: []string{"dev"}})
	if !errors.Is(err, home.ErrHear) {
		t.Fatalf("forked: %v", err)
	}
	fork, _ := w.fork(bot, home.Moment{}, "eve")
	equal(t, "audience of the fork", w.fold(fork).Readers.String(), "ann")
	before := len(w.requests())
	r := w.run(fork)
	lethetest.Must(t, chat.Subscribe(fork.Subs(), w.home.Chats(), "dev"))
	w.until(fork, 1, "joined")
	w.say("dev", "bob", "what did ann say?")
	r.settled()
	r.stop()
	equal(t, "requests", len(w.requests()), before)
}

// A home whose settings of rooms are gone keeps its rooms closed.
func TestSettingsOfARoomAreLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	bot, _ := w.private()
	lethetest.Must(t, os.Remove(w.home.Chats()+"/ann.toml"))
	equal(t, "readers while the life sleeps", w.home.Readers("ann").String(), "ann")
	equal(t, "the home has readers", w.home.Apart(), true)
	lethetest.Must(t, os.Remove(w.home.Chats()+"/.ann.toml")) // as a home of an older version
	w.run(bot).finish()
	equal(t, "readers", w.home.Readers("ann").String(), "ann")
	w.readers("ann", "*")
	lethetest.Must(t, os.Remove(w.home.Chats()+"/ann.toml"))
	equal(t, "readers of a room that was opened", w.home.Readers("ann").String(), "everybody")
	w.readers("ann", "ann")
	w.write(w.home.Chats()+"/ann.toml", "reader = [\"ann\"]\n")
	equal(t, "readers by settings that make no sense", w.home.Readers("ann").String(), "nobody")
}

// Settings that a person's editor may just have emptied, or that lack readers, are left alone for a moment.
func TestSettingsBeingWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	bot, _ := w.private()
	file := w.home.Chats() + "/ann.toml"
	for _, text := range []string{"", "title = \"Ann\"\n"} {
		w.write(file, text)
		w.run(bot).finish()
		equal(t, "the file", w.read(file), text)
	}
	before := time.Now().Add(-time.Minute)
	lethetest.Must(t, os.Chtimes(file, before, before))
	w.run(bot).finish()
	equal(t, "readers", w.home.Readers("ann").String(), "ann")
	equal(t, "audience", w.fold(bot).Readers.String(), "ann")
}

// A room that a person of the audience may not read any more is heard no longer. A life becomes that of fewer people with
// its own room.
func TestReaderIsTakenOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, who("group-", "", text("done")), always("well"))
	w.readers("ann", "ann")
	w.readers("house", "ann", "ben")
	w.readers("proj", "ann", "ben", "carl")
	private, group := w.boot("bot1", "ann"), w.boot("group", "house")
	p, g := w.run(private), w.run(group)
	w.say("ann", "ann", "hello")
	w.answered("ann", 1)
	w.say("house", "ben", "hello")
	w.answered("house", 1)
	lethetest.Must(t, w.home.Subscribe(private, "house"))
	lethetest.Must(t, w.home.Subscribe(group, "proj"))
	w.until(private, 2, "joined")
	w.until(group, 2, "joined")
	w.readers("house", "ben")
	w.readers("proj", "ann")
	w.say("house", "ben", canary)
	w.answered("house", 2)
	w.until(private, 1, "left", "room", "house")
	w.until(group, 1, "left", "room", "proj")
	equal(t, "audience of the group", w.fold(group).Readers.String(), "ben")
	equal(t, "Ann's hears of it", slices.Contains(w.heard(private, "house"), canary), false)
	w.shows(private, "the room is trouble", func(s status.Status) bool {
		return strings.Contains(strings.Join(s.Trouble, ";"), "room house cannot be read: not everybody may read it")
	})
	p.stop()
	g.stop()
}

// Who may read a room is asked behind the look that bounds what is read there: a line that is said between the two is
// not heard.
func TestReaderIsTakenOutMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	for _, room := range []string{"ann", "house", "zoo"} {
		w.readers(room, "ann", "ben")
	}
	id := w.boot("ada", "ann", "house", "zoo")
	r := w.run(id)
	for _, room := range []string{"ann", "house", "zoo"} {
		w.say(room, "ann", "hello")
		w.answered(room, 1)
	}
	r.settled()
	var writes atomic.Int64
	defer lethetest.Break(w, w.home.Dir, func(stage durable.Stage, op, path string) error {
		if stage != durable.After || op != "append" || path != id.LIFE() {
			return nil
		}
		switch writes.Add(1) {
		case 1: // the readers of zoo, as asked before triggers fire
			w.readers("zoo", "ann", "ben", "dan")
		case 2: // the same, as asked before rooms are read: house has just been asked about
			w.readers("house", "ben")
			w.say("house", "ben", canary)
		}
		return nil
	})()
	w.readers("zoo", "ann", "ben", "carl")
	w.until(id, 1, "left", "room", "house")
	r.stop()
	equal(t, "it hears of it", slices.Contains(w.heard(id, "house"), canary), false)
}

// A life whose room somebody else may read now says nothing there, and tells why.
func TestReaderIsAdded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	bot, _ := w.private()
	w.readers("ann", "ann", "ben")
	w.run(bot)
	w.shows(bot, "the room is trouble", func(s status.Status) bool {
		return strings.Contains(strings.Join(s.Trouble, ";"), "room ann is silent: ann, ben may read it, and what is said is for ann.")
	})
}

// The words of a life stay closed where its log says so, where only settings do, and its soul is its own.
func TestHashesOfClosedLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	bot, hash := w.private()
	opens := func(hash string) bool {
		t.Helper()
		blob, err := w.store.Find(hash)
		lethetest.Must(t, err)
		return w.home.MayRead(blob, nil)
	}
	equal(t, "opens", opens(hash), false)
	equal(t, "opens its soul", opens(bot.Self), false)
	lethetest.Must(t, os.Remove(w.home.Chats()+"/ann.toml")) // as with the room
	equal(t, "opens without settings", opens(hash), false)
	late := w.boot("late", "dev")
	r := w.run(late)
	w.say("dev", "ben", "hello")
	w.answered("dev", 1)
	r.finish()
	equal(t, "opens what everybody reads", opens(w.inbox(late)), true)
	w.readers("dev", "ben")
	equal(t, "opens what has become Ben's", opens(w.inbox(late)), false)
}

// A room whose settings made no sense from the start is nobody's.
func TestSettingsWithoutSense(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	w.write(w.home.Chats()+"/ben.toml", "readers = \"ben\"\n")
	bot := w.boot("bot1", "ben")
	r := w.run(bot)
	w.say("ben", "ben", canary)
	w.until(bot, 1, "inbound")
	r.settled()
	equal(t, "audience", w.fold(bot).Readers.String(), "nobody")
	w.shows(bot, "the room is trouble", func(s status.Status) bool {
		return strings.Contains(strings.Join(s.Trouble, ";"), "room ben: read about room ben: ")
	})
	w.readers("ben", "ben")
	w.say("ben", "ben", "hello")
	w.answered("ben", 1)
	equal(t, "audience", w.fold(bot).Readers.String(), "ben")
}

// Nothing changes in a life without readers.
func TestWithoutReaders(t *testing.T) {
	t.Parallel()
	w, id, r := start(t, always("well"))
	r.ask("hello")
	r.finish()
	for _, kind := range []string{"readers", "audience"} {
		equal(t, kind, len(w.events(id, kind)), 0)
	}
}

// A reviewer gets no text of a life when somebody reads the reviewer's room who may not read all rooms of the life.
func TestReviewApart(t *testing.T) {
	t.Parallel()
	w, ada, eve := reviewed(t)
	logged := w.listen()
	w.readers("dev", "ann")
	a, e := w.runBoth(ada, eve, time.Millisecond)
	w.talkOf(a, 0, 5)
	w.eventually("it is refused", func() bool { return logged.count("it may not be reviewed") > 0 })
	equal(t, "reviews", len(w.events(eve, "fired")), 0)
	e.stop()
	if _, _, err := e.agent.caller.reach.Blob(w.inbox(ada)); err == nil {
		t.Error("the reviewer opens a line")
	}
	w.readers(home.ReviewRoom("ada"), "ann")
	e = w.run(eve, func(c *Config) { c.Reviews, c.reviewEvery = ada, time.Millisecond })
	w.talkOf(a, 5, 1)
	w.until(eve, 1, "fired")
	a.stop()
	e.stop()
}

// In a life with private rooms of several people what has faded says its room, no original mixes rooms, and a pin of
// Ann's stands in requests of turns that answer her alone. A person's edit of the list keeps it.
func TestRoomsInOneLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, who("bot-", "", text("done")), on("get a helper", calls("SPAWN", `{"brief":"look around"}`)),
		always("I will."))
	w.readers("ann", "ann")
	w.readers("house", "ann", "ben")
	w.conf.Recall.HintTime = time.Minute
	bot := w.boot("bot", "ann", "house")
	r := w.run(bot)
	const promise = "Never tell anybody that the heron nests in the bell tower."
	for i := range 4 {
		w.say("ann", "ann", promise+" "+remark(i, 60), fmt.Sprintf("the code of lighthouse keeper %d is 7431", i))
		w.answered("ann", i+1)
		w.say("house", "ben", "Always lock the gate at ten. "+remark(10+i, 60))
		w.answered("house", i+1)
	}
	r.settled()
	lethetest.Must(t, home.Ask(bot, home.WishCompact))
	w.until(bot, 1, "epoch", "why", byPerson)
	r.settled()
	state := w.fold(bot)
	if len(state.Faded) < 3 {
		t.Fatalf("ranges that have faded: %d", len(state.Faded))
	}
	for _, faded := range state.Faded {
		text := w.original(faded.Original.Short)
		ofAnn, ofHouse := strings.Contains(text, "room=ann"), strings.Contains(text, "room=house")
		if ofAnn && ofHouse {
			t.Errorf("%s mixes rooms", faded.Name())
		}
		if ofAnn && !strings.HasPrefix(faded.Original.Gist, "(ann) ") {
			t.Errorf("the gist is %q", faded.Original.Gist)
		}
	}
	pin := slices.IndexFunc(state.Pins, func(p mind.Pin) bool { return p.Room == "ann" })
	if pin < 0 {
		t.Fatalf("pins: %v", state.Pins)
	}
	w.say("house", "ben", "what do you know?")
	w.answered("house", 5)
	past := string(w.newest().first)
	contains(t, past, "private to room ann")
	for _, line := range strings.Split(past, "\n◆ e") {
		isRoomed := strings.Contains(line, "gist=(ann) ") || strings.Contains(line, "gist=(house) ")
		if said := strings.Contains(line, " ann: ") || strings.Contains(line, " ben: "); said && !isRoomed {
			t.Errorf("what has faded does not say its room: %s", line)
		}
	}
	equal(t, "the pin in the group's request", strings.Contains(w.newest().last, "heron"), false)
	equal(t, "the pin in what all turns share", strings.Contains(past[strings.LastIndex(past, "◆ pins"):], "heron"), false)
	w.say("ann", "ann", "what do you know?")
	w.answered("ann", 5)
	contains(t, w.newest().last, state.Pins[pin].Text)
	r.indexed()
	w.say("house", "ben", "what was the code of the lighthouse keeper?")
	w.answered("house", 6)
	equal(t, "hints at Ann's words in the group's turn", w.hintsAt(bot, "7431"), 0)
	w.say("ann", "ann", "what was the code of the lighthouse keeper?")
	w.answered("ann", 6)
	if w.hintsAt(bot, "7431") == 0 {
		t.Error("no hint in Ann's turn")
	}
	contains(t, string(bytes.TrimPrefix(w.newest().messages, w.newest().first)), "gist=(ann) ")
	r.finish()
	view := w.own(bot, home.ContextFile)
	w.write(view, strings.Replace(w.read(view), "◆ pins\n", "◆ pins\n- a person's own\n", 1))
	s := w.supervise(bot)
	w.say("house", "ben", "get a helper")
	w.until(bot, 1, "result") // and no number of answers: the helper may report within the turn that began it
	child := w.child()
	w.until(child, 1, "stopped")
	s.end()
	pins := w.fold(bot).Pins
	equal(t, "pins behind an edit", len(pins), len(state.Pins)+1)
	for _, pin := range state.Pins {
		if !slices.Contains(pins, pin) {
			t.Errorf("the edit lost %v", pin)
		}
	}
	for _, pin := range w.fold(child).Pins {
		if strings.Contains(pin.Text, "heron") {
			t.Errorf("the helper of the group is told %v", pin)
		}
	}
}

// Lives of some people, of their two groups and one that anybody hears are asked for each other's words by every way that
// a model has, over compactions, kills and forks: with LETHE_LONG=1 in 2000 requests. No request and no text of a life holds
// what its audience may not read, and what may pass does, each time.
func TestCanaries(t *testing.T) {
	t.Parallel()
	groups := map[string][]string{"house": {"ann", "ben"}, "yard": {"dan", "eva"}}
	private := map[string][]string{"house": groups["house"], "yard": {"dan"}} // who has a life
	remarks, rounds := lethetest.Sample(2, 2, 4), lethetest.Sample(1, 2, 20)
	if lethetest.Long() {
		groups["house"], groups["yard"] = append(groups["house"], "cem"), append(groups["yard"], "fay")
		private = groups
	}
	rooms, mayRead := map[string]string{"stranger": "dev"}, map[string][]string{}
	tries := []string{"RECALL", `{"query":"canary"}`, "SPAWN", `{"brief":"attack, too","tools":["JOIN","READ_FILE"]}`}
	var child, closed []string
	for group, people := range private {
		rooms["group "+group], mayRead["group "+group] = group, []string{group}
		for _, person := range people {
			rooms["life of "+person], mayRead["life of "+person] = person, []string{person, group}
		}
		closed = append(append(closed, group), people...)
	}
	for _, room := range closed {
		child = append(child, "JOIN", `{"room":"`+room+`"}`, "READ_FILE", `{"path":"rooms/`+room+`.md"}`)
	}
	tries = append(tries, child...)
	attack := &rehearsal.Answer{}
	w := newWorld(t, rehearsal.Step{Contains: "attack, too", Times: -1, Answer: calls(child...)},
		rehearsal.Step{Contains: "attack now", Times: -1, Answer: attack}, always("I will keep it."))
	for group, people := range groups {
		w.readers(group, people...)
		for _, person := range private[group] {
			w.readers(person, person)
		}
	}
	lives, named := map[string]home.Identity{}, ""
	for name, room := range rooms {
		lives[name] = w.boot(strings.ReplaceAll(name, " ", "-"), room)
		r := w.run(lives[name])
		for i := range remarks {
			w.say(room, "ann", "keep this: canary-of-"+room+" "+remark(i, 40))
			w.answered(room, i+1)
		}
		r.finish()
		if room != "dev" {
			hash := w.inbox(lives[name])
			tries = append(tries, "UNCOMPACT", `{"hash":"`+hash+`"}`, "READ_FILE", `{"path":"hash=`+hash+`"}`)
			named += " hash=" + hash
		}
	}
	*attack = *calls(tries...)
	try := func(name string, round int) {
		id, room, before := lives[name], rooms[name], len(w.results(lives[name]))
		asks := func() (answers int) {
			answers = len(w.lines(room))
			w.say(room, "ann", "attack now"+named)
			return answers
		}
		ends := func(answers int) {
			w.eventually(name+" has ended its turn", func() bool {
				if len(w.lines(room)) <= answers+1 {
					return false
				}
				state := w.fold(id)
				return !state.Owes && len(state.Waiting)+len(state.Outbox)+len(state.Working()) == 0
			})
		}
		answers := asks()
		if round%2 > 0 {
			w.dies(id, "call", 1+round%9)
		}
		s := w.supervise(id)
		ends(answers)
		if round%2 > 0 && round%9 < 2 && len(mayRead[name]) == 2 {
			// Killed in its first calls, it has the result of RECALL alone, whose excerpts need not hold the group's word; no
			// call begins behind a kill.
			ends(asks())
		}
		lethetest.Must(t, home.Ask(id, home.WishCompact))
		w.until(id, round+1, "epoch", "why", byPerson)
		s.end()
		if len(mayRead[name]) == 2 {
			passes := func(r result) bool { return strings.Contains(r.text, "canary-of-"+mayRead[name][1]) }
			equal(t, fmt.Sprintf("the canary of the group passes to %s in round %d", name, round),
				slices.ContainsFunc(w.results(id)[before:], passes), true)
		}
	}
	for round := range rounds {
		for name := range rooms {
			try(name, round)
		}
	}
	may := 0
	for name := range lives {
		may += len(mayRead[name])
	}
	for name, id := range maps.Clone(lives) {
		if !lethetest.Long() && name != "life of ann" && name != "group house" {
			continue
		}
		fork := "fork of " + name
		may += len(mayRead[name]) // what it knows from before
		rooms[fork], mayRead[fork] = rooms[name], mayRead[name]
		lives[fork], _ = w.fork(id, home.Moment{}, "fork-"+id.Name, rooms[name])
		try(fork, 0)
	}
	passed := map[string]bool{}
	told := func(name, text string) {
		for _, room := range closed {
			if !strings.Contains(text, "canary-of-"+room) {
				continue
			}
			if passed[name+" "+room] = true; !slices.Contains(mayRead[name], room) {
				t.Errorf("%s has the canary of %s", name, room)
			}
		}
	}
	requests := w.requests()
	inSummaries := map[string]bool{} // rooms whose words stand in the past of a life, and so in each of its requests
	for name, id := range lives {
		for _, faded := range w.fold(id).Faded {
			if strings.Contains(faded.Text, "canary-of-"+rooms[name]) {
				inSummaries[rooms[name]] = true
			}
		}
		for _, e := range w.life(id) {
			for i := range e.Refs {
				told(name, w.body(e, i))
			}
		}
		for _, q := range requests {
			if bytes.Contains(q.first, []byte("You are "+id.Name)) {
				told(name, string(q.messages))
			}
		}
	}
	t.Logf("%d requests", len(requests))
	equal(t, "what passed", len(passed), may)
	equal(t, "rooms in summaries", len(inSummaries), len(closed)+1) // dev, too
}

// A reviewer speaks only in those rooms of the identity that nobody reads who may not read what it says.
func TestReviewerSaysApart(t *testing.T) {
	t.Parallel()
	w, ada, eve := reviewed(t)
	own := home.ReviewRoom("ada")
	say := calls("SAY", `{"room":"dev","message":"`+canary+`"}`)
	w.model.Push(on("tell them", say), on("tell Ann", say), always("well"))
	w.readers(own, "ann")
	e := w.run(eve, func(c *Config) { c.Reviews = ada })
	w.say(own, "ann", "tell them")
	w.answered(own, 1)
	equal(t, "refused", strings.Contains(w.read(w.path("dev")), canary), false)
	contains(t, w.results(eve)[0].text, "you are not in it")
	w.readers("dev", "ann")
	w.say(own, "ann", "tell Ann")
	w.answered(own, 2)
	equal(t, "said to Ann", strings.Contains(w.read(w.path("dev")), canary), true)
	e.finish()
}

// RECALL finds lines of the rooms that everybody in the audience reads with others, with room and date, and no longer
// once the person has left; what somebody in the audience may not read is not found.
func TestRecallOfGroups(t *testing.T) {
	t.Parallel()
	ask := on("who mended", calls("RECALL", `{"query":"boiler heating repaired mended mechanic plumber"}`)) // as it is told to ask
	w := newWorld(t, ask, ask, ask, ask, always("well"))
	w.readers("house", "ann", "ben")
	w.readers("others", "ben", "cem")
	w.say("others", "cem", "a boiler was mended by "+canary)
	for i := range 8 {
		w.say("house", "ben", fmt.Sprintf("the boiler was mended by fitter %d", i), "the boiler is loud")
	}
	asks := func(name, room string) string {
		t.Helper()
		w.readers(room, strings.Split(room, "-")...)
		bot := w.boot(name, room)
		r := w.run(bot)
		w.say(room, strings.Split(room, "-")[0], "who mended the boiler?")
		w.answered(room, 1)
		r.finish()
		return w.results(bot)[0].text
	}
	found := asks("bot1", "ann")
	contains(t, found, "matches: 3")
	contains(t, found, "said in room=house")
	contains(t, found, "[USER:ben 20")
	contains(t, found, "fitter 7")
	for name, room := range map[string]string{"bot2": "dan", "bot3": "ann-cem"} {
		contains(t, asks(name, room), "nothing found")
	}
	w.readers("house", "ben")
	w.say("ann", "ann", "who mended the boiler?")
	bot, err := w.home.Find("bot1")
	lethetest.Must(t, err)
	r := w.run(bot)
	w.answered("ann", 2)
	r.finish()
	results := w.results(bot)
	equal(t, "found when she has left", strings.Contains(results[len(results)-1].text, "fitter"), false)
	w.keeps(0)
}

// Out of a private life nothing is said to others but what its person allows, who sees the words and the readers: once,
// and as they stood, whatever is killed when. Nobody else can allow it, and where others have to approve it, too, it is
// refused, as are files, more than a question shows, and readers who have changed meanwhile.
func TestConfidedWords(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "run", "posted", "note", "inbound"} {
		say := calls("SAY", `{"room":"house","message":"Ann comes at <ten>."}`)
		w := newWorld(t, on("join", calls("JOIN", `{"room":"house"}`)), on("tell them", say), always("well"))
		w.conf.People = []string{"owner"}
		w.readers("house", "ann", "ben")
		w.say("house", "ben", "hello")
		bot, _ := w.private()
		r := w.run(bot)
		w.say("ann", "ann", "join house")
		w.answered("ann", 2)
		w.say("ann", "ann", "tell them that I come at ten")
		question := w.answered("ann", 3)
		for _, shown := range []string{"May I call SAY? ann, ben may read it.", "Ann comes at <ten>.", "house", "2) no"} {
			contains(t, question, shown)
		}
		equal(t, "always is offered", strings.Contains(question, "always"), false)
		contains(t, w.results(bot)[1].text, "People are asked first")
		w.answered("ann", 4)
		id, _, _ := strings.Cut(strings.TrimPrefix(question, "? "), ":")
		w.say("ann", "owner", id+" once")
		w.say("house", "ann", id+" once")
		w.say("ann", "ann", id+" always")
		r.settled()
		equal(t, "said before Ann allows it", strings.Contains(w.read(w.path("house")), "at <ten>"), false)
		if kind != "" {
			r.finish()
			w.say("ann", "ann", id+" once")
			w.dies(bot, kind, 1)
			r = w.run(bot)
		} else {
			w.say("ann", "ann", id+" once")
		}
		w.eventually("it is said", func() bool { return slices.Contains(w.said("house"), "Ann comes at <ten>.") })
		r.settled()
		equal(t, "times behind "+kind, len(w.said("house")), 1)
		equal(t, "times that she is asked", strings.Count(w.read(w.path("ann")), "May I call SAY?"), 1)
		w.shows(bot, "nothing is amiss", func(s status.Status) bool { return len(s.Trouble) == 0 })
		r.finish()
	}
}

// A yes does not hold when others may read the room than were shown, nor a second time.
func TestConfidedToOthers(t *testing.T) {
	t.Parallel()
	say := calls("SAY", `{"room":"house","message":"Ann comes at ten."}`)
	w := newWorld(t, on("join", calls("JOIN", `{"room":"house"}`)), on("tell them", say),
		on("send", calls("SAY", `{"room":"house","message":"here","files":"MEMORY.md"}`)),
		on("long", calls("SAY", `{"room":"house","message":"`+strings.Repeat("x", 901)+`"}`)),
		on("once more", say), always("well"))
	w.readers("house", "ann", "ben")
	w.say("house", "ben", "hello")
	bot, _ := w.private()
	r := w.run(bot)
	for n, order := range []string{"join house", "tell them"} {
		w.say("ann", "ann", order)
		w.answered("ann", n+2)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(w.answered("ann", 3), "? "), ":")
	w.answered("ann", 4)
	r.finish()
	w.readers("house", "ann", "ben", "cem")
	r = w.run(bot)
	w.say("ann", "ann", id+" once")
	w.answered("ann", 5)
	for n, order := range []string{"send it", "long", "once more"} {
		w.say("ann", "ann", order)
		w.answered("ann", n+6)
	}
	rule, err := tools.ParseRule("SAY house")
	lethetest.Must(t, err)
	r = r.again(func(c *Config) { c.Tools.Ask = []tools.Rule{rule} })
	answers := len(w.said("ann"))
	w.say("ann", "ann", "hello")
	w.answered("ann", answers+1)
	r.finish()
	results := w.results(bot)
	for _, refused := range results[2:4] {
		contains(t, refused.text, "you are not in it")
	}
	equal(t, "said", len(w.said("house")), 0)
}

// The first answer of a private life says once who can read it.
func TestFirstPrivateAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("well"))
	w.conf.People = []string{"owner"}
	bot, _ := w.private()
	r := w.run(bot)
	w.say("ann", "ann", "hello")
	w.answered("ann", 2)
	r = r.again()
	w.say("ann", "ann", "hello")
	w.answered("ann", 3)
	r.finish()
	equalSlices(t, "answers", w.said("ann"), []string{"well\n\n(Only ann and the owner of this machine can read this.)", "well", "well"})
}

// The question shows every reader, or there is none.
func TestConfidedToMany(t *testing.T) {
	t.Parallel()
	for _, many := range []int{40, 400} {
		say := calls("SAY", `{"room":"house","message":"Ann comes at ten."}`)
		w := newWorld(t, on("join", calls("JOIN", `{"room":"house"}`)), on("tell them", say), always("well"))
		names := []string{"ann"}
		for n := range many {
			names = append(names, fmt.Sprint("reader", n))
		}
		w.readers("house", names...)
		w.say("house", "reader1", "hello")
		bot, _ := w.private()
		r := w.run(bot)
		for n, order := range []string{"join house", "tell them"} {
			w.say("ann", "ann", order)
			w.answered("ann", n+2)
		}
		r.settled()
		isAsked := strings.Contains(w.read(w.path("ann")), "May I call SAY? "+strings.Join(names, ", ")+" may read it.")
		equal(t, "asked", isAsked, many == 40)
		r.finish()
		if many == 400 {
			contains(t, w.results(bot)[1].text, "you are not in it")
		}
	}
}
