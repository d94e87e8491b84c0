package lookup_test

import (
	"slices"
	"testing"

	"lethe/agent/lookup"
	"lethe/blobs"
	"lethe/compactor/recall"
	"lethe/mind"
)

// Nothing is hinted at that a line of MEMORY or a pin tells, or that a hint, RECALL or what was opened shows, nor what
// fits worse. That a hint before has named the original for something else silences nothing.
func TestHintNotWhatIsInSight(t *testing.T) {
	t.Parallel()
	state := mind.New()
	hits := []recall.Hit{{Hash: blobs.Hash{1}, Passage: "The keeper's code is 7431."},
		{Hash: blobs.Hash{2}, Passage: "The harbour has a barometer."}}
	unseen := func(what string, hits []recall.Hit, want int) {
		t.Helper()
		if got := len(lookup.Unseen(state, slices.Clone(hits))); got != want {
			t.Errorf("%s: %d hits, want %d", what, got, want)
		}
	}
	for notes, want := range map[string]int{
		"◆ memory\nThe code of the keeper: 7431.": 0, "◆ pins\n- keeper's code 7431\n◆ memory\n(empty)": 0,
		"◆ memory\nThe barometer of the harbour.": 1, "◆ memory\nthe keeper\nthe code\nroom 7431": 2,
		"◆ memory\n(empty)\n◆ life\nheard: the keeper's code is 7431": 2,
	} {
		state.Stable.Past = "◆ past\n" + notes
		unseen(notes, hits, want)
	}
	state.Stable.Past = ""
	const passage = "[USER:bob 2026-11-20T12:57:16Z] … the ◆ keeper's code is 7431…\n    yes"
	was := []recall.Hit{{Hash: blobs.Hash{1}, Passage: passage}, hits[1]}
	for text, want := range map[string]int{
		"hash=0100 gist=… (e1..e2)\n    [USER:bob 2026-11-20T12:57:16Z] so the ◆ keeper's code is 7431 now": 0,
		"hash=0100 gist=… (e1..e2)\n    The keeper has a code, 7431, and a dog. yes":                        2,
		"The harbour has a barometer.": 1,
	} {
		call := mind.Call{Tool: "RECALL", Status: mind.OK, Text: blobs.Escape(text)}
		for _, e := range []*mind.Entry{{N: 9, Kind: mind.Hint, Text: call.Text}, {N: 9, Kind: mind.Reply, Calls: []*mind.Call{&call}}} {
			state.Live = []*mind.Entry{e}
			unseen(e.Kind+" "+text, was, want)
		}
	}
	state.Live = []*mind.Entry{{N: 9, Kind: mind.Hint, Text: "The harbour has a barometer."}}
	unseen("a result", []recall.Hit{{Hash: blobs.Hash{2}, Passage: "(READ_FILE) The harbour has a barometer."}}, 0)
}
