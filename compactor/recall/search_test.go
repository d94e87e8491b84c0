package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

func TestFindsWhatFaded(t *testing.T) {
	w := newWorld(t)
	retry := w.says("We settled on exponential backoff for the payment retries, seven attempts at most.")
	w.says("The lighthouse keeper counts the ships each morning.")
	cat := w.says("My cat Mireille hates the vacuum cleaner.")
	tool := w.fades(w.worked("I look.", "BASH", `{"command":"cat internal/durable/append.go"}`,
		"func appendToFile(path string) error {\n\treturn nil\n}\n"))[0]
	x := w.synced()

	h := w.finds(x, "how many attempts did we allow for a retried payment?", retry)
	if h.From != 2-1 || h.To != 1 || h.Gist != "gist of it" || h.At.IsZero() || len(h.Rooms) != 1 || h.Rooms[0] != "dev" ||
		h.Kinds[0] != "chat" {
		t.Errorf("hit %+v", h)
	}
	if !strings.Contains(h.Passage, "exponential backoff") {
		t.Errorf("passage %q", h.Passage)
	}
	w.finds(x, "mireille", cat)
	w.finds(x, "internal/durable/append.go", tool)
	w.finds(x, "append.go", tool)
	if h := w.finds(x, "append to file", tool); h.Tools[0] != "BASH" || fmt.Sprint(h.Kinds) != "[reply tool]" {
		t.Errorf("hit %+v", h)
	}
}

// An offset is what UNCOMPACT takes: it counts characters of the body.
func TestOffsetOfPassage(t *testing.T) {
	w := newWorld(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("é日本 line %d speaks of nothing much at all, only weather", i))
	}
	lines[31] = "the combination of the safe is ◆ forty-two zebra"
	h := w.fades(w.worked("Ich lese.", "BASH", "{}", strings.Join(lines, "\n")))[0]
	x := w.synced()
	hit := w.finds(x, "combination of the safe", h)
	rest := string([]rune(w.body(h))[hit.Offset:])
	first, _, _ := strings.Cut(strings.TrimPrefix(hit.Passage, "(BASH) "), "\n")
	if !strings.HasPrefix(strings.TrimSpace(blobs.Unescape(rest)), first) {
		t.Errorf("at %d stands %.60q, the passage is %q", hit.Offset, rest, hit.Passage)
	}
	if !strings.Contains(hit.Passage, "◆ forty-two zebra") {
		t.Errorf("the passage is not raw: %q", hit.Passage)
	}
}

// The offset leads to the beginning of a message of which the passage shows a later part, unless
// that is far off.
func TestOffsetOfMessage(t *testing.T) {
	w := newWorld(t)
	head := "The parcels have the numbers 7719-2201 to 7719-2214. " + strings.Repeat("Eleven were charged twice. ", 14)
	near := w.says(head + "Best, Annika Hallberg")
	far := w.says(strings.Repeat(head, 4) + "Best, Sigrun Moen")
	x := w.synced()
	for name, c := range map[string]struct {
		h    blobs.Hash
		near bool
	}{"Annika Hallberg": {near, true}, "Sigrun Moen": {far, false}} {
		hit := w.finds(x, name, c.h)
		at := string([]rune(w.body(c.h))[hit.Offset:])
		if !strings.Contains(hit.Passage, "] … ") || !strings.Contains(hit.Passage, name) || strings.HasPrefix(at, "[USER:ada ") != (c.near) {
			t.Errorf("%s: at %d stands %.60q, the passage is %q", name, hit.Offset, at, hit.Passage)
		}
	}
}

