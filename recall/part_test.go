package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What a query is limited to holds for what is ranked and shown, not only for the
// original that it stands in.
func TestFiltersOfLines(t *testing.T) {
	w := newWorld(t)
	mixed := w.heard("ops", "bob", "lunch is at noon, osprey") +
		w.heard("dev", "ann", "osprey is a codename, and osprey is the secret") +
		w.worked("An osprey, I say.", "BASH", `{"command":"echo"}`, "the osprey printed") +
		w.worked("", "LIST", `{"path":"."}`, "osprey.txt")
	noted := fmt.Sprintf("◆ e%d note ◱hash=0123456789abcdef gist=…◲\nan osprey was edited\n", w.next)
	w.next++
	w.now = w.now.Add(200 * 24 * time.Hour)
	late := w.heard("dev", "cleo", "osprey again") + w.worked("Osprey late.", "BASH", "{}", "late osprey")
	w.fades(mixed + noted + late)
	x := w.synced()
	day := w.now.Add(-24 * time.Hour)
	for _, c := range []struct {
		what     string
		q        Query
		in, not  string // words of the passage
		earliest bool   // At is of the first day
	}{
		{"nothing", Query{}, "secret", "", false},
		{"a room", Query{Room: "ops"}, "lunch", "secret", true},
		{"a tool", Query{Tool: "list"}, "osprey.txt", "printed", true},
		{"another tool", Query{Tool: "BASH"}, "printed", "secret", false},
		{"a room or a tool", Query{Room: "ops", Tool: "LIST"}, "osprey", "secret", true},
		{"a reply", Query{Kind: "reply"}, "An osprey, I say", "secret", false},
		{"a reply, beside a room", Query{Kind: "reply", Room: "ops"}, "An osprey, I say", "secret", false},
		{"chat of a room", Query{Kind: "chat", Room: "ops"}, "lunch", "secret", true},
		{"tools of a sort", Query{Kind: "tool", Tool: "LIST"}, "osprey.txt", "printed", true},
		{"a note", Query{Kind: "note"}, "edited", "secret", true},
		{"since", Query{Since: day}, "again", "secret", false},
		{"since, a tool", Query{Since: day, Tool: "BASH"}, "late osprey", "printed", false},
		{"until", Query{Until: day}, "secret", "again", true},
		{"until, a reply", Query{Until: day, Kind: "reply"}, "An osprey", "late", true},
	} {
		c.q.Text = "osprey secret"
		hits := w.search(x, c.q)
		if len(hits) != 1 {
			t.Errorf("%s: %d hits", c.what, len(hits))
			continue
		}
		h := hits[0]
		if !strings.Contains(h.Passage, c.in) || c.not != "" && strings.Contains(h.Passage, c.not) {
			t.Errorf("%s: %q", c.what, h.Passage)
		}
		if early := h.At.Before(day); early != c.earliest {
			t.Errorf("%s: at %v", c.what, h.At)
		}
	}
	// Nothing of what is left has the words, and that the original has them is
	// neither here nor there.
	for _, q := range []Query{{Text: "secret", Room: "ops"}, {Text: "secret", Since: day}, {Text: "gist", Room: "ops"}, {Text: "lunch", Since: day.Add(-50 * 24 * time.Hour), Until: day}} {
		if hits := w.search(x, q); len(hits) > 0 {
			t.Errorf("%+v: %s", q, show(hits))
		}
	}
}

// A gist tells of all of an original, and counts as long as all of it fits.
func TestGistWithFilter(t *testing.T) {
	w := newWorld(t)
	hash := w.fades(w.heard("dev", "ann", "an osprey"))[0]
	x := w.synced()
	for _, q := range []Query{{Text: "gist"}, {Text: "gist", Room: "dev"}, {Text: "gist", Since: w.now.Add(-time.Hour)}} {
		if hits := w.search(x, q); len(hits) != 1 || hits[0].Hash != hash {
			t.Errorf("%+v: %s", q, show(hits))
		}
	}
}

// A cut has what lies in it, in its own bytes, and with the sections and the
// messages that it goes on.
func TestPartsOfCut(t *testing.T) {
	body := chat("ann 2023-05-08 one two three", "bob 2023-05-08 four") + tool("make", "five six")
	from, to := strings.Index(body, "two"), strings.Index(body, " six")
	fit := Query{}.parts(body, sections(body), span{from, to}, monday)
	text := body[from:to]
	var got []string
	for _, p := range fit.parts {
		for _, m := range p.messages {
			got = append(got, m.speaker+" "+text[m.from:m.to])
		}
		if p.kind != "inbound" {
			got = append(got, p.kind+" "+p.tool+" "+strings.TrimSpace(text[p.from:p.to]))
		}
	}
	if want := `["ann two three" "bob four" "reply  " "reply  I look." "call BASH {\"command\":\"make\"}" "result BASH five"]`; fmt.Sprintf("%q", got) != want || !fit.all {
		t.Errorf("%q, want %s", got, want)
	}
}
