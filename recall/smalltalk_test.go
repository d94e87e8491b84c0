package recall

import (
	"fmt"
	"testing"
)

// What says nothing reminds of nothing, though the very words stand somewhere and
// are rare; a search for them finds them all the same.
func TestSmallTalkHasNoHints(t *testing.T) {
	w := newWorld(t)
	talk := []string{
		"what is it?", "how was it then?", "and you?", "who else would", "which of these do you have?", "why not", "ok 1", "5", "1", "x",
		"what is 3 + 4?", "10:30", "thanks", "thank you very much", "hello", "good morning", "is it so?", "not me, you!", "because of you",
		"himself", "what about yourself", "same here", "no more of that", "who does she think she is", "👍 ok",
	}
	for i, text := range talk {
		w.says(text)
		w.says(fmt.Sprintf("the ferry number %d0%d brings barrels of herring", i, i))
	}
	lantern := w.says("the lantern in tower 5 is broken")
	x := w.synced()
	for _, text := range talk {
		hints, err := x.Hints(t.Context(), w.store, text, w.now, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hints {
			t.Errorf("%q has the hint %q with %.2f", text, h.Passage, h.Confidence)
		}
	}
	for _, text := range []string{"what is it?", "5", "x"} {
		if hits := w.search(x, Query{Text: text}); len(hits) == 0 {
			t.Errorf("a search for %q finds nothing", text)
		}
	}
	w.finds(x, "tower 5", lantern)
	if hints, err := x.Hints(t.Context(), w.store, "is the lantern in tower 5 broken?", w.now, nil); err != nil || len(hints) == 0 || hints[0].Hash != lantern {
		t.Errorf("hints %s, %v", show(hints), err)
	}
}
