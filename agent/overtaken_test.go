package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// What a later summary overtakes says so: in the past, in what RECALL finds, which has the newer first, and in a hint,
// also after a restart, in a fork, and where a person goes back to the moment before.
func TestOvertaken(t *testing.T) {
	slow(t)
	w := forgetful(t, 60_000, rehearsal.Step{Contains: "please search", Times: -1,
		Answer: calls("RECALL", `{"query":"premiere in february"}`)})
	all := 0.0
	w.conf.Forgetting.Target = &all
	r := w.run(w.boot("ada", "dev"))
	id := r.id
	forget := func(about, gist, overtakes string) {
		t.Helper()
		answer := fmt.Sprintf(`{"summary":"About the premiere.","gist":%q,"relevance":5,"pins":[],"over":[],"overtakes":[%s]}`, gist, overtakes)
		w.model.Push(rehearsal.Step{Task: "summarise", Contains: about, Answer: text(answer)})
		r.compact()
	}
	r.ask("the premiere in february, the premiere: it is on the 12th")
	r.work(6)
	forget("the premiere in february, the", "premiere 12 February", "")
	first := w.fold(id).Faded[0]
	before := w.at(id, home.Moment{Entry: w.fold(id).Next - 1}).End
	r.ask("it has moved: the premiere is on 3 March, not in february")
	r.work(6)
	forget("it has moved", "premiere 3 March", fmt.Sprintf("%q", first.Name()))
	state := w.fold(id)
	newer := fmt.Sprintf("..e%d, ", state.Overtaken[first.Name()])
	by := fmt.Sprintf(", overtaken by e%d", state.Overtaken[first.Name()])
	line := "◆ " + first.Name() + " summary" + by + " ◱hash=" + first.Original.Short
	r.indexed()
	r.ask("please search")
	r = r.again()
	r.ask("when is the premiere in february?")
	contains(t, w.prompt(), line)
	results := w.results(id)
	found := results[len(results)-1].text
	if older, later := strings.Index(found, "("+first.Name()+", "), strings.Index(found, newer); older < 0 || later < 0 || later > older {
		t.Errorf("the newer %s does not stand before %s:\n%s", newer, first.Name(), found)
	}
	contains(t, found, by+") room=dev")
	bea, _ := w.fork(id, home.Moment{Entry: w.fold(id).Next - 1}, "bea", "ops")
	equal(t, "in a fork", w.fold(bea).Overtaken[first.Name()], state.Overtaken[first.Name()])
	r.branched(backTo(before))
	equal(t, "after it went back", w.fold(id).Overtaken[first.Name()], state.Overtaken[first.Name()])
	r.stop()
	w.conserved(id)
	if dir := os.Getenv("LETHE_KEEP"); dir != "" {
		lethetest.Must(t, os.CopyFS(dir, os.DirFS(w.home.Dir)))
	}
}