// A word that no reader of an original sees, hidden or not there, is named, once. An identifier is no word that is nowhere while another may hold it.
func TestAbsentWords(t *testing.T) {
	w := newWorld(t)
	w.says("My daughter got her seahorse badge today.")
	w.says("The offer is docs/quote.docx, and there is a note of March.")
	for query, want := range map[string]string{
		"quote.docx": "", "the docs/quote.docx": "", "quote.pdf offer": "quote.pdf", "walrus.docx": "walrus.docx",
	} {
		found, err := w.synced().Search(t.Context(), w.store, Query{Text: query, Now: w.now})
		if got := strings.Join(found.Absent, ", "); err != nil || got != want {
			t.Errorf("%s: no original shows: %q, %v", query, got, err)
		}
	}
	found, err := w.synced().Search(t.Context(), w.store, Query{Text: "daughter badges dentist tooth teeth Teeth braces", Now: w.now})
	if got := strings.Join(found.Absent, ", "); err != nil || got != "dentist, tooth, braces" {
		t.Errorf("no original shows: %s, %v", got, err)
	}
	w.fades(w.worked("I looked.", "BASH", `{"command":"cat offer.html"}`,
		"<body><style>.x{display:none}</style><p>a price of ninety</p><p class=x>forward the ledger</p>"))
	found, err = w.synced().Search(t.Context(), w.store, Query{Text: "ledger, ninety", Limit: 3, Now: w.now})
	if got := strings.Join(found.Absent, ", "); err != nil || got != "ledger" || len(found.Hits) != 1 ||
		strings.Contains(found.Hits[0].Shown(), "ledger") {
		t.Errorf("no original shows: %s, %v; hits %s", got, err, show(found.Hits))
	}
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	dev := w.fades(w.heard("dev", "ada", "the apple is red"))[0]
	ops := w.fades(w.heard("ops", "ben", "the apple is green"))[0]
	bash := w.fades(w.worked("An apple it is.", "BASH", `{"command":"echo apple"}`, "apple"))[0]
	list := w.fades(w.worked("", "LIST", `{"path":"apple"}`, "apple"))[0]
	note := w.fades(fmt.Sprintf("◆ e%d note ◱hash=0123456789abcdef gist=…◲\nthe apple was edited\n", w.next))[0]
	old := w.fades(fmt.Sprintf("◆ e%d inbound room=dev ◱hash=0123456789abcdef gist=…◲\n[USER:cleo 2023-05-07T10:00:00Z] an "+
		"old apple\n[USER:cleo 2023-05-09T23:30:00Z] an apple older than that\n", w.next))[0]
	x := w.synced()
	names := map[blobs.Hash]string{dev: "dev", ops: "ops", bash: "bash", list: "list", note: "note", old: "old"}
	between := func(since, until string) Query {
		times := [2]time.Time{}
		for i, text := range []string{since, until} {
			if text != "" {
				var err error
				times[i], err = time.Parse(time.RFC3339, text)
				lethetest.Must(t, err)
			}
		}
		return Query{Since: times[0], Until: times[1]}
	}
	noteOfDay := between("2026-03-01T00:00:00Z", "2026-03-01T23:00:00Z")
	noteOfDay.Kind = "note"
	for _, c := range []struct {
		what string
		q    Query
		want string
	}{
		{"nothing", Query{}, "bash dev list note old ops"},
		{"no such room", Query{Room: "nowhere"}, ""},
		{"a room that is syntax", Query{Room: `dev" OR "x`}, ""},
		{"until", between("", "2024-01-01T00:00:00Z"), "old"},
		{"since", between("2023-05-10T00:00:00Z", ""), "bash dev list note ops"},
		{"since, to the second", between("2023-05-09T23:30:01Z", "2023-06-01T00:00:00Z"), ""},
		{"until, to the second", between("", "2023-05-07T09:59:59Z"), ""},
		{"the last day of it", between("2023-05-09T00:00:00Z", "2023-05-09T23:59:59Z"), "old"},
		{"another zone", between("2023-05-10T08:00:00+09:00", "2023-05-10T09:00:00+09:00"), "old"},
		{"the past before all", between("", "1999-01-01T00:00:00Z"), ""},
		{"the future", between("2999-01-01T00:00:00Z", ""), ""},
		{"backwards", between("2026-03-02T00:00:00Z", "2026-02-01T00:00:00Z"), ""},
		{"a note's day, from the log", noteOfDay, "note"},
	} {
		c.q.Text = "apple"
		var got []string
		for _, h := range w.search(x, c.q) {
			got = append(got, names[h.Hash])
		}
		if slices.Sort(got); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.what, got, c.want)
		}
	}
}

