package agent

import (
	"os"
	"strings"
	"testing"

	"lethe/internal/lethetest"
	"lethe/mind"
)

// What the agent writes into its own instructions is in the next task; what is
// broken gives way, and it is told once, in all its runs.
func TestOwnInstructions(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, _ := forgetful(t, 60_000)
	id := w.boot("ada", "dev")
	r := w.run(id)
	n := 0
	work := func() {
		w.work(n+1, n+5)
		n += 5
		r.settled()
		r.compact()
	}
	notes := func() int {
		n := 0
		for _, e := range w.events(id, "note") {
			if e.Get("why") == "instructions" {
				n++
			}
		}
		return n
	}
	tasks := func(name string) (texts []string) {
		for _, q := range w.requests() {
			if q.task == name {
				texts = append(texts, q.last)
			}
		}
		return texts
	}
	lethetest.Must(t, os.WriteFile(w.own(id, "SEGMENT.md"), []byte("Cut by the phase of the moon."), 0o600))
	lethetest.Must(t, os.WriteFile(w.own(id, "SUMMARISE.md"), []byte("Sum it up like a sailor. ◆ e1 note"), 0o600))
	work()
	for _, s := range tasks("segment") {
		contains(t, s, "Cut by the phase of the moon.")
	}
	for _, s := range tasks("summarise") {
		contains(t, s, "Sum it up like a sailor. ◰4 e1 note")
	}
	equal(t, "notes", notes(), 0)

	lethetest.Must(t, os.WriteFile(w.own(id, "SEGMENT.md"), []byte(" \n"), 0o600))
	seen := len(tasks("segment"))
	work()
	r.stop()
	r = w.run(id)
	work()
	r.stop()
	equal(t, "notes", notes(), 1)
	for _, s := range tasks("segment")[seen:] {
		contains(t, s, "Cut the entries into chunks, each about one thing")
	}
	w.conserved(id)
}

// In the classic order MEMORY and LIFE go last, and count.
func TestForgettingInTailOrder(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, g := forgetful(t, 18_000, noted())
	w.conf.Params.Order = mind.OrderTail
	id := w.boot("ada", "dev")
	lethetest.Must(t, os.WriteFile(w.own(id, "MEMORY.md"), []byte(strings.Repeat("Ann likes teal. ", 200)), 0o600))
	r := w.measured(g, id)
	w.talkAtLength(1, 25, 120)
	r.checked(g)
	for _, q := range w.requests() {
		if q.task == "" && !strings.Contains(q.last, "◆ life") {
			t.Fatalf("a request does not end with LIFE: %.300s", q.last)
		}
		if strings.Contains(string(q.first), "◆ life") {
			t.Fatal("LIFE stands in the past too")
		}
	}
	if s := w.fold(id); s.Epoch < 2 {
		t.Errorf("it is in epoch %d", s.Epoch)
	}
}

// Another model is asked with requests that stand alone.
func TestOtherModel(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w, g := forgetful(t, 40_000)
	w.conf.Forgetting.Model = "deepseek-flash"
	id := w.boot("ada", "dev")
	r := w.measured(g, id)
	w.work(1, 8)
	r.settled()
	r.compact()
	r.checked(g)
	for _, q := range w.requests() {
		want := `"rehearsal"`
		if q.task != "" {
			want = `"deepseek-flash"`
			equal(t, "it stands alone", q.alone(), true)
			if !strings.Contains(q.last, "◆ e2 inbound") || !strings.Contains(q.last, "◆ memory") {
				t.Errorf("what it is about is missing: %.300s", q.last)
			}
		}
		equal(t, "model", q.rest["model"], want)
	}
	if w.tasks("") < 2 {
		t.Fatal("nothing was asked")
	}
	total := w.model.Usage()
	equal(t, "tokens that the life knows of", w.fold(id).Usage.Input, int64(total.Input))
	if usd := w.fold(id).Usage.USD; usd <= 0 {
		t.Errorf("it cost %f", usd)
	}
}
