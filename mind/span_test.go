package mind

import (
	"slices"
	"testing"
)

// Own lines side by side take one span, however many they are.
func TestOwnLinesShareASpan(t *testing.T) {
	w := heard(t)
	w.says("dev", "ada", "not heard yet")
	from := w.end("dev")
	w.answer(Answer{Calls: []AnswerCall{say("dev", "one"), say("dev", "two"), say("dev", "three")}})
	for range 3 {
		w.start()
		w.pay()
		w.finish(OK, "said", 0)
	}
	to := w.end("dev")
	r := w.state.Rooms["dev"]
	if want := []Span{{From: from, To: to}}; !slices.Equal(r.Own, want) {
		t.Fatalf("own %v, want %v", r.Own, want)
	}
}
