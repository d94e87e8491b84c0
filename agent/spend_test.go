package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/part"
	"lethe/agent/status"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/life/event"
)

// paid is what the model of these tests costs, at any hour.
// noon is a zone where it is noon, so that no test meets the end of a day.
var noon = time.FixedZone("noon", (12-time.Now().UTC().Hour())*60*60)

var paid = llm.Info{Price: llm.Price{Hit: 8, Miss: 10, Output: 20}}

// frugal gives an identity a model that costs something, and limits.
func frugal(c *Config, limits budget.Limits) {
	c.Offline, c.DefaultModel, c.Params.Endpoint, c.Params.MaxTokens = false, "rehearsal-paid", "paid", 1000
	c.Known, c.Budget, c.People, c.Zone = llm.Known{"rehearsal-paid": paid}, limits, []string{"ann"}, noon
}

// dollars is what the server has really billed.
func (w *world) dollars() budget.USD {
	u := w.model.Usage()
	usd, _ := llm.Known{"rehearsal-paid": paid}.Cost("rehearsal-paid",
		llm.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output}, time.Now())
	return budget.Ceil(usd)
}

// within checks that what was spent and what is put aside keep to a limit of the home's day, by
// LIFE and holds, and by what the server has billed.
func (w *world) within(limit budget.USD) {
	w.Helper()
	home := w.book(budget.Limits{HomeDay: limit}).Home()
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
	slow(t)
	limit := budget.USD(lethetest.Sample(2, 4, 12)) * 1e6
	w := forgetful(t, 13_500,
		rehearsal.Step{Skip: 2, Times: 3, Fault: rehearsal.Truncate}, rehearsal.Step{Skip: 14, Answer: cut("so much to s")},
		rehearsal.Step{Skip: 20, Times: 2, Status: 503}, rehearsal.Step{Task: "summarise", Skip: 3, Times: 3, Answer: text(" ")},
		rehearsal.Step{Times: -1, Fault: rehearsal.Understate})
	w.gauge.limit = 0
	w.use(llm.Config{MaxRetries: 2})
	frugal(&w.conf, budget.Limits{HomeDay: limit})
	random := rand.New(rand.NewPCG(3, 4))
	kinds := []string{"reply", "spent", "call", "inbound", "posted", "epoch"}
	ids := []home.Identity{w.boot("ada", "dev"), w.boot("bob", "ops")}
	rooms := []string{"dev", "ops"}
	spent := func(id home.Identity) bool { return !w.fold(id).Until.IsZero() }
	for i := 0; !spent(ids[0]) || !spent(ids[1]); i++ {
		if i > 200 {
			t.Fatalf("nothing is at its end; %s are spent\n%s", w.dollars(), w.dump())
		}
		var both []*running
		rests := func(id home.Identity) int { return len(w.having(id, "error", "what", "model")) } // a minute, if nobody ends it
		before := []int{rests(ids[0]), rests(ids[1])}
		for k, id := range ids {
			change := func(*Config) {}
			if i%3 == 1 {
				change = dieAt(kinds[random.IntN(len(kinds))], 1+random.IntN(6))
			}
			both = append(both, w.run(id, change))
			w.say(rooms[k], "ann", chores(random, i), chores(random, 1000+i))
			if i%3 == 2 {
				lethetest.Must(t, home.Ask(id, home.WishCompact))
			}
		}
		w.within(limit)
		for k, r := range both {
			w.eventually("the work is done", func() bool { return r.ended() || r.idle() || rests(r.id) > before[k] })
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

// book is what has been spent, as anybody reads it now.
func (w *world) book(limits budget.Limits) budget.Book {
	w.Helper()
	book, err := budget.ReadBook(w.home, w.store, limits, time.Now(), noon)
	lethetest.Must(w, err)
	return book
}

// holds are those that the ledger has.
func (w *world) holds(id home.Identity) []budget.Hold {
	w.Helper()
	return w.ledger().Accounts[id.Self].Holds
}

func (w *world) ledger() *budget.Ledger {
	w.Helper()
	l := budget.NewLedger(w.home.Dir)
	unlock, err := l.Lock()
	lethetest.Must(w, err)
	defer unlock()
	if err := l.Read(); !errors.Is(err, fs.ErrNotExist) {
		lethetest.Must(w, err)
	}
	return l
}

// What a kill -9 leaves under way counts as spent, so that no number of kills passes the limit.
func TestBudgetOverKills(t *testing.T) {
	slow(t)
	w := newWorld(t)
	w.serve(rehearsal.Options{Script: []rehearsal.Step{{Times: -1, Fault: rehearsal.Understate}}, Pace: time.Millisecond})
	id := w.boot("ada", "dev")
	random := rand.New(rand.NewPCG(5, 6))
	const limit = 3 * budget.USD(1e6)
	for i := range lethetest.Sample(6, 12, 60) {
		child := w.process(nil, childUSD+"=3")
		w.eventually("the child runs", func() bool { _, ok := home.Running(id); return ok })
		w.say("dev", "ann", fmt.Sprintf("count to %d", 100+i))
		w.eventually("a call is under way", func() bool { return len(w.holds(id)) > 0 || !w.fold(id).Until.IsZero() })
		_ = killedIn(child, random)
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
	if until := s.Until; until.IsZero() || until.In(noon).Format(time.TimeOnly) != "00:00:00" {
		t.Errorf("it goes on at %s", until)
	}
	said := w.said("dev")
	lethetest.Words(t, said[len(said)-1], "I pause: the next call may cost up to 0.", "are left: today ada has spent 1.",
		"of 2.00 USD (budget.day_usd)",
		"I go on by myself on", "/budget +1 today")
	w.has(id, 1, "error", "what", "budget")
	for line, answer := range map[string]string{
		"[USER:eve 2026-11-22T10:00:00Z] /budget +1 today": "Only ann may raise a budget.",
		"[USER:ann 2026-11-22T10:00:00Z] /budget +1 week":  "I cannot read that; say for example: /budget +2 today",
		"[USER:ann 2026-11-22T10:00:00Z] /budget +1 turn":  "I cannot read that; say for example: /budget +2 today (or month, life)",
		"[USER:ann 2026-11-22T10:00:00Z] /budget +1 month": "No such limit is set, so there is nothing to raise. Spent: today 1.",
		"[USER:eve 2026-11-22T10:00:00Z] /budget":          "Spent: today 1.", // and so on
	} {
		contains(t, w.answeredLine(line), answer)
	}
	w.put("dev", "[AGENT:eve 2026-11-22T10:00:00Z] /budget +1 today\n")
	r.settled()
	if w.fold(id).Paused == "" {
		t.Fatal("it goes on")
	}
	contains(t, w.answeredLine("[USER:eve 2026-11-22T10:00:00Z] hello"), "I go on by myself on")
	equal(t, "notices", len(w.said("notify-ann")), 1)
	n := len(w.said("dev"))
	w.put("dev", "[USER:ann 2026-11-22T10:00:01Z] /budget +1 today\n")
	contains(t, w.answered("dev", n+1), "I may spend 1.00 USD more today.")
	w.answered("dev", n+2)
	r.finish()
	equal(t, "raised", w.spending(id).Raised.Day, budget.Of(1))
	r = w.run(id, func(c *Config) { c.Budget = budget.Limits{Sums: budget.Sums{Month: budget.Of(0.01)}} })
	lethetest.Words(t, r.ask("count to 9"), "I go on after /budget +1 month.") // by itself never
	equal(t, "notices of both", len(w.said("notify-ann")), 2)
	r.stop()
}

// spend says that an identity that does not run has spent so many dollars today.
func (w *world) spend(id home.Identity, usd float64) {
	w.Helper()
	w.spendOn(budget.DateOf(time.Now(), noon), id, usd)
}

func (w *world) spendOn(day string, id home.Identity, usd float64) {
	w.Helper()
	a, err := Open(id, w.conf)
	lethetest.Must(w, err)
	defer a.Close()
	lethetest.Must(w, a.view.Commit(part.Record{Event: event.Spent{On: "compaction", Calls: 1, Tokens: event.Tokens{USD: usd, Day: day}}}))
	lethetest.Must(w, a.thinker.Release())
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
	w.conf.Known = nil
	r := w.run(id)
	r.ask("hello")
	r.ask("get a helper")
	contains(t, w.results(id)[0].text, "nobody has told what the model rehearsal-paid costs")
	r = r.again(func(c *Config) { c.Budget.Day = 1 })
	lethetest.Words(t, r.ask("hello"), "nobody has told me what the model rehearsal-paid costs", `[prices."rehearsal-paid"]`)
	r = r.again(func(c *Config) { c.Budget.Day, c.Budget.AllowUnpriced = 1, true })
	contains(t, r.ask("hello"), "Hello")
	r.stop()
	equal(t, "put aside", len(w.holds(id)), 0)
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

// What is left is shown beside the identity.
func TestBudgetIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Month: budget.Of(100)}})
	id, r := w.ada()
	contains(t, r.ask("hello"), "Hello")
	r.settled()
	s, err := status.Read(id.Dir)
	if month := s.Budget[len(s.Budget)-1]; err != nil || month.Of != "month" || month.Spent != w.spending(id).Spent.Month || month.Held > 0 {
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
	w.spendOn(budget.DateOf(tomorrow, noon), id, 2)
	r := w.run(id)
	contains(t, r.ask("hello"), "I go on by myself on "+budget.DateOf(tomorrow.AddDate(0, 0, 1), noon))
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
	tomorrow := budget.DateOf(time.Now().AddDate(0, 0, 1), noon)
	w.spendOn(tomorrow, other, 0.1)
	close(fail)
	contains(t, w.answered("dev", 1), "Hello")
	r.finish()
	equal(t, "day", w.events(id, "reply")[0].Get("day"), tomorrow)
	equal(t, "open holds", len(w.holds(id)), 0)
}

// What a child spends counts for its parent, and its own life has a limit: what it was given, and at most spawn_usd.
func TestBudgetOfChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{Sums: budget.Sums{Day: budget.Of(2)}, Spawn: budget.Of(0.8)})
	ada := w.boot("ada", "dev")
	self, err := blobs.ParseHash(ada.Self)
	lethetest.Must(t, err)
	child, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada-1f2e", Rooms: []string{"ops"},
		Child: &home.Child{At: time.Now(), Parent: self, Of: "ada", Room: "ops", USD: 0.6}})
	lethetest.Must(t, err)
	grandchild, err := blobs.ParseHash(child.Self)
	lethetest.Must(t, err)
	_, err = home.Boot(w.home, w.store, home.BootOptions{Name: "ada-1f2e-3d4c", Rooms: []string{"inner"},
		Child: &home.Child{At: time.Now(), Parent: grandchild, Of: "ada-1f2e", Room: "inner", USD: 5}})
	lethetest.Must(t, err)
	all, err := w.home.List()
	lethetest.Must(t, err)
	for _, id := range all[1:] {
		w.spend(id, 0.25)
	}
	w.spend(ada, 1)
	book := w.book(w.conf.Budget)
	var got []string
	for _, l := range book.Lines(all[2].Self) {
		got = append(got, fmt.Sprint(l.Of, " ", l.Who, " ", l.Spent, " of ", l.Limit))
	}
	equalSlices(t, "limits", got, []string{
		"day ada-1f2e-3d4c 0.25 of 2.00", "life ada-1f2e-3d4c 0.25 of 0.80",
		"day ada-1f2e 0.50 of 2.00", "life ada-1f2e 0.50 of 0.60", "day ada 1.50 of 2.00",
	})
}

