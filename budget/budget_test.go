package budget

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/lethetest"
	"lethe/life/event"
)

// charge is what the reference of TestNoLimitIsPassed keeps of each call.
type charge struct {
	who  int
	day  string
	usd  USD
	turn int // 0 of a compaction
	open bool
}

// world is a home in which identities spend, beside a slow reference: a list of all charges.
type world struct {
	*rapid.T
	limits  Limits
	parent  []int // of each identity; -1 is none
	turns   []int
	lines   [][]event.Event // of each life
	state   []Spending      // of each, folded as its agent does
	holds   []Holds         // as the files have them
	calls   []map[int]int   // of each, open hold to charge
	charges []charge
	raised  map[string]USD // "who span period"
	clock   time.Time
}

func self(i int) string {
	if i < 0 {
		return ""
	}
	return fmt.Sprint("id", i)
}

func (w *world) day() string { return DateOf(w.clock, time.UTC) }

// book is read as other processes do: holds first, and lives by a fold of their lines.
func (w *world) book() Book {
	b := Book{Limits: w.limits, Day: w.day()}
	for i := range w.parent {
		var s Spending
		for _, e := range w.lines[i] {
			s.Apply(e)
		}
		s = s.On(w.day())
		s.Spent.Turn, s.Raised.Turn = w.state[i].Spent.Turn, w.state[i].Raised.Turn
		b.Accounts = append(b.Accounts, Account{Self: self(i), Name: self(i), Parent: self(w.parent[i]), Spending: s, Held: SumHolds(w.holds[i].Unpaid(s.Settled), w.day())})
	}
	return b
}

func (w *world) record(i int, e event.Event) {
	w.lines[i] = append(w.lines[i], e)
	w.state[i].Apply(e)
}

// under reports whether identity i is a or one of a's descendants.
func (w *world) under(i, a int) bool {
	for ; i >= 0; i = w.parent[i] {
		if i == a {
			return true
		}
	}
	return false
}

// sum adds up charges slowly.
func (w *world) sum(which func(charge) bool) (usd USD) {
	for _, c := range w.charges {
		if which(c) {
			usd += c.usd
		}
	}
	return usd
}

// reference returns, of a call that i is about to make, the amounts that stand against each limit.
func (w *world) reference(i int, turn bool) (spent, limit []USD) {
	day := w.day()
	add := func(s, l USD) {
		if l > 0 {
			spent, limit = append(spent, s), append(limit, l)
		}
	}
	for a := i; a >= 0; a = w.parent[a] {
		if day := w.limits.Day; day > 0 {
			add(w.sum(func(c charge) bool { return w.under(c.who, a) && c.day == w.day() }), day+w.raised[fmt.Sprint(a, Day, w.day())])
		}
		if m := w.limits.Month; m > 0 {
			add(w.sum(func(c charge) bool { return w.under(c.who, a) && c.day[:7] == day[:7] }), m+w.raised[fmt.Sprint(a, Month, day[:7])])
		}
		if w.parent[a] >= 0 {
			add(w.sum(func(c charge) bool { return w.under(c.who, a) }), w.limits.Spawn)
		}
	}
	if t := w.limits.Turn; t > 0 && turn {
		add(w.sum(func(c charge) bool { return c.who == i && c.turn == w.turns[i] }), t+w.raised[fmt.Sprint(i, Turn, w.turns[i])])
	}
	add(w.sum(func(c charge) bool { return c.day == day }), w.limits.HomeDay)
	return spent, limit
}

// begin asks for a call, as the agent does: what may not begin, the reference must refuse, too.
func (w *world) begin(i int, worst USD, turn bool) {
	if turn && slices.ContainsFunc(w.charges, func(c charge) bool { return c.who == i && c.open && c.turn > 0 }) {
		return // one at a time
	}
	b := w.book()
	if !turn {
		b.Limits.Turn = 0
	}
	short := Check(b.Lines(self(i)), worst)
	spent, limit := w.reference(i, turn)
	fits := true
	for k := range limit {
		fits = fits && spent[k]+worst <= limit[k]
	}
	if fits != (short == nil) {
		w.Fatalf("a call of %s for %s: %v, the reference has %v of %v", worst, self(i), short, spent, limit)
	}
	if !fits {
		return
	}
	n := w.holds[i].Set(0, worst, w.day())
	w.calls[i][n] = len(w.charges)
	c := charge{who: i, day: w.day(), usd: worst, open: true}
	if turn {
		c.turn = w.turns[i]
	}
	w.charges = append(w.charges, c)
}

