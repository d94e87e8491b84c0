package agent

import (
	"strings"
	"testing"
)

// A plan that says how often is named to the identity at the end of a turn, once for each state of it. Where nothing is
// ready, nothing is asked; a plan that does not say so is left alone, as is a home without one.
func TestPlanIsDriven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, append(says("hello", "well"), always("more"))...)
	id := w.boot("ada", "dev")
	const plan = "# Goal: x\nevery: 1h\n- [ ] 1 ask · asked nobody\n- [ ] 2 tell · after 1\n"
	path := w.planned(id, strings.Replace(plan, "every", "Every", 1))
	r := w.run(id)
	r.tell("hi")
	equal(t, "requests", len(w.requests()), 1)
	w.write(path, plan)
	r.tell("now")
	w.eventually("it is named", func() bool { return len(w.events(id, "fired")) == 1 })
	w.eventually("it hears that", func() bool { return strings.Contains(w.prompt(), "Go on with work/move.md. Next: 1 ask") })
	r.settled()
	requests := len(w.requests())
	r.tell("and?")
	r.finish()
	r = w.run(id)
	r.settled()
	equal(t, "requests over a restart", len(w.requests()), requests+1)
	w.has(id, 1, "fired", "by", "work-move")
	w.write(path, strings.Replace(plan, "1 ask", "1 ask (again)", 1))
	r.tell("and what?")
	r.settled()
	w.has(id, 1, "fired") // its words drive nothing
	w.write(path, strings.Replace(plan, "[ ] 1", "[?] 1", 1))
	r.tell("and now?")
	w.has(id, 1, "fired")
	w.write(path, strings.Replace(plan, "[ ] 1", "[x] 1", 1))
	r.tell("and then?")
	w.eventually("the next is named", func() bool { return len(w.events(id, "fired")) == 2 })
	r.settled()
	w.eventually("it is asked", func() bool { return strings.Contains(w.prompt(), "Next: 2 tell") })
	r.checked()
}
