package compactor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// The line of a range that a later summary overtakes says so: as a summary, as a gist and on its card. Only what stands in
// the past and is older can be overtaken, and only what is named by its range.
func TestOvertaken(t *testing.T) {
	w := newWorld(t, 20_000)
	w.set.Target = 0
	w.turns(9, 700)
	w.swap(chunks(w, 5))
	first, other := w.state.Faded[0], w.state.Faded[1]
	w.turns(9, 700)
	fades := chunks(w, 5)
	last := fades[len(fades)-1]
	f := Fade{From: fades[0].From, To: fades[0].To}
	_, err := f.readSummary(fmt.Sprintf(`{"summary":"s","overtakes":[%q,"e1..e999","e%d..e%d",7,null,"premiere"]}`,
		first.Name(), last.From, last.To))
	lethetest.Must(t, err)
	fades[0].overtakes = f.overtakes
	fades[0].Relevance = 1
	by := ", overtaken by " + mind.EntryID(fades[0].To)
	w.swap(fades)
	stands := func(level string) {
		t.Helper()
		if past := w.state.Stable.Past; !strings.Contains(past, "◆ "+first.Name()+" "+level+by+" ◱hash=") ||
			strings.Count(past, "overtaken") != 1 {
			t.Errorf("as a %s the line does not say%s, or others do:\n%s", level, by, past)
		}
	}
	stands(w.state.Faded[0].Level)
	for i := range w.state.Faded {
		w.state.Faded[i].Level, w.state.Faded[i].Text, w.state.Faded[i].Summary = mind.Gist, "", nil
	}
	w.swap(nil)
	w.state.Open("", nil, w.now)
	stands(mind.Gist)
	for rounds := 0; w.state.Faded[0].Level != mind.Card; rounds++ {
		if rounds > 200 {
			t.Fatal("nothing has gone on a card")
		}
		w.turns(9, 700)
		w.swap(chunks(w, 5))
	}
	body, err := w.read(w.state.Faded[0].Original.Hash)
	lethetest.Must(t, err)
	list := mind.ReadCard(body)
	if i := slices.IndexFunc(list,
		func(l mind.Listing) bool { return l.From == other.From }); list[0].Overtaken != by || list[i].Overtaken != "" {
		t.Errorf("the card lists %+v", list[:2])
	}
	if strings.Contains(w.state.Stable.Past, "overtaken") || w.state.Overtaken[first.Name()] != fades[0].To || len(w.state.Overtaken) != 1 {
		t.Errorf("%v is overtaken after it has gone on a card", w.state.Overtaken)
	}
}

// What is overtaken within one compaction is marked, at the line that is quoted: also once an older chunk that stayed has
// faded. A quote that no older entry of the range says marks nothing.
func TestOvertakenInOneCompaction(t *testing.T) {
	for name, c := range map[string]struct {
		overtakes string
		stays     bool // the older chunk, at first
		want      string
	}{
		"quoted":       {`%s: The key's code is 4471!`, false, `, overtaken by e%d: "The key's code is 4471!"`},
		"by its entry": {`%s by e BY: The key's code is 4471!`, false, `, overtaken by eBY: "The key's code is 4471!"`},
		"by another":   {`%s by e999: the key's code is 4471`, false, `, overtaken by e%d: "the key's code is 4471"`},
		"stayed":       {`%s: the key's code is 4471`, true, `, overtaken by e%d: "the key's code is 4471"`},
		"not said":     {`%s: the key's code is 5555`, false, ""},
		"said by none": {`e700..e900: the key's code is 4471`, false, ""},
		"too short":    {`%s: 44`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 20_000)
			w.set.Target = 0
			w.hear("ada", "the key's code is 4471, and the premiere is in May")
			w.reply("", "a note")
			w.reply("Noted.")
			w.turns(3, 700)
			w.hear("ada", "the key's code is 9036 now")
			w.reply("", "another note")
			w.reply("Noted, 9036.")
			w.turns(9, 700)
			fades := chunks(w, 5)
			first, last := fades[0], &fades[len(fades)-1]
			overtakes := strings.Replace(c.overtakes, "%s", mind.EntryID(first.From), 1)
			overtakes = strings.Replace(overtakes, "e BY", mind.EntryID(last.From), 1)
			_, err := last.readSummary(fmt.Sprintf(`{"summary":"s","gist":"g","overtakes":[%q]}`, overtakes))
			lethetest.Must(t, err)
			by := last.To
			if c.stays {
				w.swap(fades[1:])
				fades = fades[:1]
			}
			w.swap(fades)
			want := fmt.Sprintf("◆ e%d..e%d summary", first.From, first.To)
			if c.want != "" {
				want += strings.NewReplacer("e%d", mind.EntryID(by), "eBY", mind.EntryID(last.From)).Replace(c.want)
			}
			if past := w.state.Stable.Past; !strings.Contains(past, want+" ◱hash=") || c.want == "" && strings.Contains(past, "overtaken") {
				t.Errorf("no %q in\n%s", want, past)
			}
		})
	}
}