// end settles a call with what it has cost, or with all that was put aside when it was lost. The
// hold may be released, or stay as after a crash.
func (w *world) end(i, n int, share int, lost, release bool) {
	c := &w.charges[w.calls[i][n]]
	if !lost {
		c.usd = c.usd * USD(share) / 100
	}
	tokens := event.Tokens{USD: c.usd.Dollars(), Day: c.day, Hold: n}
	switch {
	case lost:
		w.record(i, event.Spent{On: "lost", Tokens: tokens})
		if c.turn == 0 { // it counts for the turn that the identity comes back to
			c.turn = w.turns[i]
		}
	case c.turn > 0:
		w.record(i, event.Reply{Tokens: tokens})
	default:
		w.record(i, event.Spent{On: "compaction", Tokens: tokens})
	}
	c.open = false
	delete(w.calls[i], n)
	if release {
		w.holds[i].Set(n, 0, "")
	}
}

// Whatever calls, crashes, compactions and raises come in which order, in a family of identities: a
// call begins exactly when the reference has room for it, so that no sum ever passes a limit.
func TestNoLimitIsPassed(t *testing.T) {
	cents := func(most int) *rapid.Generator[USD] {
		return rapid.Map(rapid.IntRange(0, most), func(n int) USD { return USD(n) * 7_300 })
	}
	rapid.Check(t, func(r *rapid.T) {
		w := &world{T: r, parent: []int{-1, 0, 0, 1, -1}, raised: map[string]USD{}, clock: time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC)}
		w.turns = []int{1, 1, 1, 1, 1}
		w.lines, w.state, w.holds = make([][]event.Event, 5), make([]Spending, 5), make([]Holds, 5)
		for range 5 {
			w.calls = append(w.calls, map[int]int{})
		}
		w.limits = Limits{Sums: Sums{Turn: cents(60).Draw(r, "turn"), Day: cents(120).Draw(r, "day"), Month: cents(300).Draw(r, "month")}, Spawn: cents(200).Draw(r, "spawn"), HomeDay: cents(200).Draw(r, "home")}
		who := rapid.IntRange(0, 4)
		open := func(i int) (int, bool) {
			all := slices.Sorted(func(yield func(int) bool) {
				for n := range w.calls[i] {
					if !yield(n) {
						return
					}
				}
			})
			if len(all) == 0 {
				return 0, false
			}
			return rapid.SampledFrom(all).Draw(r, "hold"), true
		}
		r.Repeat(map[string]func(*rapid.T){
			"call": func(r *rapid.T) {
				w.begin(who.Draw(r, "who"), 1+cents(20).Draw(r, "worst"), rapid.Bool().Draw(r, "turn"))
			},
			"end": func(r *rapid.T) {
				i := who.Draw(r, "who")
				if n, ok := open(i); ok {
					w.end(i, n, rapid.IntRange(0, 100).Draw(r, "share"), false, rapid.Bool().Draw(r, "release"))
				}
			},
			"crash": func(r *rapid.T) {
				i := who.Draw(r, "who")
				for _, h := range w.holds[i].Unpaid(w.state[i].Settled) {
					w.end(i, h.N, 0, true, true)
				}
				w.holds[i].Open = nil
			},
			"raise": func(r *rapid.T) {
				i, by, of := who.Draw(r, "who"), 1+cents(30).Draw(r, "by"), rapid.SampledFrom([]string{Turn, Day, Month}).Draw(r, "of")
				w.record(i, event.Command{Raise: by.Dollars(), Of: of, Day: w.day()})
				w.raised[fmt.Sprint(i, of, map[string]any{Turn: w.turns[i], Day: w.day(), Month: w.day()[:7]}[of])] += by
			},
			"turn ends": func(r *rapid.T) {
				i := who.Draw(r, "who")
				if !slices.ContainsFunc(w.charges, func(c charge) bool { return c.who == i && c.open }) {
					w.state[i].EndTurn()
					w.turns[i]++
				}
			},
			"time passes": func(r *rapid.T) {
				if !slices.ContainsFunc(w.charges, func(c charge) bool { return c.open }) { // a call pays on the day that it began
					w.clock = w.clock.Add(time.Duration(rapid.IntRange(1, 20).Draw(r, "hours")) * time.Hour)
				}
			},
		})
	})
}

