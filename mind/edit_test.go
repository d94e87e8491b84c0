package mind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// fadedExample is the example with e1 and e2 faded, and a note and an answer after it.
// The view of it goes through e10.
func fadedExample(t lethetest.Failer) *world {
	w := example(t)
	w.fade(2, "ada said hello;\nsomebody had no tag")
	w.note("nothing", "x")
	w.answer(Answer{Reasoning: "I wait.", Text: "Waiting."})
	return w
}

// section returns the text of a section of a view, head and all.
func sectionOf(t *testing.T, view, head string) string {
	t.Helper()
	i := strings.Index(view, "\n"+head)
	if i < 0 {
		t.Fatalf("no section %s in\n%s", head, view)
	}
	rest := view[i+1:]
	if j := strings.Index(rest, "\n◆ "); j >= 0 {
		return rest[:j+1]
	}
	return rest
}

// shownMemory is MEMORY as the example shows it.
const shownMemory = "ada likes ◰4 and short answers"

const lifeTitle = "life: self/LIFE.md logs all that happened; this context began Friday 2026-11-20 12:57 +00:00"

// seen is a file that has our first line.
func seen(file string) Seen {
	s, _ := ReadView([]byte(file))
	return s
}

func TestCompare(t *testing.T) {
	w := fadedExample(t)
	view := string(w.state.View())
	cut := func(heads ...string) string {
		out := view
		for _, h := range heads {
			out = strings.Replace(out, sectionOf(t, out, h), "", 1)
		}
		return out
	}
	put := func(old, now string) string {
		t.Helper()
		if strings.Count(view, old) != 1 {
			t.Fatalf("%q is there %d times", old, strings.Count(view, old))
		}
		return strings.Replace(view, old, now, 1)
	}
	unit := []string{"◆ e4 reply", "◆ e4.1 call", "◆ e4.1 result", "◆ e4.2 call", "◆ e4.2 result"}
	head, body, _ := strings.Cut(view, "\n")
	tests := []struct {
		name, file, want string // as show puts an edit
	}{
		{"nothing", view, ""},
		{"CRLF", strings.ReplaceAll(strings.ReplaceAll(view, "\r", ""), "\n", "\r\n"), ""},
		{"byte order mark", "\uFEFF" + view, ""},
		{"white space at line ends", strings.ReplaceAll(view, "\n", " \t\n") + "\n\n", ""},
		{"inbound text", put("me\n    [USER:ada", "we\n    [USER:ada"),
			"e7: [USER:bob 2026-11-20T12:57:30Z] and we\n    [USER:ada 2026-11-20T12:57:16Z] not me"},
		{"hint", put("something of old", "nothing"), "e3: hash=0123456789abcdef: nothing"},
		{"note", put("self/MEMORY.md.\n", "it.\n"), "e6: Somebody changed it."},
		{"reply text", put("It is only me: ◰4 and ada.", "It is us."),
			"e5: <reasoning>\nNow the answer.\n</reasoning>\nIt is us."},
		{"reasoning", put("Now the answer.", "Hm."),
			"e5: <reasoning>\nHm.\n</reasoning>\nIt is only me: ◰4 and ada."},
		{"no reasoning any more", put("<reasoning>\nNow the answer.\n</reasoning>\n", ""),
			"e5: It is only me: ◰4 and ada."},
		{"result", put("said in room dev", "not said"), "e4.2: not said"},
		{"text with structure", put("said in room dev", "see "+aRef.String()),
			"e4.2: see " + aRef.String()},
		{"text that is none", put("said in room dev", "a\xffb"), "e4.2: a\uFFFDb"},
		{"result emptied", put("said in room dev\n", ""), "e4.2: "},
		{"result deleted", cut("◆ e4.2 result"), "e4.2: " + removed},
		{"reply deleted, not its calls", cut("◆ e4 reply"), "e4: " + removed},
		{"call deleted", cut("◆ e4.2 call"), "ignored e4.2 call SAY"},
		{"call changed", put(`"echo '◰4'"`, `"rm -r"`), "ignored e4.1 call BASH"},
		{"unit deleted", cut(unit...), "deleted [4]"},
		{"note deleted", cut("◆ e6 "), "deleted [6]"},
		{"heading with other blanks", put("◆ e4.2 result", "◆  e4.2\tresult"), "ignored the heading e4.2 result ok"},
		{"inbound and its answer deleted", cut("◆ e7 ", "◆ e8 ", "◆ e8.1 call", "◆ e8.1 result"), "deleted [7 8]"},
		{"summary changed", put("ada said hello;\n", "ada came;\n"),
			"past e1: ada came;\nsomebody had no tag"},
		{"summary emptied", put("ada said hello;\nsomebody had no tag\n", ""), "past e1: "},
		{"summary deleted", cut("◆ e1..e2 "), "past e1: "},
		{"pin taken away", put("- e1..e2: ada said hello; somebody had no tag!\n", ""), "pins []"},
		{"pins deleted", cut("◆ pins"), "pins []"},
		{"memory", put("likes ◰4 and", "hates ◰4, not"), "memory " + shownMemory + " => ada hates ◆, not short answers\n"},
		{"memory deleted", cut("◆ memory"), "memory " + shownMemory + " => "},
		{"system", put("You are Ada.", "You are Eve."), "ignored system"},
		{"system deleted", cut("◆ system"), "ignored system"},
		{"life", put("began Friday 2026", "began Friday 2025"), "ignored the heading " + lifeTitle},
		{"under the past", put("◆ past\n", "◆ past\nthe good old days\n"), "ignored past"},
		{"heading", put("◆ e7 inbound room=dev", "◆ e7 inbound room=ops"), "ignored the heading e7 inbound room=dev"},
		{"hint deleted", cut("◆ e3 "), "deleted [3]"},
		{"written at the end", view + "Please stop.\n", "added Please stop."},
		{"written above", "Please stop.\n" + view, "added Please stop."},
		{"written before the first section", head + "\nPlease stop.\n" + body, "added Please stop."},
		{"written between, under a head", put("◆ e7 inbound", "◆ please stop\nat once\n◆ e7 inbound"), "added please stop\nat once"},
		{"written between, under none", put("◆ e7 inbound", "Please stop.\n◆ e7 inbound"),
			"e6: Somebody changed self/MEMORY.md.\nPlease stop."},
		{"an entry that is not", put("◆ e7 inbound", "◆ e77 inbound room=dev\nhi\n◆ e7 inbound"), "added e77 inbound room=dev\nhi"},
		{"a section twice", view[:strings.Index(view, "◆ end")] + sectionOf(t, view, "◆ e6 ") + "◆ end\n",
			"added e6 note\nSomebody changed self/MEMORY.md."},
		{"everything", head + "\n◆ end\n", "past e1:  | deleted [3 4 5 6 7 8 9 10] | pins [] | memory " +
			shownMemory + " =>  | ignored system | ignored past | ignored " + lifeTitle},
		{"of somebody else", strings.Replace(view, w.state.Self[:16], "0123456789abcdef", 1) + "x",
			"ignored the whole file, which is the context of 0123456789abcdef"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen, ok := ReadView([]byte(tt.file))
			if !ok || seen.Through != 10 {
				t.Fatalf("seen %+v %v", seen, ok)
			}
			if seen.Intact && tt.want != "" {
				t.Fatal("the edit is not seen")
			}
			got := w.state.Compare(seen)
			got.Taken = "" // see TestEditKeepsWhatItTakes
			if show(got) != tt.want || got.Empty() != (tt.want == "") {
				t.Errorf("%s\nwant %s", show(got), tt.want)
			}
		})
	}
}

