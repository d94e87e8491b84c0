package agent

import (
	"testing"

	"lethe/home"
	"lethe/internal/test/lethetest"
)

// What a person had wished of an older program is obeyed by this one; a stop was meant for a process that is gone.
func TestWishesOfOlderPrograms(t *testing.T) {
	t.Parallel()
	w, id, r := start(t)
	r.ask("hello")
	r.stop()
	lethetest.Write(t, w.own(id, "branch"), "0 before-lunch\n")
	lethetest.Write(t, w.own(id, "stop"), "")
	lethetest.Write(t, w.own(id, "compact"), "")
	r = w.run(id)
	w.eventually("the wishes are obeyed", func() bool { return len(home.Wishes(id)) == 0 })
	r.ask("hello again")
	if then := w.at(id, home.Moment{Label: "before-lunch"}); then.Next == 0 {
		t.Error("the label is lost")
	}
	for file, want := range map[string]home.Wish{"tick.now": "fire tick", "stop-job": "", "branch": "back 120"} {
		if got := oldWish(file, "120 \n"); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