func TestParseRaise(t *testing.T) {
	for arg, want := range map[string]string{
		"+2 today": "2.00 day", "+0.01 month": "0.01 month", "+12.5 turn": "12.50 turn", "+1  life": "1.00 life",
	} {
		by, span, err := ParseRaise(arg)
		if got := fmt.Sprint(by, " ", span); err != nil || got != want {
			t.Errorf("%q is %s, %v", arg, got, err)
		}
	}
	for _, arg := range []string{"2 today", "+2", "+2 week", "-2 today", "+0 today", "+NaN today", "+Inf today", "+1e9 today", "+0x1p9 today", "+2 today please", "+ today", "+1e3 month"} {
		if _, _, err := ParseRaise(arg); err == nil {
			t.Errorf("%q is taken", arg)
		}
	}
}

// A day begins at its first moment, also where the clocks are put forward at midnight.
func TestRenews(t *testing.T) {
	for _, c := range []struct{ zone, now, of, want string }{
		{"Europe/Berlin", "2026-11-30T23:30:00Z", Day, "2026-12-02T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-30T23:30:00Z", Month, "2027-01-01T00:00:00+01:00"},
		{"Europe/Berlin", "2026-03-28T12:00:00Z", HomeDay, "2026-03-29T00:00:00+01:00"},
		{"America/Santiago", "2026-09-05T12:00:00Z", Day, "2026-09-06T01:00:00-03:00"},
		{"Asia/Beirut", "2026-03-28T12:00:00Z", Day, "2026-03-29T01:00:00+03:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		lethetest.Must(t, err)
		now, err := time.Parse(time.RFC3339, c.now)
		lethetest.Must(t, err)
		if got := (Line{Of: c.of, Day: DateOf(now, zone)}).Renews(zone).Format(time.RFC3339); got != c.want {
			t.Errorf("%s in %s: %s renews at %s, want %s", c.now, c.zone, c.of, got, c.want)
		}
	}
	if at := (Line{Of: Life, Day: "2026-11-22"}).Renews(time.UTC); !at.IsZero() {
		t.Errorf("a life renews at %s", at)
	}
}

// What is written is read; what a power loss left of a file without open holds is no holds.
func TestHoldsFile(t *testing.T) {
	dir := t.TempDir()
	var h Holds
	a, b := h.Set(0, 5, "2026-11-22"), h.Set(0, 7, "2026-11-22")
	h.Set(a, 3, "")
	lethetest.Must(t, h.Write(dir))
	if got, err := ReadHolds(dir); err != nil || !reflect.DeepEqual(got, h) || got.Amount(a) != 3 || got.Amount(b) != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	lethetest.Write(t, dir+"/holds.json", "\x00\x00")
	if got, err := ReadHolds(dir); err != nil || len(got.Open) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Amounts come back from JSON and from LIFE as they were.
func TestAmounts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		usd := USD(rapid.Int64Range(0, 1e12).Draw(r, "usd"))
		data, err := json.Marshal(usd)
		var back USD
		if err != nil || json.Unmarshal(data, &back) != nil || back != usd || Of(usd.Dollars()) != usd || Ceil(usd.Dollars()) != usd {
			r.Errorf("%d is written as %s and read as %d", usd, data, back)
		}
	})
}
