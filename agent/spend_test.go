package agent

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/budget"
	"lethe/internal/lethetest"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/llm"
	"lethe/llm/rehearsal"
)

// paid is what the model of these tests costs, at any hour.
var paid = llm.Price{Hit: 8, Miss: 10, Output: 20}

// frugal gives an identity a model that costs something, and limits.
func frugal(c *Config, limits budget.Limits) {
	c.Offline, c.DefaultModel, c.Params.Endpoint, c.Params.MaxTokens = false, "rehearsal-paid", "paid", 1000
	c.Prices, c.Budget, c.People, c.Zone = llm.Prices{"rehearsal-paid": paid}, limits, []string{"ann"}, time.UTC
}

// dollars is what the server has really billed.
func (w *world) dollars() budget.USD {
	u := w.model.Usage()
	usd, _ := llm.Prices{"rehearsal-paid": paid}.Cost("rehearsal-paid", llm.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output}, time.Now())
	return budget.Ceil(usd)
}

// within checks that what was spent and what is put aside keep to a limit of the home's day, by
// LIFE and holds, and by what the server has billed.
func (w *world) within(limit budget.USD) {
	w.Helper()
	book, err := NewLedger(w.home, w.store).Read(budget.Limits{HomeDay: limit}, time.Now(), time.UTC)
	lethetest.Must(w, err)
	home := book.Home()
	if home.Spent+home.Held > limit {
		w.Fatalf("LIFE has %s, and holds %s, of %s\n%s", home.Spent, home.Held, limit, w.dump())
	}
	if billed := w.dollars(); billed > home.Spent+home.Held {
		w.Fatalf("the server has billed %s, LIFE has %s and holds %s", billed, home.Spent, home.Held)
	}
}

// Two identities with compactions, under a model that understates its usage to a tenth, breaks
// off and answers too long, killed and stopped now and then, spend what they may and not a
// millionth more.
func TestBudgetIsNeverPassed(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	limit := budget.USD(lethetest.Sample(2, 4, 12)) * 1e6
	w := forgetful(t, 13_500,
		rehearsal.Step{Skip: 2, Times: 3, Fault: rehearsal.Truncate}, rehearsal.Step{Skip: 14, Fault: rehearsal.Length},
		rehearsal.Step{Skip: 20, Times: 2, Status: 503}, rehearsal.Step{Task: "summarise", Skip: 3, Times: 3, Fault: rehearsal.Blank},
		rehearsal.Step{Times: -1, Fault: rehearsal.Understate})
	w.gauge.limit = 0
	w.use(llm.Config{MaxRetries: 2})
	frugal(&w.conf, budget.Limits{HomeDay: limit})
	random := rand.New(rand.NewPCG(3, 4))
	kinds := []string{"reply", "spent", "call", "inbound", "posted", "epoch"}
	ids := []Identity{w.boot("ada", "dev"), w.boot("bob", "ops")}
	rooms := []string{"dev", "ops"}
	spent := func(id Identity) bool { return !w.fold(id).Until.IsZero() }
	for i := 0; !spent(ids[0]) || !spent(ids[1]); i++ {
		if i > 200 {
			t.Fatalf("nothing is at its end; %s are spent\n%s", w.dollars(), w.dump())
		}
		var both []*running
		for k, id := range ids {
			change := func(*Config) {}
			if i%3 == 1 {
				change = dieAt(kinds[random.IntN(len(kinds))], 1+random.IntN(6))
			}
			both = append(both, w.run(id, change))
			w.say(rooms[k], "ann", chores(random, i), chores(random, 1000+i))
			if i%3 == 2 {
				lethetest.Must(t, AskToCompact(id))
			}
		}
		w.within(limit)
		for _, r := range both {
			w.eventually("the work is done", func() bool { return r.ended() || r.idle() })
			w.within(limit)
			r.cancel()
			_ = r.wait()
		}
	}
	w.within(limit)
	if got := w.dollars(); got < limit/3 {
		t.Errorf("%s were spent of %s", got, limit)
	}
	for _, id := range ids {
		equal(t, "open holds", len(w.holds(id)), 0)
	}
	if len(w.having(ids[0], "spent", "on", "compaction"))+len(w.having(ids[1], "spent", "on", "compaction")) == 0 {
		t.Error("nothing was compacted")
	}
}

func (w *world) holds(id Identity) []budget.Hold {
	w.Helper()
	h, err := budget.ReadHolds(id.Dir)
	lethetest.Must(w, err)
	return h.Unpaid(w.fold(id).Spending.Settled)
}

