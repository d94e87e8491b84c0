package mind

import (
	"slices"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/life/event"
)

// owes is what a state owes, in words.
func owes(s *State) string {
	d := s.Owed()
	var out []string
	for _, p := range d.Posts {
		out = append(out, "post "+p.ID+" "+p.Room)
	}
	for _, c := range d.Calls {
		word := "call "
		if c.Call.Started {
			word = "started "
		}
		out = append(out, word+c.ID())
	}
	if d.Answer {
		out = append(out, "answer")
	}
	return strings.Join(out, ", ")
}

func wantOwes(t *testing.T, w *world, want string) {
	t.Helper()
	if got := owes(w.state); got != want {
		t.Errorf("owes %q, want %q", got, want)
	}
	if got := owes(w.fold()); got != want {
		t.Errorf("after a resume it owes %q, want %q", got, want)
	}
}

// room returns a world that hears room dev and owes nothing.
func inDev(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.join("dev")
	wantOwes(t, w, "")
	return w
}

func heard(t *testing.T) *world {
	t.Helper()
	w := inDev(t)
	w.hear("dev", "ada", "hello")
	wantOwes(t, w, "answer")
	return w
}

var call = RepairCall("BASH", `{"command":"ls"}`)

func say(room, message string) AnswerCall {
	return RepairCall("SAY", `{"room":"`+room+`","message":"`+message+`"}`)
}

func TestInboundOwesAnAnswer(t *testing.T) {
	w := heard(t)
	w.answer(Answer{Text: "hi"})
	wantOwes(t, w, "post e3 dev")
	if p := w.state.Outbox[0]; p.Line != "[AGENT:ada 2026-11-20T12:57:20Z] hi\n" || p.Inode != w.rooms["dev"].inode || p.From != w.end("dev") {
		t.Errorf("post is %+v", p)
	}
	w.pay()
	wantOwes(t, w, "")
	if w.state.Turn != 1 || w.state.Waiting != nil {
		t.Errorf("turn %d, waiting %v", w.state.Turn, w.state.Waiting)
	}
}

func TestOwes(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *world) // after a line was heard in dev
		want string
	}{
		"a reply of nothing posts nothing": {func(w *world) { w.answer(Answer{Reasoning: "no need", Text: " \n"}) }, ""},
		"own and blank lines": {func(w *world) {
			w.answer(Answer{})
			w.happen(event.Inbound{N: w.state.Next, Passage: event.Passage{Room: "dev", At: Span{To: 9}}, Own: []Span{{To: 3}}}, "aa\n\r\n \n\n")
		}, ""},
		"a note and a hint": {func(w *world) {
			w.answer(Answer{})
			w.note("x", "x")
			w.happen(event.Hint{N: w.state.Next}, "y")
		}, ""},
		"a SAY of nothing, whatever a model writes": {func(w *world) {
			w.answer(Answer{Calls: []AnswerCall{say("dev", " \\n")}})
			w.happen(event.Call{ID: "e3.1", Tool: "SAY", Posting: w.to("dev")})
		}, "started e3.1"},
		"what was to be said before a /stop, behind which a room stays closed": {func(w *world) {
			w.answer(Answer{Text: "said late"})
			w.hear("dev", "ada", "/stop")
		}, "post e3 dev, post k1 dev"},
		"a /stop clears the turn, after its call": {func(w *world) {
			w.answer(Answer{Calls: []AnswerCall{call}})
			w.run(Interrupted, "stopped", 0)
			w.hear("dev", "ada", "/stop")
			if w.state.Waiting != nil {
				t.Errorf("waiting %v", w.state.Waiting)
			}
			w.pay()
		}, ""},
		"a turn that is given up pauses nothing": {func(w *world) {
			w.happen(event.Paused{ID: w.notice(), Why: "max_steps", Ended: true})
			if w.state.Paused != "" {
				t.Errorf("paused: %s", w.state.Paused)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := heard(t)
			c.do(w)
			wantOwes(t, w, c.want)
		})
	}
}

func TestSayOwesItsPost(t *testing.T) {
	w := heard(t)
	w.answer(Answer{Calls: []AnswerCall{say("dev", "one\\nmoment")}})
	wantOwes(t, w, "call e3.1")
	w.start()
	wantOwes(t, w, "post e3.1 dev, started e3.1")
	if line := w.state.Outbox[0].Line; line != "[AGENT:ada 2026-11-20T12:57:21Z] one\u2028moment\n" {
		t.Errorf("line is %q", line)
	}
	w.pay()
	wantOwes(t, w, "started e3.1")
	w.finish(OK, "said", 0)
	// The room has heard a SAY in this turn, so the final text does not go there.
	if got := w.state.Audience(); len(got) > 0 {
		t.Errorf("audience %v", got)
	}
	w.answer(Answer{Text: "said it already"})
	wantOwes(t, w, "")
}

