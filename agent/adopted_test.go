package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"lethe/agent/adopt"
	"lethe/agent/adopt/shelf"
	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/internal/durable"
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

// gists has an order obeyed: by the identity, if it runs.
func (w *world) gists(id home.Identity, order shelf.Order) shelf.Answer {
	w.Helper()
	const wish = home.WishAdopt + "me"
	lethetest.Must(w, home.Leave(id, wish, order.String()))
	if _, runs := home.Running(id); !runs {
		a, err := Open(id, w.conf)
		lethetest.Must(w, err)
		lethetest.Must(w, errors.Join(a.Obey(context.Background(), wish), a.Close()))
	}
	w.eventually("the order is obeyed", func() bool { return !home.Asked(id, wish) })
	answer, err := shelf.TakeAnswer(id, "me")
	lethetest.Must(w, err)
	return answer
}

// What was adopted is summarised for a price that is told first: each original once, also where the answer is garbage
// or the provider fails meanwhile, and within the budget; at rest, and between turns.
func TestSummariseAdopted(t *testing.T) {
	for _, state := range []string{"at rest", "running"} {
		t.Run(state, func(t *testing.T) { t.Parallel(); testSummariseAdopted(t, state == "running") })
	}
}

func testSummariseAdopted(t *testing.T, runs bool) {
	w := newWorld(t,
		rehearsal.Step{Task: "summarise", Contains: "walrus", Times: -1, Answer: text(" ")},
		rehearsal.Step{Task: "summarise", Contains: "beluga", Status: 400},
		rehearsal.Step{Contains: "find the whale", Answer: calls("RECALL", `{"query":"narwhal"}`)})
	frugal(&w.conf, budget.Limits{HomeDay: 1})
	w.conf.Forgetting.Parallel = 1
	w.adopts("ada", "narwhal", "orca", "walrus", "xbeluga", "zander")
	id, err := w.home.Find("ada")
	lethetest.Must(t, err)
	price := func(requests int) shelf.Order {
		t.Helper()
		asked := len(w.tasks("summarise"))
		told := w.gists(id, shelf.Order{Price: true}).Price
		if told.Requests != requests || told.Model != "rehearsal-paid" || told.Tokens < requests*500 || (told.USD > 0) != (requests > 0) {
			t.Errorf("%d requests: %+v", requests, told)
		}
		lethetest.Equal(t, "requests for a price", len(w.tasks("summarise")), asked)
		return shelf.Order{Gists: told.Originals}
	}
	var r *running
	run := func() {
		if runs {
			r = w.run(id)
		}
	}
	run()
	order := price(5)
	answer := w.gists(id, order)
	if !strings.Contains(answer.Error, "budget") || len(w.tasks("summarise")) > 0 {
		t.Errorf("beyond the budget: %+v, %d requests", answer, len(w.tasks("summarise")))
	}
	if runs {
		r.finish()
	}
	w.conf.Budget.HomeDay = 9e6
	run()
	if answer := w.gists(id, order); answer.Error == "" {
		t.Error("the provider's failure is not told")
	}
	if runs {
		lethetest.Words(t, w.ask("dev", "between the two"), "between the two")
	}
	lethetest.Equal(t, "the failure", w.gists(id, price(2)).Error, "")
	asked := len(w.tasks("summarise"))
	lines := len(w.events(id, "adopted"))
	w.gists(id, price(0))
	if len(w.tasks("summarise")) != asked || len(w.events(id, "adopted")) != lines {
		t.Errorf("it is asked again")
	}
	for word, times := range map[string]int{"narwhal": 1, "orca": 1, "walrus": 2, "xbeluga": 2, "zander": 1} {
		if n := strings.Count(strings.Join(w.tasks("summarise"), "\n"), word+" 19: why"); n != times {
			t.Errorf("%s: %d requests", word, n)
		}
	}
	if runs {
		r.finish()
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
	r = w.run(id)
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

// A kill at any step of gists doubles none, and at most one chunk is paid twice.
func TestSummariseKilled(t *testing.T) {
	t.Parallel()
	words := []string{"narwhal", "orca", "walrus"}
	kill := func(stage durable.Stage, n int) (steps int) {
		w := newWorld(t)
		w.conf.Forgetting.Parallel = 1
		w.adopts("ada", words...)
		id, err := w.home.Find("ada")
		lethetest.Must(t, err)
		const wish = home.WishAdopt + "me"
		lethetest.Must(t, home.Leave(id, wish, shelf.Order{Gists: 3}.String()))
		disk := &badDisk{}
		disk.fails = func(at durable.Stage, _, _ string) error {
			if disk.steps == n && at == stage {
				disk.dead = true
				return syscall.EIO
			}
			return nil
		}
		mended := disk.put(w)
		r, err := w.try(id)
		if err == nil {
			w.eventually("it is killed, or done", func() bool { return r.ended() || !home.Asked(id, wish) })
			r.cancel()
			<-r.done
		}
		mended()
		r = w.run(id)
		w.eventually("the order is obeyed", func() bool { return !home.Asked(id, wish) })
		r.checked()
		told := map[string]int{}
		for _, line := range w.events(id, "adopted") {
			if adopted, _ := event.As[event.Adopted](line); adopted.Relevance > 0 {
				told[adopted.Session]++
			}
		}
		asked := len(w.tasks("summarise"))
		if fmt.Sprint(told) != "map[narwhal:1 orca:1 walrus:1]" || asked > 4 || len(w.having(id, "spent", "on", "compaction")) < 2 {
			t.Errorf("killed %s step %d: gists %v, %d requests", stage, n, told, asked)
		}
		return disk.steps
	}
	steps := kill(durable.Before, -1)
	stride := lethetest.Sample(29, 17, 1)
	for n := 1; n <= steps; n += stride {
		kill(durable.Before, n)
		kill(durable.After, n+stride/2)
	}
	lethetest.Tried(t, steps/stride)
}

// answering is a model that counts its answers.
type answering struct {
	Model
	answers atomic.Int64
}

func (m *answering) Complete(ctx context.Context, q llm.Request, on func(llm.Delta)) (llm.Reply, error) {
	reply, err := m.Model.Complete(ctx, q, on)
	if err == nil {
		m.answers.Add(1)
	}
	return reply, err
}

// Whoever stops an identity that asks for gists pays for those that came, and it goes on; an order that is taken back is
// not obeyed any more.
func TestSummariseStopped(t *testing.T) {
	never, hold := make(chan struct{}), make(chan struct{})
	w := newWorld(t, rehearsal.Step{Task: "summarise", Contains: "orca", Hold: never},
		rehearsal.Step{Task: "summarise", Contains: "orca", Hold: hold})
	w.conf.Forgetting.Parallel = 2
	model := &answering{Model: w.conf.Model}
	w.conf.Model = model
	w.adopts("ada", "narwhal", "orca", "walrus", "zander")
	id, err := w.home.Find("ada")
	lethetest.Must(t, err)
	const wish = home.WishAdopt + "me"
	lethetest.Must(t, home.Leave(id, wish, shelf.Order{Gists: 4}.String()))
	r := w.run(id)
	w.eventually("one answers, one waits", func() bool { return len(w.tasks("summarise")) == 2 && model.answers.Load() == 1 })
	w.ask("dev", "hello, while it waits")
	r.stop()
	lethetest.Equal(t, "costs", len(w.having(id, "spent", "on", "compaction")), 1)
	lethetest.Equal(t, "gists", len(w.events(id, "adopted")), 5)
	if !home.Asked(id, wish) {
		t.Fatal("the order is gone")
	}
	r = w.run(id)
	w.eventually("it goes on", func() bool { return len(w.tasks("summarise")) == 4 })
	lethetest.Must(t, wish.Drop(id))
	close(hold)
	w.eventually("the chunk is laid down", func() bool { return len(w.events(id, "shelved")) == 2 })
	r.checked()
	lethetest.Equal(t, "gists", len(w.events(id, "adopted")), 7)
	if _, err := shelf.TakeAnswer(id, "me"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("somebody is answered: %v", err)
	}
}
