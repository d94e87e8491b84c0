package mind

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// What is deleted is a faded range that holds it, and units stay paired.
func TestDeletedStaysReachable(t *testing.T) {
	w := fadedExample(t)
	view := string(w.state.View())
	for _, head := range []string{"◆ e3 ", "◆ e4 reply", "◆ e4.1 call", "◆ e4.1 result", "◆ e4.2 call",
		"◆ e4.2 result", "◆ e6 "} {
		view = strings.Replace(view, sectionOf(t, view, head), "", 1)
	}
	ed := w.edit([]byte(view))
	if !slices.Equal(ed.Deleted, []int{3, 4, 6}) {
		t.Fatalf("deleted %v", ed.Deleted)
	}
	checkStrict(t, w.state.Messages(""))
	checkConserved(t, w)
	var got []string
	for _, r := range w.state.Faded {
		body, err := w.read(r.Original.Hash)
		lethetest.Must(t, err)
		got = append(got, fmt.Sprintf("%d..%d %s", r.From, r.To, r.Level))
		for n := max(r.From, 3); n <= r.To; n++ {
			if !strings.Contains(string(body), fmt.Sprintf("◆ e%d ", n)) {
				t.Errorf("e%d is not in %q", n, body)
			}
		}
	}
	if want := []string{"1..2 summary", "3..4 gist", "6..6 gist"}; !slices.Equal(got, want) {
		t.Errorf("faded %q, want %q", got, want)
	}
	unit, _ := w.read(w.state.Faded[1].Original.Hash)
	for _, part := range []string{"something of old", "Then I speak.", "One moment.", `"echo '◰4'"`, "a line of output",
		"said in room dev", "◱hash="} {
		if !strings.Contains(string(unit), part) {
			t.Errorf("%q is not in %q", part, unit)
		}
	}
	if !strings.Contains(w.state.Stable.Past, "removed from the context by a person: hash=0123") {
		t.Errorf("past says\n%s", w.state.Stable.Past)
	}
}

// Numbers that do not follow each other are ranges of their own, also where what
// stood between them is faded already.
func TestDropAroundAFadedRange(t *testing.T) {
	w := fadedExample(t)
	for _, ed := range []Edit{{Deleted: []int{6}}, {Deleted: []int{5, 7}}} {
		lethetest.Must(t, w.state.Amend(ed, w.put))
		checkConserved(t, w)
	}
	if len(w.state.Faded) != 4 {
		t.Errorf("faded %+v", w.state.Faded)
	}
}