// What a kill -9 leaves under way counts as spent, so that no number of kills passes the limit.
func TestBudgetOverKills(t *testing.T) {
	lethetest.Unraced(t)
	t.Parallel()
	w := newWorld(t)
	w.serve(rehearsal.Options{Script: []rehearsal.Step{{Times: -1, Fault: rehearsal.Understate}}, Pace: time.Millisecond})
	id := w.boot("ada", "dev")
	random := rand.New(rand.NewPCG(5, 6))
	const limit = 3 * budget.USD(1e6)
	for i := range lethetest.Sample(6, 12, 60) {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childEnv+"="+w.home.Dir, childURL+"="+w.url, childUSD+"=3")
		lethetest.Must(t, child.Start())
		w.eventually("the child runs", func() bool { _, ok := Running(id); return ok })
		w.say("dev", "ann", fmt.Sprintf("count to %d", 100+i))
		w.eventually("a call is under way", func() bool { return len(w.holds(id)) > 0 || !w.fold(id).Until.IsZero() })
		time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond)))) // anywhere in it
		lethetest.Must(t, child.Process.Kill())
		_ = child.Wait()
		w.within(limit)
	}
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: limit}})
	w.run(id).finish()
	w.within(limit)
	if lost := w.having(id, "spent", "on", "lost"); len(lost) == 0 || lost[0].Get("estimated") != "yes" || lost[0].Get("calls") != "1" {
		t.Errorf("lost: %v", lost)
	}
	equal(t, "open holds", len(w.holds(id)), 0)
}

// At its end the budget says so once, goes on when a person raises it, and takes a raise from
// nobody else.
func TestBudgetCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: budget.Of(2)}})
	w.conf.Notify = []string{"notify-ann"}
	id := w.boot("ada", "dev")
	w.spend(id, 1.65)
	r := w.run(id)
	for i := 1; w.fold(id).Paused == ""; i++ {
		w.ask("dev", fmt.Sprintf("count to %d", 300+i))
		r.settled()
	}
	s := w.fold(id)
	if until := s.Until; until.IsZero() || !until.Equal(until.Truncate(24*time.Hour)) {
		t.Errorf("it goes on at %s", until)
	}
	said := w.said("dev")
	contains(t, said[len(said)-1], "I pause: today ada has spent")
	lethetest.Words(t, said[len(said)-1], "of 2.00 USD (budget.day_usd)", "I go on by myself on", "/budget +1 today")
	equal(t, "warnings", len(w.having(id, "error", "what", "budget")), 1)
	for line, answer := range map[string]string{
		"[USER:eve 2026-11-22T10:00:00Z] /budget +1 today": "Only ann may raise a budget.",
		"[USER:ann 2026-11-22T10:00:00Z] /budget +1 week":  "I cannot read that; say for example: /budget +2 today",
		"[USER:ann 2026-11-22T10:00:00Z] /budget +1 month": "No such limit is set, so there is nothing to raise. Spent: this turn 0.00 USD; today 1.",
		"[USER:eve 2026-11-22T10:00:00Z] /budget":          "; today 1.", // and so on
	} {
		contains(t, w.answeredLine(line), answer)
	}
	w.put("dev", "[AGENT:eve 2026-11-22T10:00:00Z] /budget +1 today\n")
	r.settled()
	if w.fold(id).Paused == "" {
		t.Fatal("it goes on")
	}
	contains(t, w.answeredLine("[USER:eve 2026-11-22T10:00:00Z] hello"), "I pause: today ada has spent")
	equal(t, "notices", len(w.said("notify-ann")), 1)
	n := len(w.said("dev"))
	w.put("dev", "[USER:ann 2026-11-22T10:00:01Z] /budget +1 today\n")
	contains(t, w.answered("dev", n+1), "I may spend 1.00 USD more today.")
	w.answered("dev", n+2)
	r.finish()
	equal(t, "raised", w.fold(id).Spending.Raised.Day, budget.Of(1))
	r = w.run(id, func(c *Config) { c.Budget = budget.Limits{Sums: budget.Sums{Month: budget.Of(0.01)}} })
	lethetest.Words(t, r.ask("count to 9"), "I go on after /budget +1 month.") // by itself never
	equal(t, "notices of both", len(w.said("notify-ann")), 2)
	r.stop()
}

// spend says that an identity that does not run has spent so many dollars today.
func (w *world) spend(id Identity, usd float64) {
	w.Helper()
	w.spendOn(budget.DateOf(time.Now(), time.UTC), id, usd)
}