// When the time has come for which the budget was spent, it goes on by itself, and what it owed is done; also when a clock
// that was wrong has told that time.
func TestBudgetGoesOn(t *testing.T) {
	t.Parallel()
	for why, until := range map[string]time.Time{
		"today ada has spent 2.00 of 2.00 USD (budget.day_usd)":            time.Now().Add(2 * time.Second),
		"by a clock: today ada has spent 2.00 of 2.00 USD":                 time.Now().AddDate(0, 0, 3),
		"this month ada has spent 2.00 of 2.00 USD (budget.month_usd)":     time.Now().AddDate(73, 0, 0),
		"by a clock: this month ada has spent 2.00 USD (budget.month_usd)": time.Now().AddDate(0, 2, 0),
	} {
		w := newWorld(t)
		id := w.boot("ada", "dev")
		w.say("dev", "ann", "hello")
		a, err := Open(id, w.conf)
		lethetest.Must(t, err)
		pause := func() error {
			return a.view.Commit(part.Record{Event: event.Paused{Why: why, Until: until.UTC()}})
		}
		lethetest.Must(t, inOrder(a.listener.FollowLinks, func() error { _, err := a.listener.Listen(); return err }, pause, a.begin, pause))
		r := w.live(a)
		contains(t, w.answered("dev", 1), "Hello")
		r.finish()
		w.has(id, 1, "resumed", "why", "budget")
	}
}

