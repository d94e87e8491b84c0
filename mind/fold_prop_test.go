package mind

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

// A life of any shape: at every moment the request is one that the strictest
// provider takes, nothing from outside has become structure, what was sent stays
// the beginning of what will be sent, and a resume gives the same state.
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.pictured = rapid.Bool().Draw(t, "pictured")
		if rapid.Bool().Draw(t, "older") {
			w.older()
		}
		epoch, sent := -1, []Message(nil)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.step(t)
			now := w.state.Messages("")
			checkStrict(t, now)
			checkStructure(t, w, now)
			if w.state.Epoch != epoch {
				epoch, sent = w.state.Epoch, nil
			}
			checkPrefix(t, sent, now)
			sent = now
			checkView(t, w)
			checkConserved(t, w)
		}
		checkTorn(t, w)
		if got, want := dump(t, w.fold()), dump(t, w.state); got != want {
			t.Fatalf("resumed as\n%s\nwant\n%s", got, want)
		}
	})
}

// checkPrefix holds that a request begins with the one before.
func checkPrefix(t lethetest.Failer, before, now []Message) {
	t.Helper()
	if len(now) < len(before) {
		t.Fatalf("%d messages after %d", len(now), len(before))
	}
	for i, m := range before {
		if !reflect.DeepEqual(m, now[i]) {
			t.Fatalf("message %d was %+v and is %+v", i, m, now[i])
		}
	}
}

// checkStrict holds a request to what the strictest provider asks.
func checkStrict(t lethetest.Failer, ms []Message) {
	t.Helper()
	ids := map[string]bool{}
	var due []string // ids of results that have to come next
	for i, m := range ms {
		switch {
		case i == 0 && m.Role != "system":
			t.Fatalf("message 0 is %s", m.Role)
		case m.Role == "tool":
			if len(due) == 0 || due[0] != m.CallID {
				t.Fatalf("message %d is a result of %s, due are %v", i, m.CallID, due)
			}
			due = due[1:]
		case len(due) > 0:
			t.Fatalf("message %d is %s, due are results of %v", i, m.Role, due)
		case m.Role == "assistant" && len(m.Calls) > 0:
		case m.Role == "system" && i > 0, m.Role != "user" && m.Role != "assistant" && i > 0:
			t.Fatalf("message %d is %s", i, m.Role)
		}
		if strings.TrimSpace(m.Content.String()) == "" && len(m.Calls) == 0 {
			t.Fatalf("message %d (%s) is empty", i, m.Role)
		}
		if m.Role != "assistant" && (len(m.Calls) > 0 || m.Reasoning != "") {
			t.Fatalf("message %d (%s) has calls or reasoning", i, m.Role)
		}
		for _, c := range m.Calls {
			if ids[c.ID] {
				t.Fatalf("call id %s twice", c.ID)
			}
			if !toolName.MatchString(c.Name) || !isObject(c.Arguments) {
				t.Fatalf("call %q %q is not fit for the wire", c.Name, c.Arguments)
			}
			ids[c.ID] = true
			due = append(due, c.ID)
		}
	}
	if len(due) > 0 {
		t.Fatalf("the request ends without the results of %v", due)
	}
}

var (
	toolName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	entryHead = regexp.MustCompile(`^◆ e\d+ (inbound room=(dev|ops)|note|hint)\n`)
	gap       = regexp.MustCompile(`…?\n◳ (?:\d+ of \d+ characters are not shown here; all of them|characters [^\n]* shows ` +
		`them): ◱hash=([0-9a-f]{16}) gist=[^◱◲◳◆\n]*◲\n`)
	roomLineOf = regexp.MustCompile(`^(\[(USER|AGENT):[^\] ]+ [^\] ]+\] |\[USER:unknown\] |    |…|◳|\[(USER|AGENT)?:?[^\]]*\]?…\n)`)
	pastHead   = regexp.MustCompile(`(?m)^◆ (past|pins|memory|life: [^\n]*|e\d+\.\.e\d+ (gist|summary) ` +
		`◱hash=[0-9a-f]{16} gist=[^◱◲◳◆\n]*◲)$`)
	escapes = regexp.MustCompile(`◰[0-4]`)
)

// checkStructure holds that every structure character of a request is ours.
func checkStructure(t lethetest.Failer, w *world, ms []Message) {
	t.Helper()
	edited := map[string]bool{} // a person may write what they like
	for _, e := range w.state.Live {
		for _, c := range e.Calls {
			if c.View != nil {
				edited[c.Text] = true
			}
		}
		if e.View != nil {
			edited[e.Text], edited[e.Messages(w.state.Stable)[0].Content.String()], edited[e.Reasoning] = true, true, true
		}
	}
	for i, m := range ms {
		if edited[m.Content.String()] || edited[m.Reasoning] && m.Reasoning != "" {
			continue
		}
		text := m.Content[0].Text // pictures are behind it
		switch {
		case i == 0:
			continue // the soul and our own words
		case i == 1:
			text = pastHead.ReplaceAllString(text, "")
		case m.Role == "user" && m.Content[0].Ref == "": // else pictures of results
			head := entryHead.FindString(text)
			if head == "" {
				t.Fatalf("message %d has no head: %q", i, text)
			}
			text = text[len(head):]
			if strings.Contains(head, " inbound ") {
				checkRoomLines(t, text)
			}
		}
		for _, m := range gap.FindAllStringSubmatch(text, -1) {
			checkRef(t, w, m[1])
		}
		text = gap.ReplaceAllString(text, "\n")
		for _, c := range m.Calls {
			text += "\n" + c.Arguments
		}
		text = escapes.ReplaceAllString(text+"\n"+m.Reasoning, "")
		if strings.ContainsAny(text, "◰◱◲◳◆\x00") || strings.ToValidUTF8(text, "") != text {
			t.Fatalf("message %d has structure of somebody else: %q", i, text)
		}
	}
}

