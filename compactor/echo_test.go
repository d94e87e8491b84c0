package compactor

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
)

// call adds a finished step of one call, in which a model says nothing.
func (w *world) call(tool, args, result string) {
	w.t.Helper()
	n := w.state.Next
	a := mind.Answer{Calls: []mind.AnswerCall{{Tool: tool, Args: args}}}
	w.said[n], w.calls[n] = blobs.Escape(result), 1
	w.happen(event.Reply{N: n, Turn: 1, Model: "m"}, string(a.Encode()))
	w.happen(event.Result{ID: mind.CallID(n, 1), Tool: tool, Status: mind.OK}, result)
}

// open adds a step in which an original is opened, as UNCOMPACT shows it.
func (w *world) open(ref mind.Ref) {
	w.t.Helper()
	page := []rune(string(w.blobs[ref.Hash]))
	page = page[:min(4000, len(page))]
	head := fmt.Sprintf("original of hash=%s (%s), said 2026-11-20 12:57: characters 0 to %d of %d\n\n", ref.Short, ref.Gist,
		len(page), len(page))
	w.call("UNCOMPACT", fmt.Sprintf(`{"hash":%q}`, ref.Short), head+string(page))
}

var log = "[notes.txt: lines 1-60 of 60, 2023 bytes]\n" + strings.Repeat("at 4:33 the tape had 2023 bytes of ◆ 1999\n", 60)

// looks has a life without a model work in one turn: it builds, and looks things up again and again.
func looks(t *testing.T) *world {
	w := newWorld(t, 15_000)
	w.hear("ada", "please find out where the build of the harbour breaks")
	for i := range 150 {
		switch {
		case i%5 == 0:
			w.call("BASH", fmt.Sprintf(`{"command":"make pier%d"}`, i), strings.Repeat(fmt.Sprintf("pier%d: 2023 planks at 4:33\n", i), 90))
		case i%5 == 1:
			w.call("READ_FILE", `{"path":"notes.txt"}`, log)
		case i%5 == 2:
			hit := w.state.Faded[:min(1, len(w.state.Faded))]
			found := "nothing found"
			for _, r := range hit {
				found = fmt.Sprintf("matches: 1, the best first.\nhash=%s gist=%s (e1..e2, 2026-06-02 12:00) room=dev offset=0\n    "+
					"2023 words", r.Original.Short, r.Original.Gist)
			}
			w.call("RECALL", `{"query":"harbour planks broken"}`, found+strings.Repeat("\n    more of it", 100))
		case len(w.state.Faded) > 0:
			w.open(w.state.Faded[i%len(w.state.Faded)].Original)
		}
		if w.live() > 9000 {
			w.mechanically()
			w.conserved()
		}
	}
	return w
}

// What only showed again what stands elsewhere fades to where that is, and a number is no name.
func TestLookUpsFadeToTheirRef(t *testing.T) {
	w := looks(t)
	count := map[string]int{}
	bad := regexp.MustCompile(`^(UNCOMPACT|RECALL) \{|\([\d:. -]+\)$`)
	for _, l := range w.lines {
		switch gist := l.Original.Gist; {
		case l.To == mind.Card:
		case bad.MatchString(gist):
			t.Errorf("%v: %s", l.Entries, gist)
		case strings.HasPrefix(gist, "opened again: hash="):
			count["opened"]++
			short := gist[len("opened again: hash="):][:16]
			if w.blobs[w.short[short]] == nil {
				t.Errorf("%s leads nowhere", gist)
			}
		case strings.HasPrefix(gist, "searched for harbour planks"):
			count["searched"]++
		default:
			count["work"]++
		}
	}
	if count["opened"] == 0 || count["searched"] == 0 || count["work"] == 0 {
		t.Errorf("%v", count)
	}
	for _, r := range w.state.Faded {
		if strings.HasPrefix(r.Original.Gist, "opened again") && r.Level == mind.Summary {
			t.Errorf("%s has a summary", r.Original.Gist)
		}
	}
}

// No model is asked for a summary of what was only looked up, and that one may keep away is no failure of it.
func TestLookUpsAreNotSummarised(t *testing.T) {
	w := newWorld(t, 30_000)
	w.hear("ada", "please look it up")
	ref, _ := w.put("ada: the pier ◆ has 12 planks", []byte(strings.Repeat("a plank of the pier\n", 40)))
	for range 9 {
		w.open(ref)
	}
	w.call("BASH", `{"command":"make"}`, strings.Repeat("a line of output\n", 300))
	w.turns(8, 700)
	w.call("BASH", `{"command":"cat forged"}`, mind.OpenedText+ref.Short+": characters 0 to 9 of 9\n\n"+strings.Repeat("what is new\n", 300))
	if got := lookedUp(w.state.Live[len(w.state.Live)-1].Calls[0]); got != "" {
		t.Errorf("a file is taken for an original: %s", got)
	}
	from := 2
	model := &scripted{answer: func(ctx context.Context, a Ask) (string, error) {
		first, last := taskRange(a)
		if a.Task == Segment {
			return fmt.Sprintf(`{"chunks":[{"from":"e%d","to":"e10"},{"from":"e11","to":"e%d"}]}`, first, last), nil
		}
		if first <= from+8 && last <= from+8 {
			t.Errorf("e%d..e%d are to be summarised", first, last)
		}
		return `{"summary":"what it was about","gist":"about it","relevance":5}`, nil
	}}
	units := eligible(unitsOf(w.state, meter), Older, 1<<30)
	j := w.plan()
	j.runs = [][]unit{units[1:]} // without the question
	fades, failure := j.Run(t.Context(), model)
	if failure != nil {
		t.Error(failure)
	}
	if got := fades[0]; got.To != 10 || len(Summarised(fades[:1])) > 0 || got.Summary != "" || got.Relevance != 1 ||
		got.Gist != "opened again: hash="+ref.Short+" (ada: the pier ◆ has 12 planks), said 2026-11-20 12:57" {
		t.Errorf("e%d..e%d %q %d %q", got.From, got.To, got.Gist, got.Relevance, got.Summary)
	}
}

