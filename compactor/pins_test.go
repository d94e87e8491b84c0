package compactor

import (
	"fmt"
	"strings"
	"testing"

	"lethe/mind"
)

// What was promised is in the past after any number of compactions, by a model
// that sees nothing in it as well as by none.
func TestPromisesSurvive(t *testing.T) {
	promises := []string{"please always answer in French", "never deploy on a Friday.", "remember that the door code is 4711", "From now on call me Captain."}
	for _, mode := range []string{"mechanical", "model"} {
		w := newWorld(t, 20_000)
		w.set.Target = 0
		for _, p := range promises {
			w.hear("ada", "hello. "+p+" thanks", 0)
			w.reply("I will send the report to bob on Monday.", 0)
		}
		for round := range 50 {
			w.turns(6, 700)
			if mode == "mechanical" {
				w.mechanically()
			} else {
				w.swap(w.plan().fades(t.Context(), able(4, 3)))
			}
			for _, p := range promises {
				if !strings.Contains(w.state.Stable.Past, p) {
					t.Fatalf("%s: %q is lost after %d compactions:\n%s", mode, p, round+1, w.state.Stable.Past)
				}
			}
			if mode == "mechanical" && !strings.Contains(w.state.Stable.Past, "I will send the report to bob") {
				t.Fatalf("the identity's own promise is lost after %d compactions", round+1)
			}
		}
		w.conserved()
		w.budgets(t)
		if len(w.state.Pins) > len(promises)+1 {
			t.Errorf("%s: what was said four times is pinned more than once:\n%s", mode, w.state.Stable.Past)
		}
	}
}

func TestSayings(t *testing.T) {
	for text, want := range map[string]int{
		"Always answer in French":                     3,
		"please never do that again":                  3,
		"@lethe remember that I am away":              3,
		"Don't forget the milk!":                      3,
		"don’t forget the milk":                       3,
		"New rule: write British English":             3,
		"Tell nobody before I announce it":            3,
		"I want you to promise that you wait":         3,
		"And please don’t tell anybody":               3,
		"You must always ask, whatever it is":         3,
		"In the evening, never forget":                3,
		"From now on ask, as it has never been right": 3,
		"it never worked":                             0,
		"the API is always GET":                       0,
		"we always meet on Mondays":                   0,
		"I'll look at it":                             0, // small talk, unless the identity says it
		"I'll never forget that day":                  0,
		"I will always remember her":                  0,
		"Nope, never been to Kiel":                    0,
		"Always here to help":                         0,
		"will you always be there?":                   0,
		"nevertheless it works":                       0,
		"the willow is green":                         0,
		"Will it work? “Do you remember me?”":         0,
	} {
		if s := saying("ada", text); s.weight != want {
			t.Errorf("%q: %+v", text, s)
		}
	}
	for text, want := range map[string]int{
		"I will never do that": 2, "I promise to call you from now on": 2, "I'll look at it": 1, "It will be fine": 0,
		"I heard “New rule: write British English”, but I only follow phrases": 0, "Tell nobody before it is announced": 0,
	} {
		if s := saying(self, text); s.weight != want { // a person's rule weighs more
			t.Errorf("of itself, %q: %+v", text, s)
		}
	}
	got := sayings("ada", "It is 3.5 of v1.2.3. See a.go! Really?\nYes… \"So be it.\" End")
	var list []string
	for _, s := range got {
		list = append(list, s.text)
	}
	if want := `It is 3.5 of v1.2.3.|See a.go!|Really?|Yes… "So be it."|End`; strings.Join(list, "|") != want {
		t.Errorf("sentences %s, want %s", strings.Join(list, "|"), want)
	}
}

