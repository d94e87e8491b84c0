package compactor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/internal/lethetest"
)

func TestReadSegments(t *testing.T) {
	for answer, want := range map[string]string{
		`{"chunks":[{"from":"e3","to":"e9","topic":"x"},{"from":"e10","to":"e12"}]}`:            "[{3 9} {10 12}]",
		"```json\n{\"chunks\":[{\"from\":\"e3\",\"to\":\"e9\"}]}\n```":                          "[{3 9}]",
		`Well, {as you see}: {"chunks":[{"from":3,"to":"9"}]} and {"chunks":[]}`:                "[{3 9}]",
		`{"chunks":[{"from":"◆ e3","to":"(e9)"},{"from":"e4.2","to":"e5_1"},{"from":"later"}]}`: "[{3 9} {4 5}]",
		`{"result":{"chunks":[{"from":"e3","to":"e9"}]}}`:                                       "[{3 9}]",
	} {
		got, err := readSegments(answer)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", answer, got, err, want)
		}
	}
	for _, answer := range []string{"", "{}", "[]", `{"chunks":{}}`, `{"chunks":["e1"]}`, `{"chunks":[{"from":"e1"}]}`, `{"chunks":[{"from":"e1","to":"e`} {
		if got, err := readSegments(answer); !errors.Is(err, ErrGarbage) {
			t.Errorf("%s: %v %v, want garbage", answer, got, err)
		}
	}
}

func TestReadSummary(t *testing.T) {
	for raw, want := range map[string]int{"4": 4, `"7"`: 7, "0": 1, "-3": 1, "99": 10, "6.6": 7, `" 5 "`: 5, `"high"`: 0, "null": 0, "[3]": 0, "1e400": 0} {
		var f Fade
		if _, err := f.readSummary(`{"summary":"s","relevance":` + raw + `}`); err != nil || f.Relevance != want {
			t.Errorf("relevance %s is read as %d (%v), want %d", raw, f.Relevance, err, want)
		}
	}
	var f Fade
	keep, err := f.readSummary(`{"summary":" a ◆ b ◰4 c \u0000d ","gist":7,"keep":["x",3,null," ","y "]}`)
	if err != nil || f.Summary != "a ◰4 b ◰4 c d" || f.Gist != "" || strings.Join(keep, "|") != "x|y" {
		t.Errorf("%+v %q %v", f, keep, err)
	}
	if keep, err := f.readSummary(`{"summary":"s","keep":"none"}`); err != nil || len(keep) > 0 {
		t.Errorf("%q %v", keep, err)
	}
}

// source is a job of one run, with its units.
func source(t *testing.T) (Job, []unit) {
	w := newWorld(t, 60_000)
	w.turns(20, 700)
	j := w.plan()
	return j, j.runs[0][:6]
}

func answer(summary, gist string, relevance int, keep ...string) string {
	for i, k := range keep {
		keep[i] = fmt.Sprintf("%q", k)
	}
	return fmt.Sprintf(`{"summary":%q,"gist":%q,"relevance":%d,"keep":[%s]}`, summary, gist, relevance, strings.Join(keep, ","))
}

func TestAccept(t *testing.T) {
	j, units := source(t)
	f, err := j.accept(units, answer("The build of ticket-1 was mended.", "ticket-1:\n mended "+strings.Repeat("é", 200), 6,
		"ticket-1", "src/mod1/file1.go", "made/up.go", "code1", "code1"))
	lethetest.Must(t, err)
	if f.Summary != "The build of ticket-1 was mended.\nAlso: src/mod1/file1.go, code1" {
		t.Errorf("summary %q", f.Summary)
	}
	if n := utf8.RuneCountInString(f.Gist); n != blobs.MaxGist || !strings.HasPrefix(f.Gist, "ticket-1: mended é") {
		t.Errorf("a gist of %d runes: %q", n, f.Gist)
	}
	if f.From != 1 || f.To != 6 || f.Tokens != size(units) || f.Mechanical {
		t.Errorf("%+v", f)
	}
	// No gist and no relevance: both are made.
	f, err = j.accept(units, `{"summary":"All is well."}`)
	if err != nil || f.Gist == "" || f.Relevance < 1 {
		t.Errorf("%+v %v", f, err)
	}
}

