package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/adopt"
	"lethe/agent/adopt/shelf"
	"lethe/agent/budget"
	"lethe/agent/journal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
)

// adopts has an identity adopt a session of Claude Code about each of some words.
func (w *world) adopts(name string, words ...string) {
	w.Helper()
	dir := lethetest.Dir(w)
	id := w.boot(name, "dev")
	for i, word := range words {
		rows := ""
		for n := range 20 {
			rows += fmt.Sprintf(`{"type":"user","uuid":"u%d.%d","timestamp":"2026-03-04T10:12:%02dZ","message":{"role":"user",`+
				`"content":"%s %d: why does the watcher miss renames of folders that move to another volume?"}}`+"\n", i, n, n, word, n)
		}
		lethetest.Write(w, filepath.Join(dir, "projects/p", word+".jsonl"), rows)
	}
	held, err := journal.Hold(w.home, id, w.store, nil)
	lethetest.Must(w, err)
	defer held.Close()
	laid, err := shelf.Open(held)
	lethetest.Must(w, err)
	_, err = laid.From(w.Context(), adopt.Source{Agent: "claude-code", Place: dir}, adopt.Options{})
	lethetest.Must(w, errors.Join(err, laid.Close()))
}

// What was adopted is summarised for a price that is told first: each original once, also where the answer is garbage
// or the provider fails meanwhile, and within the budget.
func TestSummariseAdopted(t *testing.T) {
	w := newWorld(t,
		rehearsal.Step{Task: "summarise", Contains: "walrus", Times: -1, Answer: text(" ")},
		rehearsal.Step{Task: "summarise", Contains: "beluga", Status: 400},
		rehearsal.Step{Contains: "find the whale", Answer: calls("RECALL", `{"query":"narwhal"}`)})
	frugal(&w.conf, budget.Limits{HomeDay: 1})
	w.conf.Forgetting.Parallel = 1
	words := []string{"narwhal", "orca", "walrus", "xbeluga", "zander"}
	w.adopts("ada", words...)
	id, err := w.home.Find("ada")
	lethetest.Must(t, err)
	told := 0
	refusal := error(nil)
	summarise := func() error {
		t.Helper()
		a, err := Open(id, w.conf)
		lethetest.Must(t, err)
		err = a.SummariseAdopted(context.Background(), func(requests int, model string, tokens int, usd budget.USD) error {
			told = requests
			if model != "rehearsal-paid" || tokens < requests*500 || usd == 0 {
				t.Errorf("%d requests to %s, %d tokens: %s", requests, model, tokens, usd)
			}
			return refusal
		})
		return errors.Join(err, a.Close())
	}
	if err := summarise(); !errors.As(err, new(*budget.Short)) || len(w.tasks("summarise")) > 0 {
		t.Errorf("beyond the budget: %v, %d requests", err, len(w.tasks("summarise")))
	}
	w.conf.Budget.HomeDay = 9e6
	refusal = errors.New("too dear")
	if err := summarise(); !errors.Is(err, refusal) || len(w.tasks("summarise")) > 0 {
		t.Errorf("not confirmed: %v, %d requests", err, len(w.tasks("summarise")))
	}
	refusal = nil
	if err := summarise(); err == nil || told != 5 {
		t.Errorf("of %d, with a provider that fails: %v", told, err)
	}
	lethetest.Must(t, summarise())
	lethetest.Equal(t, "what was left", told, 2)
	asked := len(w.tasks("summarise"))
	lines := len(w.events(id, "adopted"))
	told = 0
	lethetest.Must(t, summarise())
	if told != 0 || len(w.tasks("summarise")) != asked || len(w.events(id, "adopted")) != lines {
		t.Errorf("it is asked again: %d", told)
	}
	for word, times := range map[string]int{"narwhal": 1, "orca": 1, "walrus": 2, "xbeluga": 2, "zander": 1} {
		if n := strings.Count(strings.Join(w.tasks("summarise"), "\n"), word+" 19: why"); n != times {
			t.Errorf("%s: %d requests", word, n)
		}
	}
	gists, spent := map[string]int{}, 0.0
	for _, line := range w.events(id, "adopted") {
		adopted, _ := event.As[event.Adopted](line)
		if adopted.Relevance > 0 {
			isKept := strings.HasPrefix(line.Refs[0].Gist, "Claude Code, 2026-03-04: ")
			gists[fmt.Sprint(adopted.Session == "walrus", isKept)]++
			if !strings.Contains(w.original(w.fold(id).Adopted[0].List.Short), "5 summarised") {
				t.Error("the list does not say so")
			}
		}
	}
	for _, line := range w.events(id, "spent") {
		cost, _ := event.As[event.Spent](line)
		spent += cost.USD
	}
	if gists["false false"] != 4 || gists["true true"] != 1 || spent == 0 {
		t.Errorf("gists: %v, %f USD", gists, spent)
	}
	w.within(9e6)
	r := w.run(id)
	r.rested()
	w.eventually("all is indexed", func() bool {
		added, err := r.agent.thinker.indexer.Index.Sync(w.Context(), w.store, id.LIFE())
		return err == nil && added == 0
	})
	w.ask("dev", "find the whale")
	for _, line := range w.events(id, "adopted") {
		if adopted, _ := event.As[event.Adopted](line); adopted.Session == "narwhal" && adopted.Relevance > 0 {
			lethetest.Words(t, w.prompt(), "gist="+line.Refs[0].Gist+" (from claude-code")
		}
	}
}
