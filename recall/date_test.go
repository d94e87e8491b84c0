package recall

import (
	"fmt"
	"testing"
	"time"

	"lethe/blobs"
)

// A date in a text is found by its date, however either is written, and whenever it
// was said.
func TestFindsDates(t *testing.T) {
	w := newWorld(t)
	moved := w.says("On 2025-08-17 we moved the database to the new rack.")
	dentist := w.says("The dentist appointment is on 5 December 2026 at nine.")
	rent := w.says("Rent is due on 2026-12-24.")
	party := w.says("the summer party is on May 9th, bring cake")
	decided := w.fades(w.worked("I look.", "BASH", `{"command":"cat adr.md"}`, "ADR decided 2024/03/09 10:20:30: use postgres"))[0]
	novel := w.says("Orwell wrote it, and in 1984 the tower was painted")
	backup := w.fades(w.worked("I look.", "BASH", `{"command":"ls"}`, "backup-2023-11-02.tar.gz"))[0]
	camp := w.says("camp is on August 21-23 this year, says the club")
	for i := range 40 {
		w.says(fmt.Sprintf("filler number %d about nothing %d", i, i*7))
	}
	x := w.synced()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]blobs.Hash{
		"2025-08-17": moved, "17 August 2025": moved, "what happened on 2025-08-17?": moved, "august 17th": moved, "the 17th of Aug, 2025": moved,
		"what is on 5 December 2026?": dentist, "5 December": dentist, "December 5": dentist, "2026-12-05": dentist, "what is in december?": dentist,
		"what is due on 24 December 2026?": rent, "2026/12/24": rent, "Dec. 24": rent,
		"9 May 2026": party, "what is on May 9?": party,
		"2024-03-09": decided, "what did we decide on 9 March 2024?": decided,
		"1984": novel, "what was in 1984?": novel,
		"2023-11-02":   backup,
		"August 21-23": camp, "21 August": camp,
	} {
		hits := w.search(x, Query{Text: text, Now: now})
		if len(hits) == 0 || hits[0].Hash != want {
			t.Errorf("%q finds %.300s", text, show(hits))
		}
	}
	hints, err := x.Hints(t.Context(), w.store, "is anything on 5 December 2026?", now, nil)
	if err != nil || len(hints) == 0 || hints[0].Hash != dentist {
		t.Errorf("hints %s, %v", show(hints), err)
	}
}

// The time in tags goes on being found by a date that nobody has named.
func TestDatesAreTimesToo(t *testing.T) {
	w := newWorld(t)
	w.now = time.Date(2026, 1, 7, 9, 0, 0, 0, time.UTC)
	w.says("the crane lifts the bell")
	w.now = time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
	may := w.says("the crane lifts the roof")
	w.now = time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)
	w.says("the crane lifts the mast, as may be")
	x := w.synced()
	for _, text := range []string{"what did the crane lift on 3 May 2026?", "what did the crane lift on 2026-05-03?", "what did the crane lift in May?"} {
		w.finds(x, text, may)
	}
}

// One tag of a year before all years does not take the others away.
func TestTagOfTheYearOne(t *testing.T) {
	w := newWorld(t)
	now := w.now
	w.now = time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)
	w.says("the crane is not built yet")
	w.now = now
	crane := w.says("the crane lifts the bell")
	x := w.synced()
	hits := w.search(x, Query{Text: "crane bell", Until: now.Add(time.Hour)})
	if len(hits) == 0 || hits[0].Hash != crane {
		t.Errorf("until now finds %s", show(hits))
	}
}

// Stemming changes the beginning of few words; they are found all the same.
func TestFindsWordsOfAnotherBeginning(t *testing.T) {
	for _, word := range []string{"dying", "lying", "tying", "went", "skies"} {
		w := newWorld(t)
		said := w.says("the " + word + " swan")
		w.finds(w.synced(), word, said)
	}
}
