package recall

import (
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/mind"
)

// What was opened is a copy if it is an original of the life: that is found, and
// not the copy. Anything else that was opened is nowhere but here.
func TestFindsWhatWasOpened(t *testing.T) {
	if opened != mind.OpenedText {
		t.Fatalf("a result of UNCOMPACT begins with %q", mind.OpenedText)
	}
	w := newWorld(t)
	life := w.self.String()
	put := func(self, body string) blobs.Hash {
		return w.put(blobs.Meta{At: w.now, Gist: "g", Life: self}, body)
	}
	opens := func(h blobs.Hash, body string) blobs.Hash {
		shown := opened + h.String()[:16] + " (g), from 2026-03-01 09:00: characters 0 to 100 of 100\n\n" + body
		return w.fades(w.worked("I look.", "UNCOMPACT", `{"ref":"`+h.String()[:16]+`"}`, shown))[0]
	}
	original := w.says("the osprey nests on the northern mast")
	b, err := w.store.Get(original)
	if err != nil {
		t.Fatal(err)
	}
	copied := opens(original, string(b.Body))
	card := "hash=0123456789abcdef gist=the heron of a card (e1..e1)\n"
	opens(put(life, card), card)
	foreign := opens(put("ffff"+life[4:], "◆ e1 inbound room=dev\n[USER:x] the bittern of another life"), "the bittern of another life")
	output := opens(put(life, "a long output about the avocet"), "a long output about the avocet")
	missing := opens(blobs.Sum([]byte("gone")), "the dunlin of a blob that is gone")
	refused := w.fades(w.worked("I look.", "UNCOMPACT", `{"ref":"0"}`, "resolve: no such blob, said the petrel"))[0]
	x := w.synced()

	w.finds(x, "osprey", original)
	for _, h := range w.search(x, Query{Text: "osprey northern mast"}) {
		if h.Hash == copied && strings.Contains(h.Passage, "osprey") {
			t.Errorf("a copy is found: %q", h.Passage)
		}
	}
	for text, want := range map[string]blobs.Hash{"bittern": foreign, "avocet": output, "dunlin": missing} {
		if h := w.finds(x, text, want); !strings.Contains(h.Passage, text) {
			t.Errorf("%s: passage %q", text, h.Passage)
		}
	}
	for _, text := range []string{"heron", "petrel"} {
		if hits := w.search(x, Query{Text: text}); len(hits) > 0 {
			t.Errorf("%q finds %s (%s)", text, show(hits), refused)
		}
	}
}
