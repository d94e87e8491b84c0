package recall

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Hints are what they would be without an endpoint, when it hangs or knows
// nothing better, and vectors alone bring none.
func TestHintsWithVectors(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.says(fmt.Sprintf("The zorble of the harbour has a lighthouse, house number %d.", i))
	}
	w.says("Bread is baked at dawn.")
	e := newEndpoint(t)
	x := w.embedded(e)
	hint := func(text string, wait time.Duration) string {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		hits, err := x.Hints(ctx, w.store, text, w.now, nil)
		if err != nil {
			t.Fatal(err)
		}
		return show(hits)
	}
	const text = "which house number has the zorble at the lighthouse of the harbour?"
	e.sent()
	asked := false
	for i := 0; i < 50 && !asked; i++ { // on a busy machine, there may be no time to ask in
		x.embedding.trouble.hint = rest{}
		if got := hint(text, 20*time.Second); got == "[]" {
			t.Fatalf("hints %s", got)
		}
		texts, _ := e.sent()
		asked = len(texts) == 1 && texts[0] == text
	}
	if !asked {
		t.Fatal("never asked")
	}
	for _, text := range []string{"quamish", "good morning, my house is full of quamish people, and how was your weekend?"} {
		if got := hint(text, 20*time.Second); got != "[]" {
			t.Errorf("vectors alone have hinted at %s", got)
		}
	}
	if _, calls := e.sent(); calls != 0 {
		t.Error("where words bring no hint, the text was sent")
	}
	release := make(chan struct{})
	defer close(release)
	e.answers(func(_ http.ResponseWriter, r *http.Request, _ []string) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	})
	x.embedding.trouble.hint = rest{pause: lastPause}
	hanging := hint(text, 20*time.Second)
	e.sent()
	if again := hint(text, 20*time.Second); again != hanging {
		t.Errorf("hints %s, then %s", hanging, again)
	}
	if _, calls := e.sent(); calls != 0 {
		t.Error("a hint asks again at once")
	}
	e.answers(nil) // a hint that got no answer is no reason for a search not to ask
	w.search(x, Query{Text: text})
	if _, calls := e.sent(); calls != 1 {
		t.Errorf("a search asked %d times", calls)
	}
	x.Embed(nil)
	if without := hint(text, 20*time.Second); hanging != without || without == "[]" {
		t.Errorf("hints %s, without an endpoint %s", hanging, without)
	}
}

// Vectors put what words are about as sure of in another order.
func TestReorderHints(t *testing.T) {
	w := newWorld(t)
	first := w.says("The harbour has a house of frindle.")
	for range 4 {
		w.says("The harbour has a house of stone.")
	}
	x := w.embedded(newEndpoint(t))
	cands, order, err := x.find(context.Background(), w.store, analyse("house at the harbour", w.now), Query{}, nil)
	if err != nil || len(order) != 5 || cands[order[4].candidate].hash != first {
		t.Fatal(order, err)
	}
	v, _ := normal(meaning("plonketh"))
	got, err := x.reorder(context.Background(), &asked{model: "m", vector: v}, cands, order)
	if err != nil || len(got) != 5 || cands[got[3].candidate].hash != first || got[0].candidate != order[0].candidate {
		t.Error(got, err)
	}
}

// After a question that failed, others are not delayed.
func TestHangingEndpointDelaysOnce(t *testing.T) {
	w := newWorld(t)
	zorble := w.says("The zorble is in the attic.")
	e := newEndpoint(t)
	x := w.embedded(e)
	e.sent()
	e.answers(func(_ http.ResponseWriter, r *http.Request, _ []string) bool { <-r.Context().Done(); return true })
	x.embedding.trouble.search.pause = lastPause
	w.finds(x, "zorble", zorble)
	w.finds(x, "zorble", zorble)
	if _, calls := e.sent(); calls != 1 {
		t.Errorf("asked %d times", calls)
	}
}