func TestFinalTextGoesToThoseWhoWait(t *testing.T) {
	w := heard(t)
	w.join("ops")
	w.join("lab")
	w.says("ops", "bob", "and I?")
	w.write("lab", []byte("[AGENT:peer 2026-11-20T13:00:00Z] me too\n"))
	w.listen("ops", event.Inbound{})
	w.listen("lab", event.Inbound{})
	if got := w.state.Audience(); !slices.Equal(got, []string{"dev", "ops"}) {
		t.Errorf("audience %v", got)
	}
	w.answer(Answer{Calls: []AnswerCall{say("ops", "you first")}})
	w.start()
	w.pay()
	w.finish(OK, "said", 0)
	w.answer(Answer{Text: "now both"})
	wantOwes(t, w, "post e8 dev")
}

// A line that comes behind a SAY has not heard its answer: the final text goes to it, of whoever it is. To an agent that
// is one more answer of those that max_agent_turns bounds.
func TestFinalTextGoesToLinesBehindASay(t *testing.T) {
	for who, counted := range map[string]int{"[USER:bob": 0, "[AGENT:peer": 1} {
		w := heard(t)
		w.answer(Answer{Calls: []AnswerCall{say("dev", "one moment")}})
		w.start()
		w.pay()
		w.finish(OK, "said", 0)
		w.write("dev", []byte(who+" 2026-11-20T13:00:00Z] and I?\n"))
		w.listen("dev", event.Inbound{})
		w.answer(Answer{Text: "you too"})
		wantOwes(t, w, "post e5 dev")
		if got := w.state.Rooms["dev"].AgentTurns; got != counted {
			t.Errorf("%s: %d answers to agents", who, got)
		}
	}
}

// Where only agents speak, the answer goes to them, turns are counted, and
// beyond the bound a line is heard without waking.
func TestAgentsAmongThemselves(t *testing.T) {
	w := inDev(t)
	for n := range 3 {
		w.hearPeer("dev", event.Inbound{})
		wantOwes(t, w, "answer")
		if got := w.state.Audience(); !slices.Equal(got, []string{"dev"}) {
			t.Errorf("audience %v", got)
		}
		w.answer(Answer{Text: "I am fine"})
		w.pay()
		if got := w.state.Rooms["dev"].AgentTurns; got != n+1 {
			t.Errorf("%d turns, want %d", got, n+1)
		}
	}
	w.hearPeer("dev", event.Inbound{Asleep: true})
	wantOwes(t, w, "")
	w.hear("dev", "ada", "enough")
	wantOwes(t, w, "answer")
	if got := w.state.Rooms["dev"].AgentTurns; got != 0 {
		t.Errorf("%d turns after a user spoke", got)
	}
}

// A SAY that waits for its room is said in a later turn, whose answer goes to the room
// all the same. Equal lines that wait are told apart: the second one is looked for
// behind the first.
func TestSayWaitsForItsRoom(t *testing.T) {
	w := heard(t)
	w.answer(Answer{Calls: []AnswerCall{say("dev", "again"), say("dev", "again")}})
	for range 2 {
		w.run(OK, "recorded", 0)
	}
	if got := w.state.Audience(); len(got) > 0 { // it hears the SAY
		t.Errorf("audience %q", got)
	}
	w.answer(Answer{Text: "done"})
	w.hear("dev", "ada", "and?")
	wantOwes(t, w, "post e3.1 dev, post e3.2 dev, answer")
	first := w.state.Outbox[0]
	from, to := w.write("dev", []byte(first.Line))
	w.happen(event.Posted{ID: first.ID, Passage: w.passage("dev", from, to)})
	if second := w.state.Outbox[0]; second.From != to || second.Inode != w.rooms["dev"].inode {
		t.Errorf("the second line is looked for from %d on, and the first ends at %d", second.From, to)
	}
	w.pay()
	if got := w.state.Audience(); !slices.Equal(got, []string{"dev"}) {
		t.Errorf("audience %q", got)
	}
}

func TestPaused(t *testing.T) {
	for _, wake := range []struct {
		name string
		by   func(w *world)
	}{
		{"a user", func(w *world) { w.hear("dev", "ada", "again") }},
		{"a command", func(w *world) { w.hear("dev", "ada", "/model other"); w.pay() }},
		{"a resume", func(w *world) { w.happen(event.Resumed{Version: "2"}) }},
	} {
		t.Run(wake.name, func(t *testing.T) {
			w := heard(t)
			w.happen(event.Paused{ID: w.notice(), Why: "no money", Notice: event.Notice{Say: "The model refuses.", Posting: w.to("dev")}})
			wantOwes(t, w, "post k1 dev")
			w.pay()
			wantOwes(t, w, "")
			w.hearPeer("dev", event.Inbound{})
			wantOwes(t, w, "")
			wake.by(w)
			wantOwes(t, w, "answer")
		})
	}
}