// A summary may be as long as its relevance allows; what is longer than its
// source is refused.
func TestAcceptBoundsSummaries(t *testing.T) {
	j, units := source(t)
	long := "Ada said: always use tabs. " + strings.Repeat("This sentence fills the summary. ", size(units)/20)
	last := 0
	for _, relevance := range []int{1, 5, 10} {
		f, err := j.accept(units, answer(long, "g", relevance))
		lethetest.Must(t, err)
		n := meter(f.Summary)
		if n <= last || n > size(units)*(4+2*relevance)/100 && n > 80 {
			t.Errorf("relevance %d: a summary of %d tokens for %d", relevance, n, size(units))
		}
		if !strings.Contains(f.Summary, "…") || !strings.Contains(f.Summary, "always use tabs") {
			t.Errorf("relevance %d: the cut is not marked, or cuts a rule: %q", relevance, f.Summary)
		}
		last = n
	}
	if _, err := j.accept(units, answer(strings.Repeat("more than there was ", size(units)), "g", 5)); !errors.Is(err, ErrGarbage) {
		t.Errorf("a summary longer than its source: %v", err)
	}
}

func TestAcceptPins(t *testing.T) {
	j, units := source(t)
	f, err := j.accept(units, answer("Ada wants the code1 fixed. More.", "g", 10, "I will never do this", "code1"))
	if err != nil || len(f.pins) != 1 || f.pins[0].Text != "Ada wants the code1 fixed." {
		t.Errorf("what is rated 10 is pinned as %+v %v", f.pins, err)
	}
	units[0].Text += "\n[USER:bob 2026-11-20T12:57:16Z] is it always the gate that must not open?"
	f, err = j.accept(units, answer("Gates.", "g", 10, "always", "the gate that must not open"))
	if err != nil || len(f.pins) != 1 || f.pins[0].Text != "the gate that must not open" {
		t.Errorf("of promises that a model names are pinned %+v %v", f.pins, err)
	}
	f, err = j.accept(units, answer("Ada wants things fixed.", "g", 9))
	if err != nil || len(f.pins) != 0 {
		t.Errorf("what is rated 9 is pinned as %+v %v", f.pins, err)
	}
}

func TestShorten(t *testing.T) {
	j := Job{in: Input{Meter: meter}}
	text := "One thing. Another thing was done. Always lock the door. Then it rained for many days in the north. The end."
	if got := j.shorten(text, 100); got != text {
		t.Errorf("a text that fits became %q", got)
	}
	if got := j.shorten(text, 24); got != "One thing. Another thing was done. Always lock the door. …" {
		t.Errorf("%q", got)
	}
	if got := j.shorten(text, 12); got != "… Always lock the door. …" {
		t.Errorf("%q", got)
	}
	if got := j.shorten(strings.Repeat("ab◰1", 100), 20); meter(got) > 20 || !strings.HasSuffix(got, "…") || strings.Contains(got, "◰…") {
		t.Errorf("%q", got)
	}
}

func TestIdentifiers(t *testing.T) {
	text := `See src/main.go:12 and https://example.org/a?b, mail ada@example.org. The KEY_1 of build-7 is 0123abcd; "v1.2.3" or NASA. A word, words. src/main.go:12 it's - -- ... 42`
	got := strings.Join(identifiers(text, 20), " ")
	if want := "src/main.go:12 https://example.org/a?b ada@example.org KEY_1 build-7 0123abcd v1.2.3 NASA"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := strings.Join(keywords("Tulips and tulips grow; a garden of TULIPS needs water, 漢字 too. Water!", 4), " "); got != "tulips water grow garden" {
		t.Errorf("keywords %s", got)
	}
}

// Nothing that a model can say makes the reader fail in a new way.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"chunks":[{"from":"e1","to":"e3"}],"summary":"s","gist":"g","relevance":3,"keep":["x"]}`)
	f.Add("```\n{\"summary\":\"◆\"}")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := readSegments(text); err != nil && !errors.Is(err, ErrGarbage) {
			t.Error(err)
		}
		var f Fade
		if _, err := f.readSummary(text); err != nil && !errors.Is(err, ErrGarbage) {
			t.Error(err)
		}
		if strings.ContainsAny(f.Summary+f.Gist, "◱◲◳◆") || !utf8.ValidString(f.Summary) {
			t.Errorf("%q", f.Summary)
		}
	})
}