func (w *world) spendOn(day string, id Identity, usd float64) {
	w.Helper()
	a, err := Open(id, w.conf)
	lethetest.Must(w, err)
	defer a.Close()
	lethetest.Must(w, a.commit(record{event: event.Spent{On: "compaction", Calls: 1, Tokens: event.Tokens{USD: usd, Day: day}}}))
}

// answeredLine puts a line into room dev and returns what is said next.
func (w *world) answeredLine(line string) string {
	w.Helper()
	n := len(w.said("dev"))
	w.put("dev", line+"\n")
	return w.answered("dev", n+1)
}

// A model without a price is not asked where a limit is set, unless that is allowed; where none
// is set, nothing is put aside.
func TestBudgetUnpriced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Contains: "get a helper", Times: 1, Answer: calls("SPAWN", `{"brief":"help","usd":1}`)})
	id := w.boot("ada", "dev")
	frugal(&w.conf, budget.Limits{})
	w.conf.Prices = nil
	r := w.run(id)
	r.ask("hello")
	r.ask("get a helper")
	contains(t, w.results(id)[0].text, "nobody has told what the model rehearsal-paid costs")
	r = r.again(func(c *Config) { c.Budget.Day = 1 })
	lethetest.Words(t, r.ask("hello"), "nobody has told me what the model rehearsal-paid costs", `[prices."rehearsal-paid"]`)
	r = r.again(func(c *Config) { c.Budget.Day, c.Budget.AllowUnpriced = 1, true })
	contains(t, r.ask("hello"), "Hello")
	r.stop()
	if _, err := os.Stat(filepath.Join(id.Dir, "holds.json")); err == nil {
		t.Error("something was put aside")
	}
	for _, e := range w.events(id, "reply") {
		equal(t, "day", e.Get("day"), "")
	}
}

// A call that was sent and stopped before anything came may be billed: where a limit is set, it counts.
func TestBudgetOfUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: -1, Contains: "wait", Fault: rehearsal.Hang})
	frugal(&w.conf, budget.Limits{})
	id := w.boot("ada", "dev")
	for calls, limits := range []budget.Limits{{}, {HomeDay: budget.Of(2)}} {
		r := w.run(id, func(c *Config) { c.Budget = limits })
		w.say("dev", "ann", "wait")
		w.eventually("the call", func() bool { return len(w.asked()) == calls+1 })
		w.say("dev", "ann", "/stop")
		w.eventually("Stopped.", func() bool { return len(w.said("dev")) == calls+1 })
		r.finish()
		spent := w.having(id, "spent", "estimated", "yes")
		if len(spent) != calls || calls > 0 && spent[0].Get("usd") < "0.05" {
			t.Errorf("spent: %v", spent)
		}
	}
}

// A turn that has spent what it may ends, and the next one begins anew.
func TestBudgetOfATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rehearsal.Step{Times: 12, Answer: &rehearsal.Answer{Calls: []rehearsal.Call{{Name: "BASH", Arguments: `{"command":"seq 1 200"}`}}}})
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Turn: budget.Of(0.4), Month: budget.Of(100)}})
	id := w.boot("ada", "dev")
	r := w.run(id)
	lethetest.Words(t, r.ask("work"), "I stopped: this turn has spent 0.", "of 0.40 USD (budget.turn_usd)")
	equal(t, "of the turn", w.fold(id).Spending.Spent.Turn, 0)
	contains(t, r.ask("hello"), "Hello")
	r.settled()
	s, err := status.Read(id.Dir)
	if month := s.Budget[len(s.Budget)-1]; err != nil || month.Of != "month" || month.Spent != w.fold(id).Spending.Spent.Month || month.Held > 0 {
		t.Errorf("shown: %+v, %v", s.Budget, err)
	}
	r.stop()
}

// After a clock or a time zone that was ahead, what it spent counts until its day is over.
func TestBudgetAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: budget.Of(2)}})
	id := w.boot("ada", "dev")
	tomorrow := time.Now().UTC().AddDate(0, 0, 1)
	w.spendOn(budget.DateOf(tomorrow, time.UTC), id, 2)
	r := w.run(id)
	contains(t, r.ask("hello"), "I go on by myself on "+budget.DateOf(tomorrow.AddDate(0, 0, 1), time.UTC))
	r.stop()
}