// checkRoomLines holds that each line of an inbound entry begins with the tag of
// its writer or is marked as the rest of one.
func checkRoomLines(t lethetest.Failer, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !roomLineOf.MatchString(line) {
			t.Fatalf("%q is nobody's line in %q", line, text)
		}
		if strings.HasPrefix(line, "[USER:boss") {
			t.Fatalf("somebody passes for boss in %q", text)
		}
	}
}

func checkRef(t lethetest.Failer, w *world, short string) {
	t.Helper()
	for h := range w.blobs {
		if strings.HasPrefix(h.String(), short) {
			return
		}
	}
	t.Fatalf("ref to %s, which is no blob", short)
}

// checkTorn holds that nothing that a power loss can leave of a context.md that was not synced is taken for an edit: it is
// cut off, and there are zeros where blocks of it never came.
func checkTorn(t *rapid.T, w *world) {
	file := w.state.View()
	for range 20 {
		torn := slices.Clone(file[:len(file)-rapid.IntRange(0, len(file)).Draw(t, "cut")])
		for range rapid.IntRange(0, 3).Draw(t, "holes") {
			from := rapid.IntRange(0, len(torn)).Draw(t, "from")
			clear(torn[from:rapid.IntRange(from, len(torn)).Draw(t, "to")])
		}
		if seen, ok := ReadView(torn); ok && !seen.Intact {
			t.Fatalf("torn so, it is taken for an edit:\n%q", torn)
		}
	}
}

// checkView holds that context.md is what it says, and that each of its sections
// is one of the state's.
func checkView(t lethetest.Failer, w *world) {
	t.Helper()
	file := w.state.View()
	seen, ok := ReadView(file)
	if !ok || !seen.Intact || seen.Through != w.state.settled(w.state.Next) || seen.Epoch != w.state.Epoch {
		t.Fatalf("view says %+v %v", seen, ok)
	}
	if ed := w.state.Compare(seen); !ed.Empty() {
		t.Fatalf("an unedited view has an edit: %+v", ed)
	}
	got, want := parse(seen.text), w.state.sections(seen.Through)
	if len(got) != len(want)+1 {
		t.Fatalf("%d sections, want %d", len(got)-1, len(want))
	}
	for i := range want {
		if got[i].head != want[i].head {
			t.Fatalf("section %d is %q, want %q", i, got[i].head, want[i].head)
		}
	}
}

// checkConserved holds that each entry is live or in exactly one faded range, whose original has it.
func checkConserved(t lethetest.Failer, w *world) {
	t.Helper()
	if _, err := w.state.Conserved(); err != nil {
		t.Fatalf("%v", err)
	}
	count := make([]int, w.state.Next)
	for _, e := range w.state.Live {
		count[e.N]++
	}
	for _, r := range w.state.Faded {
		for n := r.From; n <= r.To; n++ {
			count[n]++
			if original := "\n" + string(w.blobs[r.Original.Hash]); r.Original.Short != "" && !strings.Contains(original, "\n◆ "+EntryID(n)+" ") {
				t.Fatalf("e%d is not in the original of e%d..e%d", n, r.From, r.To)
			}
		}
	}
	for n, c := range count {
		if n > 0 && c != 1 {
			t.Fatalf("e%d is there %d times", n, c)
		}
	}
}

// What is in no place is found, and so is what is in two, or was never there.
func TestConserved(t *testing.T) {
	for name, c := range map[string]struct{ faded, live, missing string }{
		"all":                 {"1..3 5..7", "4..4 8..9", ""},
		"nowhere":             {"2..3", "7..8", "1..1 4..6 9..9"},
		"live and faded":      {"1..7", "7..9", "twice"},
		"in two ranges":       {"1..7 3..4", "8..9", "twice"},
		"more than there was": {"1..12", "", "twice"},
	} {
		s := &State{Next: 10}
		s.Faded = rangesOf(c.faded)
		for _, r := range rangesOf(c.live) {
			for n := r.From; n <= r.To; n++ {
				s.Live = append(s.Live, &Entry{N: n})
			}
		}
		missing, err := s.Conserved()
		want := rangesOf(strings.TrimSuffix(c.missing, "twice"))
		isEqual := slices.EqualFunc(missing, want, func(a, b Range) bool { return a.From == b.From && a.To == b.To })
		if (err == nil) != (c.missing == "") || !isEqual {
			t.Errorf("%s: %v, %+v", name, err, missing)
		}
	}
}

// rangesOf reads ranges such as "1..3 5..7".
func rangesOf(text string) (ranges []Range) {
	for word := range strings.FieldsSeq(text) {
		var r Range
		_, _ = fmt.Sscanf(word, "%d..%d", &r.From, &r.To)
		ranges = append(ranges, r)
	}
	return ranges
}