func TestSteps(t *testing.T) {
	w := heard(t)
	for range 3 {
		w.answer(Answer{Calls: []AnswerCall{call}})
		w.run(OK, "same", 0)
	}
	w.note("cut off", "cut")
	if w.state.Steps != 4 || w.state.Cut != 1 || w.state.Repeats != 3 {
		t.Errorf("steps %d, cut %d, repeats %d", w.state.Steps, w.state.Cut, w.state.Repeats)
	}
	w.note("you repeat yourself", "repeat")
	w.hear("dev", "ada", "go on")
	if w.state.Steps != 0 || w.state.Cut != 0 || w.state.Repeats != 0 {
		t.Errorf("after a user: steps %d, cut %d, repeats %d", w.state.Steps, w.state.Cut, w.state.Repeats)
	}
}

// A command that is obeyed early is passed over when its turn comes.
func TestEarlyCommand(t *testing.T) {
	w := heard(t)
	w.says("dev", "ada", "not heard yet")
	w.says("dev", "ada", "/model other")
	w.says("dev", "ada", "nor this")
	before := w.state.Rooms["dev"].Cursor
	w.heed("dev")
	w.pay()
	if got := w.state.Rooms["dev"]; got.Cursor.Offset != before.Offset || len(got.Own) != 2 || w.state.WantModel != "other" {
		t.Errorf("%+v, model %q", got, w.state.WantModel)
	}
	wantOwes(t, w, "answer")
	w.listen("dev", event.Inbound{})
	last := w.last()
	if strings.Contains(last.Text, "/model") || strings.Contains(last.Text, "AGENT") ||
		!strings.Contains(last.Text, "not heard yet") || !strings.Contains(last.Text, "nor this") {
		t.Errorf("heard %q", last.Text)
	}
	if r := w.state.Rooms["dev"]; len(r.Own) != 0 || r.Cursor.Offset != w.end("dev") {
		t.Errorf("%+v", r)
	}
}

// Where nothing is between, an own line moves the cursor; where something is, it
// waits among the own lines until the cursor passes it.
func TestPosted(t *testing.T) {
	w := heard(t)
	w.answer(Answer{Text: "first"})
	w.pay()
	r := func() *Room { return w.state.Rooms["dev"] }
	end := func() int64 { return w.end("dev") }
	if r().Cursor.Offset != end() || len(r().Own) != 0 || r().Cursor.Before != w.before("dev", end()) {
		t.Errorf("contiguous: %+v", r())
	}
	mine := chat.Hash([]byte("[AGENT:ada 2026-11-20T12:57:20Z] first\n"))
	if last := r().Cursor.Last; last[len(last)-1] != mine || !slices.Equal(r().Posted, []string{mine}) {
		t.Errorf("last %v, posted %v, want %s", last, r().Posted, mine)
	}

	w.hear("dev", "ada", "one")
	w.says("dev", "ada", "two")
	from := end()
	w.answer(Answer{Text: "second"})
	w.pay()
	if want := []Span{{From: from, To: end()}}; !slices.Equal(r().Own, want) || r().Cursor.Offset >= from {
		t.Errorf("not contiguous: %+v, want own %v", r(), want)
	}
	w.listen("dev", event.Inbound{})
	if last := w.last(); last.Text != "[USER:ada 2026-11-20T12:57:23Z] two" || len(r().Own) != 0 || r().Cursor.Offset != end() {
		t.Errorf("heard %q, room %+v", last.Text, r())
	}
}

// Offsets that meet by chance in another file move nothing.
func TestPostedInAnotherFile(t *testing.T) {
	w := heard(t)
	w.answer(Answer{Text: "x"})
	w.rooms["dev"].inode++
	before := w.state.Rooms["dev"].Cursor.Offset
	w.pay()
	if r := w.state.Rooms["dev"]; r.Cursor.Offset != before || len(r.Own) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestMovedRoom(t *testing.T) {
	w := heard(t)
	w.says("dev", "ada", "between")
	w.answer(Answer{Text: "own"})
	w.pay()
	if len(w.state.Rooms["dev"].Own) != 1 {
		t.Fatal("no own line waits")
	}
	f := w.rooms["dev"]
	f.inode, f.data = f.inode+1, []byte("[USER:ada 2026-11-20T13:00:00Z] all new\n")
	from := Span{From: 0, To: w.end("dev")}
	w.listen("dev", event.Inbound{Moved: true})
	r := w.state.Rooms["dev"]
	if len(r.Own) != 0 || r.Cursor.Offset != from.To || r.Cursor.Inode != f.inode {
		t.Errorf("%+v", r)
	}
	wantOwes(t, w, "answer")
}

func TestRenewedSubscription(t *testing.T) {
	w := heard(t)
	w.answer(Answer{Text: "bye"})
	w.pay()
	cursor := w.state.Rooms["dev"].Cursor
	w.happen(event.Left{Room: "dev"})
	if w.state.Rooms["dev"].Joined {
		t.Error("still joined")
	}
	w.says("dev", "ada", "where are you?")
	w.join("dev")
	if r := w.state.Rooms["dev"]; !r.Joined || r.Cursor.Offset != cursor.Offset || r.Cursor.Before != cursor.Before {
		t.Errorf("%+v, was %+v", r, cursor)
	}
	w.listen("dev", event.Inbound{})
	wantOwes(t, w, "answer")
}