// What an edit takes away is in it, and nothing else.
func TestEditKeepsWhatItTakes(t *testing.T) {
	w := fadedExample(t)
	view := string(w.state.View())
	if ed := w.edit([]byte(strings.ReplaceAll(view, "◆ e6 ", "one more\n◆ e6 "))); ed.Taken != "" {
		t.Errorf("a line was added, and %q is taken away", ed.Taken)
	}
	w = fadedExample(t)
	for _, r := range [][2]string{
		{"ada said hello;\n", "ada came;\n"}, {"- e1..e2: ada said hello; somebody had no tag!\n", ""}, {"ada likes", "ada hates"},
		{"said in room dev", "not said"}, {sectionOf(t, view, "◆ e5 "), ""},
	} {
		view = strings.Replace(view, r[0], r[1], 1)
	}
	ed := w.edit([]byte(view))
	// e5 is removed as a whole, into a blob of its own.
	head, _, _ := strings.Cut(sectionOf(t, string(fadedExample(t).state.View()), "◆ e1..e2 "), "\n")
	want := head + "\nada said hello;\n◆ pins\n- e1..e2: ada said hello; somebody had no tag!\n" +
		"◆ memory\nada likes ◰4 and short answers\n◆ e4.2 result ok\nsaid in room dev\n"
	if ed.Taken != want {
		t.Errorf("taken away is\n%s\nwant\n%s", ed.Taken, want)
	}
}

// show puts an edit in words, without what it takes away.
func show(ed Edit) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, c := range ed.Changed {
		of := EntryID(c.N)
		if c.K > 0 {
			of = CallID(c.N, c.K)
		}
		if c.Faded {
			of = "past " + of
		}
		add("%s: %s", of, c.Text)
	}
	if len(ed.Deleted) > 0 {
		add("deleted %v", ed.Deleted)
	}
	if ed.Added != "" {
		add("added %s", ed.Added)
	}
	if ed.Pins != nil {
		add("pins %v", *ed.Pins)
	}
	if ed.Memory != nil {
		add("memory %s => %s", ed.Memory.Was, ed.Memory.Is)
	}
	for _, part := range ed.Ignored {
		add("ignored %s", part)
	}
	return strings.Join(parts, " | ")
}

