package mind

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// page returns the fenced block of docs/context.md with this language.
func page(t *testing.T, lang string) string {
	t.Helper()
	doc, err := os.ReadFile("../docs/context.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(doc), "\n```"+lang+"\n")
	block, _, closed := strings.Cut(block, "```\n")
	if !ok || !closed {
		t.Fatalf("docs/context.md has no block %q", lang)
	}
	return block
}

// paged is the life of the page's example.
func paged(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.join("dev")
	w.says("dev", "ada", "good morning")
	w.listen("dev")
	w.fade(2, "Ada greeted the room.")
	w.state.Pins = nil
	w.memory = "Ada likes short answers."
	w.renew("settings")
	w.says("dev", "ada", "which ◆ files are here?\nlook yourself")
	w.listen("dev")
	w.answer(Answer{Reasoning: "I have to look.", Text: "One moment.", Calls: []AnswerCall{RepairCall("BASH", `{"command":"ls"}`)}})
	w.start()
	w.finish(OK, "README.md\n"+strings.Repeat("notes.txt\n", 30)+"todo.txt\n", 36)
	w.answer(Answer{Reasoning: "Two kinds.", Text: "Many notes, a README and a todo."})
	w.state.Stable.System = "You are Ada. (The soul, and how an identity lives.)"
	return w
}

// The page's context.md is what the program writes, byte for byte, and reads.
func TestPageContext(t *testing.T) {
	w := paged(t)
	block := page(t, "context")
	if got := string(w.state.View()); got != block {
		t.Fatalf("the program writes\n%s\nthe page has\n%s", got, block)
	}
	seen, ok := ReadView([]byte(block))
	if want := (Seen{Through: 5, Intact: true, Epoch: 2, Whole: true}); !ok || seen != want {
		t.Errorf("%+v, want %+v", seen, want)
	}
	f, _ := readView([]byte(block))
	var heads []string
	for _, sec := range parse(f.text) {
		heads = append(heads, key(sec.head))
	}
	want := []string{"◆ system", "◆ past", "◆ e1..e2", "◆ memory", "◆ life", "◆ e3", "◆ e4", "◆ e4.1 call", "◆ e4.1 result", "◆ e5", "◆ end"}
	if !slices.Equal(heads, want) {
		t.Errorf("sections %q", heads)
	}
}

// The page's edits do what it says.
func TestPageEdit(t *testing.T) {
	w := paged(t)
	file := page(t, "context")
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
		Added:   "to you\nPlease count the notes.", Memory: ptr("Ada likes long answers."), Shown: "Ada likes short answers.",
		Taken: "◆ memory\nAda likes short answers.\n◆ e5 reply\nMany notes, a README and a todo.\n", Ignored: []string{"system"},
	}
	if ed := w.state.Compare([]byte(file), 5); !reflect.DeepEqual(ed, want) {
		t.Errorf("%s", show(ed))
	}
}

// The page's reply is what the program writes and reads.
func TestPageReply(t *testing.T) {
	a := Answer{
		Reasoning: "I have to look.", Text: "One moment.",
		Calls: []AnswerCall{RepairCall("BASH", `{"command":"ls"}`), RepairCall("BASH", "ls -l")},
	}
	block := page(t, "reply")
	if got := string(a.Encode()); got != block {
		t.Errorf("the program writes\n%s\nthe page has\n%s", got, block)
	}
	if got, err := DecodeAnswer([]byte(block)); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v", got, err)
	}
}