// What was spent by a clock that was wrong counts for the day on which that was noticed, and blocks nobody any longer. When
// the clock is there again, it counts again.
func TestBudgetOfAWrongClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limits := budget.Limits{Sums: budget.Sums{Day: budget.Of(2)}, HomeDay: budget.Of(4.1)}
	frugal(&w.conf, limits)
	ada, bob := w.boot("ada", "dev"), w.boot("bob", "ops")
	now := time.Now().UTC()
	today, tomorrow := budget.DateOf(now, noon), budget.DateOf(now.AddDate(0, 0, 1), noon)
	w.spend(ada, 0.5)
	w.spendOn("2099-01-01", ada, 0.25)
	w.spendOn("2099-01-01", bob, 2)
	r, s := w.run(ada), w.run(bob)
	contains(t, r.ask("hello"), "Hello")
	w.say("ops", "ann", "hello")
	contains(t, w.answered("ops", 1), "I go on by myself on "+tomorrow)
	r.finish()
	s.finish()
	answer := w.dollars()
	for day, want := range map[string]budget.USD{today: budget.Of(2.75) + answer, tomorrow: 0, "2099-01-01": budget.Of(2.25)} {
		home := budget.NewBook(limits, day, w.ledger().Accounts).Home()
		if got := home.Spent; day == today && (got < want || got > want+budget.Of(0.1)) || day != today && got != want {
			t.Errorf("on %s %s are spent, want %s", day, got, want)
		}
	}
	if all := len(w.events(bob, "reply")); all > 0 {
		t.Errorf("bob has answered %d times", all)
	}
}