func TestReadView(t *testing.T) {
	w := fadedExample(t)
	view := string(w.state.View())
	_, body, _ := strings.Cut(view, "\n")
	for _, tt := range []struct {
		name, file string
		want       Seen
	}{
		{"as written", view, Seen{Through: 10, Intact: true, Epoch: 2}},
		{"byte order mark", "\uFEFF" + view, Seen{Through: 10, Intact: true, Epoch: 2}},
		{"without the last newline", view[:len(view)-1], Seen{Through: 10, Intact: true, Epoch: 2}},
		{"edited", view + "x", Seen{Through: 10, Intact: false, Epoch: 2}},
		{"written above", "x\n" + view, Seen{Through: 10, Intact: false, Epoch: 2}},
		{"edited, and half of it lost", strings.Replace(view[:len(view)-len("◆ end\n")], "said in room dev", "not said", 1), Seen{}},
		{"half", view[:len(view)/2], Seen{}},
		{"half a head", view[:strings.Index(view, "◆ e7 inb")+len("◆ e7 inb")], Seen{}},
		{"only the first line", view[:len(view)-len(body)], Seen{}},
		{"a hole", strings.Replace(view, "said in room dev", strings.Repeat("\x00", 16), 1), Seen{}},
		{"first line lost", body, Seen{}},
		{"first line broken", "◆ context of ada " + body, Seen{}},
		{"empty", "", Seen{}},
	} {
		got, ok := ReadView([]byte(tt.file))
		got.self, got.above, got.text = "", "", ""
		if ok != (tt.want.Through > 0) || ok && got != tt.want {
			t.Errorf("%s: %+v %v, want %+v", tt.name, got, ok, tt.want)
		}
	}
}

// Entries that came after the file was written are not touched by it.
func TestLaterEntriesStay(t *testing.T) {
	w := fadedExample(t)
	head, _, _ := strings.Cut(string(w.state.View()), "\n")
	w.note("later", "x")
	w.answer(Answer{Text: "later, too"})
	ed := w.state.Compare(seen(head + "\n◆ end\n"))
	if !slices.Equal(ed.Deleted, []int{3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("deleted %v", ed.Deleted)
	}
	lethetest.Must(t, w.state.Amend(ed, w.put))
	if got := w.state.Live; len(got) != 2 || got[0].Text != "later" || got[1].Text != "later, too" {
		t.Errorf("live are %+v", got)
	}
	checkConserved(t, w)
}

// After an edit the file is replaced. A crash before that leaves the edited file
// beside the state it led to: it says nothing new.
func TestEditReadAgain(t *testing.T) {
	w := fadedExample(t)
	view := string(w.state.View())
	view = strings.Replace(view, sectionOf(t, view, "◆ e6 "), "◆ to you\nPlease ◆ stop.\n", 1)
	view = strings.Replace(view, sectionOf(t, view, "◆ e4.2 result"), "", 1)
	view = strings.Replace(view, "Now the answer.", "</reasoning>\nbroken", 1)
	view = strings.Replace(view, "ada said hello;\n", "ada came;\n", 1)
	view = strings.Replace(view, "note\nnothing", "note\n<reasoning>", 1)
	ed := w.edit([]byte(view))
	if len(ed.Changed) != 4 || !slices.Equal(ed.Deleted, []int{6}) || ed.Added != "to you\nPlease ◆ stop." || len(ed.Ignored) > 0 {
		t.Fatalf("%s", show(ed))
	}
	before := dump(t, w.state)
	again := w.fold()
	if got := dump(t, again); got != before {
		t.Errorf("resumed as\n%s\nwant\n%s", got, before)
	}
	if ed := again.Compare(seen(view)); !ed.Empty() {
		t.Errorf("read again: %s", show(ed))
	}
}

// The note has what a person wrote, letter by letter: HTML escapes would be other words.
func TestEditIsDescribed(t *testing.T) {
	edit := Edit{Changed: []Change{{N: 3}, {N: 4, K: 2}, {N: 1, Faded: true}}, Deleted: []int{6},
		Added: "if a < b && c > d { print(\"it's +1\") }", Ignored: []string{"the heading <x>"}}
	want := "A person edited your context. Changed: e3, the result of e4.2, what has faded from e1 on." +
		" Removed, and still reachable by ref in the past: e6." +
		" These parts cannot be changed there and stayed as they were: the heading <x>." +
		" They wrote to you:\n" + edit.Added
	if got := edit.Describe(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A file of an earlier epoch takes nothing back that the epoch brought.
func TestStaleFile(t *testing.T) {
	w := fadedExample(t)
	view := string(w.state.View())
	w.memory = "ada left"
	w.fade(3, "what came then") // e3, e4 and e5
	view = strings.Replace(view, "self/MEMORY.md.\n", "it.\n", 1)
	view = strings.Replace(view, "It is only me", "It is us", 1)
	ed := w.state.Compare(seen(view))
	want := Edit{
		Changed: []Change{{N: 6, Text: "Somebody changed it."}},
		Taken:   "◆ e6 note\nSomebody changed self/MEMORY.md.\n",
		Ignored: []string{"what has faded since the file was written, up to e5",
			"pins, which was another when the file was written", "memory, which was another when the file was written"},
	}
	if !reflect.DeepEqual(ed, want) {
		t.Errorf("%s\nwant %s", show(ed), show(want))
	}
}