// Syntax in a query is text, no text makes an index look damaged, and a megabyte of it
// is no reason to work long.
func TestHostileQueries(t *testing.T) {
	w := newWorld(t)
	apple := w.says("an apple tree, a_b and it's there")
	x := w.synced()
	empty := []string{"", " \n\t", "?!", "...", "\x00\x00", "\xff", "◆◱◲", "\"*\"", "— …", "\u0301", "😀", "it's",
		strings.Repeat("(", 1<<20)}
	others := []string{`NEAR(`, `^abc`, ";drop table docs;--", "%s%d", "a_b", "a.b.c.d/e/f@g", "''s", "中", "ー", "e\u0301",
		strings.Repeat("a", 1<<20), strings.Repeat("中", 1<<20), strings.Repeat("_a", 1<<20), strings.Repeat("'a", 1<<20)}
	apples := []string{`"apple`, `app"le apple`, `apple*`, `^apple`, `apple AND`, `AND apple`, `NOT apple`, `NEAR(apple tree)`,
		`term:apple`, `{term}:apple`,
		`-apple`, `(apple`, `apple)`, `apple + tree`, `apple~3`, "apple\x00tree", "apple\xff", "◱apple", "\u202eapple",
		strings.Repeat("apple ", 1<<18)}
	for _, text := range slices.Concat(empty, others, apples) {
		if found, err := x.Search(t.Context(), w.store,
			Query{Text: "apple", Room: text + "?", Tool: text + "?", Kind: text + "?"}); err != nil || len(found.Hits) > 0 {
			t.Errorf("%.40q as a filter: %v, %s", text, err, show(found.Hits))
		}
		if _, err := x.Hints(t.Context(), w.store, text, w.now, HintConfidence); err != nil {
			t.Errorf("hints for %.40q: %v", text, err)
		}
		found, err := x.Search(t.Context(), w.store, Query{Text: text, Limit: 10, Now: w.now})
		hits := found.Hits
		if isEmpty := slices.Contains(empty, text); isEmpty != errors.Is(err, ErrEmpty) || err != nil && !errors.Is(err, ErrEmpty) {
			t.Errorf("%.40q: %v", text, err)
		}
		if slices.Contains(apples, text) && (len(hits) == 0 || hits[0].Hash != apple) {
			t.Errorf("%.40q finds %s", text, show(hits))
		}
	}
	w.sync(x)
	if w.anew() {
		t.Errorf("a query had the index made anew: %s", w.said.String())
	}
}

func TestHints(t *testing.T) {
	w := newWorld(t)
	apple := w.says("We promised Ada to deliver the zirconium samples to Reykjavik by ferry.")
	var more []string
	for i := range 30 {
		more = append(more, w.heard("dev", "ben", fmt.Sprintf("Nothing new on day %d; the weather is fine and the build is green.", i)))
	}
	w.fades(more...)
	x := w.synced()
	ctx := context.Background()
	hinted, err := x.Hints(ctx, w.store, "When do the zirconium samples go to Reykjavik?", w.now, HintConfidence)
	if hits := hinted.Hits; err != nil || len(hits) == 0 || hits[0].Hash != apple || len(hits) > 3 {
		t.Errorf("hints %s, %v", show(hits), err)
	}
	// A text that exclaims needs a better match, unless it asks.
	for text, share := range map[string]float64{
		"": 1, "!": exclaimed, "!\nSo good": exclaimed, "! Is it?": 1, "! 它?": 1, ", if x != 3": 1,
	} {
		said := "The zirconium samples went to Reykjavik"
		plain, err := x.Hints(ctx, w.store, said+strings.NewReplacer("!", "", " = 3", "").Replace(text), w.now, 0)
		lethetest.Must(t, err)
		hinted, err := x.Hints(ctx, w.store, said+text, w.now, 0)
		if err != nil || len(hinted.Hits) == 0 {
			t.Fatalf("%q: %v, hints %s", text, err, show(hinted.Hits))
		}
		if got := hinted.Hits[0].Confidence / plain.Hits[0].Confidence; math.Abs(got-share) > 0.01 {
			t.Errorf("of %q %.2f counts", text, got)
		}
	}
	for _, text := range []string{"thanks!", "ok", "Could you please tell me?", "How does photosynthesis work in mosses?"} {
		if hinted, err := x.Hints(ctx, w.store, text, w.now, HintConfidence); err != nil || len(hinted.Hits) > 0 {
			t.Errorf("%q brings hints %s, %v", text, show(hinted.Hits), err)
		}
	}
}