// ledgerLines are those of the file.
func (w *world) ledgerLines() []string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.home.Dir, "ledger"))
	lethetest.Must(w, err)
	return slices.Collect(strings.Lines(string(text)))
}

// A ledger that is lost, emptied or torn is made again, or read as far as it is whole: nothing is forgotten that LIFE has,
// or that this process has put aside.
func TestBudgetWithoutLedger(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w := newWorld(t, rehearsal.Step{Contains: "wait", Hold: hold, Answer: text("at last")})
	limits := budget.Limits{HomeDay: budget.Of(100)}
	frugal(&w.conf, limits)
	ada, bob := w.boot("ada", "dev"), w.boot("bob", "ops")
	w.spend(bob, 1)
	r, s := w.run(ada), w.run(bob)
	path := filepath.Join(w.home.Dir, "ledger")
	w.say("dev", "ann", "wait")
	w.eventually("a call is under way", func() bool { return len(w.holds(ada)) > 0 })
	held := w.holds(ada)[0].USD
	for i, harm := range []func(){
		func() { lethetest.Must(t, os.Remove(path)) },
		func() { lethetest.Must(t, os.Truncate(path, 0)) },
		func() { lethetest.Write(t, path, strings.Join(w.ledgerLines(), "")+`{"self":"`) },
		func() { lethetest.Write(t, path, "\x00\x00\x00\n"+strings.Join(w.ledgerLines(), "")+"\x00\x00") },
	} {
		before := w.book(limits).Home().Spent
		harm()
		w.say("ops", "ann", "hello")
		w.answered("ops", i+1)
		s.settled()
		if home := w.book(limits).Home(); home.Spent <= before {
			t.Errorf("after harm %d, %s are spent, and %s before", i, home.Spent, before)
		}
	}
	close(hold)
	w.answered("dev", 1)
	r.finish()
	s.finish()
	w.within(limits.HomeDay)
	equal(t, "spent", w.book(limits).Home().Spent, w.spending(ada).Spent.Day+w.spending(bob).Spent.Day)
	if held == 0 || len(w.holds(ada)) > 0 {
		t.Errorf("%s were held, and %v are", held, w.holds(ada))
	}
}

