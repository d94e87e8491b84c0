package agent

import (
	"os"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
)

func TestChildStopsWithoutResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	s := w.supervise(id)
	w.ask("dev", "let somebody else run touch began; until [ -e go ]; do sleep 0.01; done")
	w.eventually("it works", func() bool { _, err := os.Stat(w.own(id, "workspace/began")); return err == nil })
	child := w.child()
	room := w.fold(id).Children[0].Room
	lethetest.Must(t, home.Ask(child, home.WishStop))
	contains(t, w.answered("dev", 2), "it has stopped without a result")
	if _, runs := home.Running(child); runs {
		t.Error("the child runs")
	}
	w.say("dev", "ann", "say run echo again in "+room)
	w.eventually("the child has answered", func() bool { return strings.Contains(w.read(w.path(room)), "] result 2: ") })
	w.eventually("it is idle", func() bool { return w.quiet(id) }) // the result came in its turn, or behind it

	w.ask("dev", "say run until [ -e went ]; do sleep 0.01; done in "+room)
	s.end()
	w.write(w.own(id, "workspace/went"), "")
	w.run(child).finish() // which has its result
	lethetest.Must(t, os.Remove(w.path(room)))
	n := len(w.said("dev"))
	s = w.supervise(id)
	contains(t, w.answered("dev", n+1), "it has stopped without a result")
	s.end()
	s = w.supervise(id)
	w.eventually("it is idle", func() bool { return w.quiet(id) })
	s.end()
	if n = strings.Count(w.read(w.path(room)), "failed "); n != 1 {
		t.Errorf("said %d times\n%s", n, w.dump())
	}
}