// Offline, small talk is not pinned, and neither is that the identity repeats a person's rule; what it promises is.
func TestMechanicalPins(t *testing.T) {
	w := newWorld(t, 20_000)
	w.set.Target = 0
	w.hear("ada", "Never write more than 120 words for the notice board. I'll be late today. We'll see!", 0)
	w.reply("I will never write more than 120 words for the notice board. New rule: 120 words for the notice board.", 0)
	w.hear("bob", "Always here for you. I'll never forget the race, and I will bring a cake.", 0)
	w.reply("I will send you the results on Monday.", 0)
	w.turns(9, 700)
	w.mechanically()
	var got []string
	for _, p := range w.state.Pins {
		got = append(got, p.Text)
	}
	want := "ada: Never write more than 120 words for the notice board.|I: I will send you the results on Monday."
	if strings.Join(got, "|") != want {
		t.Errorf("pinned is %q", got)
	}
}

// What was kept or withdrawn leaves the list, also when it was promised in a chunk that has
// not faded yet, and the agent is told. What a person has pinned stays, and what was said again later.
func TestPinsEnd(t *testing.T) {
	w := newWorld(t, 60_000)
	w.turns(9, 700)
	w.state.Pins = []mind.Pin{{Text: "never be late", Weight: mind.PinnedByPerson}}
	fades := chunks(w, 9, 2, 2)
	say := func(at int, text string) mind.Pin {
		return mind.Pin{From: fades[at].From, To: fades[at].To, Text: text, Weight: 3}
	}
	fades[0].pins = []mind.Pin{say(0, "ada: never be late"), say(0, "ada: never go out alone"), say(0, "ada: be there at nine")}
	fades[2].pins = []mind.Pin{say(2, "ada: be there at nine")}
	fades[1].over = []string{"- e1..e3: ada: Never be late!", "be there at nine", "never", "ada"}
	if out := w.swap(fades); len(out.Kept) == 0 || out.Kept[0].From != 1 {
		t.Fatalf("e1 does not stay: %+v", out.Kept)
	}
	w.set.Target = 0
	w.swap(w.kept)
	var got []string
	for _, p := range w.state.Pins {
		got = append(got, p.String())
	}
	if want := "- never be late|- e7..e9: ada: be there at nine|- e1..e3: ada: never go out alone"; strings.Join(got, "|") != want {
		t.Errorf("pinned is %q", got)
	}
	long := strings.Repeat("and never go ", 30)
	w.state.Pins = append(w.state.Pins, say(0, "ada: wait"), say(2, "ada: leave at ten"), say(2, truncate("ada: "+long, maxPin)))
	w.turns(9, 700)
	fades = chunks(w, 5)
	fades[0].over = []string{"leave at ten", long}
	w.notes = nil
	w.swap(fades)
	if len(w.notes) != 1 || !strings.Contains(w.notes[0], "- e7..e9: ada: leave at ten\n") || len(w.state.Pins) != 4 {
		t.Errorf("the agent was told %q, and pinned is %v", w.notes, w.state.Pins)
	}
}

// Pins keep to their budget: intents give way before rules, the old before the
// new, and the agent is told. What they came from is still there.
func TestPinsKeepToTheirBudget(t *testing.T) {
	w := newWorld(t, 20_000)
	w.set.Target = 0
	w.state.Pins = []mind.Pin{{Text: "be kind", Weight: mind.PinnedByPerson}}
	w.hear("ada", "never touch the red button", 0)
	for i := range 60 {
		w.hear("ada", fmt.Sprintf("go on with step %d", i), 0)
		w.reply(fmt.Sprintf("I will finish step %d of the plan by tomorrow evening, and tell everybody in the room about it.", i), 0)
		w.turns(1, 700)
		if i%4 == 3 {
			w.mechanically()
			w.budgets(t)
		}
	}
	w.conserved()
	past := w.state.Stable.Past
	if !strings.Contains(past, "never touch the red button") || !strings.Contains(past, "\n- be kind\n") {
		t.Error("a rule, or what a person has pinned, gave way to intents")
	}
	if len(w.notes) == 0 || !strings.Contains(w.notes[0], "I will finish step") || !strings.Contains(w.notes[0], "self/MEMORY.md") {
		t.Errorf("the agent was told %q", w.notes)
	}
	if strings.Contains(past, "- e2..") {
		t.Error("the oldest intent is still pinned")
	}
}
