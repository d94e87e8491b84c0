package mind

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// paged is the life of the page's example.
func paged(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.join("dev")
	w.hear("dev", "ada", "good morning")
	w.fade(2, "Ada greeted the room.")
	w.state.Pins = nil
	w.memory = "Ada likes short answers."
	w.renew("settings")
	w.hear("dev", "ada", "which ◆ files are here?\nlook yourself")
	w.answer(Answer{Reasoning: "I have to look.", Text: "One moment.", Calls: []AnswerCall{RepairCall("BASH", `{"command":"ls"}`)}})
	w.run(OK, "README.md\n"+strings.Repeat("notes.txt\n", 30)+"todo.txt\n", 36)
	w.answer(Answer{Reasoning: "Two kinds.", Text: "Many notes, a README and a todo."})
	w.state.Stable.System = "You are Ada. (The soul, and how an identity lives.)"
	return w
}

// The page's context.md is what the program writes, byte for byte, and reads.
func TestPageContext(t *testing.T) {
	w := paged(t)
	block := lethetest.Blocks(t, "context.md", "context")[0]
	if got := string(w.state.View()); got != block {
		t.Fatalf("the program writes\n%s\nthe page has\n%s", got, block)
	}
	seen, ok := ReadView([]byte(block))
	if !ok || seen.Through != 5 || !seen.Intact || seen.Epoch != 2 {
		t.Errorf("%+v", seen)
	}
	var heads []string
	for _, sec := range parse(seen.text) {
		heads = append(heads, sec.about().key)
	}
	want := []string{"system", "past", "e1..e2", "memory", "life", "e3", "e4", "e4.1 call", "e4.1 result", "e5", "end"}
	if !slices.Equal(heads, want) {
		t.Errorf("sections %q", heads)
	}
}

// The page's lines about what is overtaken are what the program writes, and its snapshot and card are read: a resume, a
// fork and who goes back to a moment before it know it, and an edit of the view finds nothing changed.
func TestPageOvertaken(t *testing.T) {
	w := paged(t)
	block := func(name string) string { return lethetest.Blocks(t, "context.md", name)[0] }
	lethetest.Must(t, json.Unmarshal([]byte(block("snapshot")), w.state))
	then := *w.state
	then.Overtaken = nil
	next, _ := w.state.Back(&then)
	body, err := w.state.Snapshot()
	lethetest.Must(t, err)
	restored, err := Restore(body, w.read)
	lethetest.Must(t, err)
	r := Range{From: 5, To: 7, Level: Gist, Original: Ref{Short: "0b62cd1bf72c8c5e", Gist: "premiere 12 February"}}
	for name, s := range map[string]*State{
		"here": w.state, "back": next, "resumed": restored, "forked": w.state.Fork(blobs.Hash{1}, "eve", "1", w.now, nil),
	} {
		if got := s.Line(r) + "\n"; got != block("overtaken") {
			t.Errorf("%s: %s", name, got)
		}
	}
	w.state.Faded = append(w.state.Faded, r)
	w.renew("settings")
	if ed := w.state.Compare(seen(string(w.state.View()))); !ed.Empty() {
		t.Errorf("%s", show(ed))
	}
	_, list, _ := strings.Cut(block("card"), "\n")
	for _, l := range ReadCard([]byte(block("card"))) {
		line := l.String() + "\n"
		if list = strings.TrimPrefix(list, line); l.Overtaken != "" != strings.Contains(line, "71") {
			t.Errorf("%q is read as %+v", line, l)
		}
	}
	if list != "" {
		t.Errorf("of the card is not read: %q", list)
	}
}

// The page's edits do what it says.
func TestPageEdit(t *testing.T) {
	w := paged(t)
	file := lethetest.Blocks(t, "context.md", "context")[0]
	for _, edit := range [][2]string{
		{"Many notes, a README and a todo.", "Thirty notes, a README and a todo."},
		{"Ada likes short answers.", "Ada likes long answers."},
		{"You are Ada.", "You are Eve."},
		{"◆ end\n", "◆ to you\nPlease count the notes.\n◆ end\n"},
	} {
		file = strings.Replace(file, edit[0], edit[1], 1)
	}
	want := Edit{
		Changed: []Change{{N: 5, Text: "<reasoning>\nTwo kinds.\n</reasoning>\nThirty notes, a README and a todo."}},
		Added:   "to you\nPlease count the notes.",
		Memory:  &MemoryEdit{"Ada likes short answers.", "Ada likes long answers.\n"},
		Taken:   "◆ memory\nAda likes short answers.\n◆ e5 reply\nMany notes, a README and a todo.\n", Ignored: []string{"system"},
	}
	if ed := w.state.Compare(seen(file)); !reflect.DeepEqual(ed, want) {
		t.Errorf("%s", show(ed))
	}
}

// The page's reply is what the program writes and reads.
func TestPageReply(t *testing.T) {
	signed := AnswerCall{Tool: "BASH", Args: `{"command":"ls"}`, Opaque: `{"google":{"thought_signature":"CiQB"}}`}
	a := Answer{
		Reasoning: "I have to look.", Text: "One moment.", Opaque: `[{"type":"redacted_thinking","data":"EmwK"}]`,
		Calls: []AnswerCall{signed, RepairCall("BASH", "ls -l")},
	}
	block := lethetest.Blocks(t, "context.md", "reply")[0]
	if got := string(a.Encode()); got != block {
		t.Errorf("the program writes\n%s\nthe page has\n%s", got, block)
	}
	if got, err := DecodeAnswer([]byte(block)); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v", got, err)
	}
}

// The example of docs/life.md is a life: it can be folded, and owes nothing at its end.
func TestLifePageFolds(t *testing.T) {
	var events []life.Event
	for line := range strings.Lines(lethetest.Blocks(t, "life.md", "life")[0]) {
		e, err := life.ParseLine(strings.TrimSuffix(line, "\n"))
		lethetest.Must(t, err)
		events = append(events, e)
	}
	s := New()
	for i, e := range events {
		lethetest.Must(t, s.Apply(e, bodies(t, e, events[i:])...))
	}
	if owed := s.Owed(); owed.Answer || len(owed.Calls)+len(owed.Posts) > 0 {
		t.Errorf("the example ends owing %+v", owed)
	}
}

// bodies makes up what the refs of an event hold. A reply has the calls that
// follow it.
func bodies(t *testing.T, e life.Event, later []life.Event) (made []Body) {
	t.Helper()
	text := []byte("[USER:ada 2026-11-20T12:57:17Z] a text\n")
	if e.Kind == "reply" {
		answer := Answer{Text: "a text"}
		for _, call := range later {
			if call.Kind == "call" && strings.HasPrefix(call.Arg(0), e.Arg(0)+".") {
				answer.Calls = append(answer.Calls, RepairCall(call.Arg(1), `{"room":"ops","message":"a text"}`))
			}
		}
		text = answer.Encode()
	}
	for _, r := range e.Refs {
		h, err := blobs.ParseHash(r.Hash + strings.Repeat("0", 64-len(r.Hash)))
		lethetest.Must(t, err)
		made = append(made, Body{Hash: h, Data: text})
	}
	return made
}