// A home without a ledger, such as one of an older program, gets it from its lives.
func TestBudgetOfAnOlderHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{})
	ada, bob := w.boot("ada", "dev"), w.boot("bob", "ops")
	w.spend(ada, 0.5)
	w.spend(bob, 0.25)
	if _, err := os.Stat(filepath.Join(w.home.Dir, "ledger")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a limit there is a ledger: %v", err)
	}
	limits := budget.Limits{HomeDay: budget.Of(10)}
	home := w.book(limits).Home() // as lethe budget reads it
	equal(t, "spent", home.Spent, budget.Of(0.75))
	frugal(&w.conf, limits)
	w.run(bob).finish()
	equal(t, "spent", w.book(limits).Home().Spent, budget.Of(0.75))
}

// What a start reads does not grow with the past: neither with calls, nor with children that are over. A child that is
// called after all counts for its limit with all that its family ever had.
func TestLedgerStaysSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limits := budget.Limits{HomeDay: budget.Of(100_000)}
	frugal(&w.conf, limits)
	ada := w.boot("ada", "dev")
	self, err := blobs.ParseHash(ada.Self)
	lethetest.Must(t, err)
	spawn := func(name string, of blobs.Hash) home.Identity {
		id, err := home.Boot(w.home, w.store, home.BootOptions{Name: name, Rooms: []string{name},
			Child: &home.Child{At: time.Now(), Parent: of, Of: "ada", Room: name, USD: 5}})
		lethetest.Must(t, err)
		return id
	}
	child := spawn("ada-1f2e", self)
	parent, err := blobs.ParseHash(child.Self)
	lethetest.Must(t, err)
	inner := spawn("ada-1f2e-3d4c", parent)
	w.spendOn("2026-01-10", child, 1)
	w.spendOn("2026-01-10", inner, 2)
	l := w.ledger()
	a, err := Open(ada, w.conf)
	lethetest.Must(t, err)
	pay := func() {
		call := a.thinker.wallet.Pay(a.thinker.rates()).Attempts(&llm.Request{Model: "rehearsal-paid", MaxTokens: 10})
		lethetest.Must(t, call.Begin(llm.Waste{}))
		lethetest.Must(t, call.End(event.Tokens{}, false))
	}
	most := 0
	for range 800 {
		pay()
		if len(w.ledgerLines()) > 1100 {
			most++
		}
	}
	lethetest.Must(t, a.Close())
	if n := len(w.ledgerLines()); most > 0 || n > 1100 {
		t.Errorf("the ledger has %d lines, and had too many %d times", n, most)
	}
	if _, known := w.ledger().Accounts[inner.Self]; known {
		t.Error("a family that is over is in the ledger")
	}
	if _, known := l.Accounts[inner.Self]; !known {
		t.Error("it was never there")
	}
	w.spend(child, 0.5)
	for _, line := range budget.NewBook(limits, budget.DateOf(time.Now(), noon), w.ledger().Accounts).Lines(child.Self) {
		if line.Of == budget.Life {
			equal(t, "of its life", line.Spent, budget.Of(3.5))
		}
	}
}

// An identity whose LIFE cannot be read now is not taken for one that has spent nothing, while the ledger is made; what
// the ledger has counts whatever becomes of the life.
func TestBudgetBesideUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	frugal(&w.conf, budget.Limits{})
	id := w.boot("ada", "dev")
	w.spend(id, 1)
	lethetest.Must(t, os.Rename(id.LIFE(), id.LIFE()+".away"))
	lethetest.Must(t, os.Mkdir(id.LIFE(), 0o700))
	if book, err := budget.ReadBook(w.home, w.store, budget.Limits{}, time.Now(), noon); err == nil {
		t.Errorf("%s are spent", book.Home().Spent)
	}
	lethetest.Must(t, os.Remove(id.LIFE()))
	lethetest.Must(t, os.Rename(id.LIFE()+".away", id.LIFE()))
	frugal(&w.conf, budget.Limits{HomeDay: budget.Of(10)})
	w.spend(id, 1)
	lethetest.Must(t, os.Remove(id.LIFE()))
	equal(t, "spent", w.book(budget.Limits{}).Home().Spent, budget.Of(2))
}