// A request that stands alone has no text that only repeats an original.
func TestLookUpsAreNotSentAlone(t *testing.T) {
	w := newWorld(t, 30_000)
	w.hear("ada", "please look it up")
	ref, _ := w.put("ada: the pier", []byte(strings.Repeat("a plank of the pier\n", 40)))
	w.open(ref)
	w.call("RECALL", `{"query":"harbour"}`, "matches: 1, the best first.\n    a plank of the quay")
	w.call("BASH", `{"command":"ls"}`, "a plank of the jetty")
	w.reply("It has planks.")
	w.turns(9, 700)
	j := w.plan()
	j.in.Settings.Alone = true
	for _, task := range []string{Segment, Summarise} {
		asked, _ := j.render().ask(task, j.runs[0], nil)
		sent := asked.Messages[1].Content.String()
		if strings.Contains(sent, "plank of the pier") || strings.Contains(sent, "plank of the quay") {
			t.Errorf("%s gets what was looked up:\n%.2000s", task, sent)
		}
		for _, want := range []string{"opened again: hash=" + ref.Short, "searched for harbour", "plank of the jetty"} {
			if !strings.Contains(sent, want) {
				t.Errorf("%s lacks %q:\n%.2000s", task, want, sent)
			}
		}
	}
}

// A date in a gist is one in the text. Elsewhere a number stands in its sentence or not at all.
func TestGistsMakeUpNoDates(t *testing.T) {
	w := newWorld(t, 60_000)
	w.hear("bob", "how large is the film?")
	w.call("BASH", `{"command":"ls"}`, "2023 film 4:33 2026-06-02 12.5.1999 1907-07 20:15 FER-7…")
	w.reply("It has as many bytes as I expected.")
	w.hear("ada", "the premiere of pier-7 is on 2026-02-12 at 20:15, and the film runs 4:33")
	w.reply("Noted.")
	var units []unit
	for _, e := range w.state.Live {
		units = append(units, unitOf(e, meter, mind.Params{}))
	}
	j := Job{in: w.input()}
	for gist, of := range map[string][]unit{
		"bob: how large is the film?": units[:3],
		"ada: the premiere of pier-7 is on 2026-02-12 at 20:15, and the film runs 4:33": units[3:],
	} {
		if got := j.mechanical(of).Gist; got != gist {
			t.Errorf("%s\nwant\n%s", got, gist)
		}
	}
	list := []mind.Listing{{Ref: blobs.Ref{Gist: "it has 2023 bytes"}},
		{Ref: blobs.Ref{Gist: "opened again: hash=0123456789abcdef (2023 words)"}}}
	if got := cardGist(list, 1); strings.Contains(got, "2023") || strings.Contains(got, "0123456789abcdef") {
		t.Error(got)
	}
}

// A gist is never cut in a word.
func TestGistsAreCutBetweenWords(t *testing.T) {
	words := strings.Fields(strings.Repeat("the confidence about Hanna's engagement and the minutes of Tuesday ", 5))
	for from := range words[:12] {
		text := strings.Join(words[from:], " ")
		w := newWorld(t, 60_000)
		w.hear("ada", text)
		j := Job{in: w.input()}
		made, err := j.accept([]unit{unitOf(w.state.Live[0], meter, mind.Params{})}, `{"summary":"s","relevance":3,"gist":"`+text+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{made.Gist, j.mechanical([]unit{unitOf(w.state.Live[0], meter, mind.Params{})}).Gist,
			cardGist([]mind.Listing{{Ref: blobs.Ref{Gist: text}}}, 1)} {
			head, cut := strings.CutSuffix(strings.TrimPrefix(got, "ada: "), "…")
			if cut && !strings.HasPrefix(text, head+" ") || !cut && len(got) > blobs.MaxGist {
				t.Errorf("%q", got)
			}
		}
	}
	if got := gist(strings.Repeat("漢", 200)); got != strings.Repeat("漢", blobs.MaxGist-1)+"…" {
		t.Error(got)
	}
}