// A call that is repeated on another day is paid by that day.
func TestBudgetOverMidnight(t *testing.T) {
	t.Parallel()
	fail := make(chan struct{})
	w := newWorld(t, rehearsal.Step{Hold: fail, Status: 503})
	w.use(llm.Config{MaxRetries: 2})
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: budget.Of(2)}})
	id, other := w.boot("ada", "dev"), w.boot("bob", "ops")
	r := w.run(id)
	w.say("dev", "ann", "hello")
	w.eventually("a call is under way", func() bool { return len(w.holds(id)) > 0 })
	tomorrow := budget.DateOf(time.Now().AddDate(0, 0, 1), time.UTC)
	w.spendOn(tomorrow, other, 0.1)
	close(fail)
	contains(t, w.answered("dev", 1), "Hello")
	r.finish()
	equal(t, "day", w.events(id, "reply")[0].Get("day"), tomorrow)
	equal(t, "open holds", len(w.holds(id)), 0)
}

// What a child spends counts for its parent, and its own life has a limit.
func TestBudgetOfChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: budget.Of(2)}, Spawn: budget.Of(0.8)})
	ada := w.boot("ada", "dev")
	self, err := blobs.ParseHash(ada.Self)
	lethetest.Must(t, err)
	child, err := Boot(w.home, w.store, BootOptions{Name: "ada-1f2e", Rooms: []string{"ops"}, Child: &Child{At: time.Now(), Parent: self, Of: "ada", Room: "ops", USD: 0.6}})
	lethetest.Must(t, err)
	grandchild, err := blobs.ParseHash(child.Self)
	lethetest.Must(t, err)
	_, err = Boot(w.home, w.store, BootOptions{Name: "ada-1f2e-3d4c", Rooms: []string{"inner"}, Child: &Child{At: time.Now(), Parent: grandchild, Of: "ada-1f2e", Room: "inner"}})
	lethetest.Must(t, err)
	all, err := w.home.List()
	lethetest.Must(t, err)
	for _, id := range all[1:] {
		w.spend(id, 0.25)
	}
	w.spend(ada, 1)
	book, err := NewLedger(w.home, w.store).Read(w.conf.Budget, time.Now(), time.UTC)
	lethetest.Must(t, err)
	var got []string
	for _, l := range book.Lines(all[2].Self) {
		got = append(got, fmt.Sprint(l.Of, " ", l.Who, " ", l.Spent, " of ", l.Limit))
	}
	equalSlices(t, "limits", got, []string{
		"day ada-1f2e-3d4c 0.25 of 2.00", "life ada-1f2e-3d4c 0.25 of 0.80",
		"day ada-1f2e 0.50 of 2.00", "life ada-1f2e 0.50 of 0.60", "day ada 1.50 of 2.00",
	})
}

// When the time has come for which the budget was spent, it goes on by itself, and what it owed is done.
func TestBudgetGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	w.say("dev", "ann", "hello")
	a, err := Open(id, w.conf)
	lethetest.Must(t, err)
	lethetest.Must(t, inOrder(a.subscriptions, func() error { _, err := a.listen(); return err }, func() error {
		return a.commit(record{event: event.Paused{ID: a.noticeID(), Why: "the budget is spent", Until: time.Now().Add(2 * time.Second).UTC()}})
	}))
	lethetest.Must(t, a.begin())
	lethetest.Must(t, a.commit(record{event: event.Paused{ID: a.noticeID(), Why: "the budget is spent", Until: time.Now().Add(2 * time.Second).UTC()}}))
	r := w.live(a)
	contains(t, w.answered("dev", 1), "Hello")
	r.finish()
	equal(t, "resumed", len(w.having(id, "resumed", "why", "budget")), 1)
}

// An identity whose LIFE cannot be read now is not taken for one that has spent nothing; a damaged
// one stops nobody, and is remembered.
func TestBudgetBesideUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.boot("ada", "dev")
	w.spend(id, 1)
	read := func(l *Ledger) (budget.USD, error) {
		book, err := l.Read(budget.Limits{}, time.Now(), time.UTC)
		return book.Home().Spent, err
	}
	known := NewLedger(w.home, w.store)
	_, err := read(known)
	lethetest.Must(t, err)
	lethetest.Must(t, os.Remove(id.LIFE()))
	lethetest.Must(t, os.Mkdir(id.LIFE(), 0o700))
	for _, l := range []*Ledger{known, NewLedger(w.home, w.store)} {
		if usd, err := read(l); err == nil {
			t.Errorf("%s are spent", usd)
		}
	}
	lethetest.Must(t, os.Remove(id.LIFE()))
	usd, err := read(known)
	lethetest.Must(t, err)
	equal(t, "spent", usd, budget.Of(1))
	_, err = read(NewLedger(w.home, w.store))
	lethetest.Must(t, err)
}
