package budget

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
	"lethe/life/event"
)

// charge is what the reference of TestNoLimitIsPassed keeps of each call.
type charge struct {
	who  int
	day  string
	usd  USD
	open bool
}

// world is a home in which identities spend, beside a slow reference: a list of all charges.
type world struct {
	*rapid.T
	limits   Limits
	parent   []int         // of each identity; -1 is none
	state    []Spending    // of each, folded as its agent does
	accounts []Account     // as the ledger has them
	calls    []map[int]int // of each, open hold to charge
	last     int
	charges  []charge
	raised   map[string]USD // "who span period"
	clock    time.Time
	leapt    bool
}

func self(i int) string {
	if i < 0 {
		return ""
	}
	return fmt.Sprint("id", i)
}

func (w *world) day() string { return DateOf(w.clock, time.UTC) }

// book is that of now, which the ledger says from now on.
func (w *world) book() Book {
	all := map[string]Account{}
	for _, a := range w.accounts {
		all[a.Self] = a
	}
	b := NewBook(w.limits, w.day(), all)
	copy(w.accounts, b.Accounts)
	return b
}

func (w *world) record(i int, e event.Event) {
	w.state[i].Apply(e)
	w.accounts[i].Says(w.state[i])
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
func (w *world) reference(i int, day string) (spent, limit []USD) {
	add := func(s, l USD) {
		if l > 0 {
			spent, limit = append(spent, s), append(limit, l)
		}
	}
	for a := i; a >= 0; a = w.parent[a] {
		if l := w.limits.Day; l > 0 {
			add(w.sum(func(c charge) bool { return w.under(c.who, a) && c.day == day }), l+w.raised[fmt.Sprint(a, Day, day)])
		}
		if l := w.limits.Month; l > 0 {
			add(w.sum(func(c charge) bool { return w.under(c.who, a) && month(c.day) == month(day) }), l+w.raised[fmt.Sprint(a, Month, day[:7])])
		}
		if w.parent[a] >= 0 {
			add(w.sum(func(c charge) bool { return w.under(c.who, a) }), w.limits.Spawn)
		}
	}
	add(w.sum(func(c charge) bool { return c.day == day }), w.limits.HomeDay)
	return spent, limit
}

// begin asks for a call, as the agent does: what may not begin, the reference must refuse, too.
func (w *world) begin(i int, worst USD) {
	b := w.book()
	if next := after(w.day()); b.Day != w.day() && b.Day != next {
		w.Fatalf("today is %s, and %s counts as today", w.day(), b.Day)
	}
	short := Check(b.Lines(self(i)), worst)
	spent, limit := w.reference(i, b.Day)
	fits := true
	for k := range limit {
		fits = fits && spent[k]+worst <= limit[k]
	}
	if fits != (short == nil) && (!w.leapt || !fits) { // what counted for another day may count for this one, too
		w.Fatalf("a call of %s for %s on %s: %v, the reference has %v of %v\n%+v\n%+v", worst, self(i), b.Day, short, spent,
			limit, w.charges, w.accounts)
	}
	if !fits {
		return
	}
	w.last++
	w.accounts[i].Hold(w.last, worst, b.Day)
	w.calls[i][w.last] = len(w.charges)
	w.charges = append(w.charges, charge{who: i, day: b.Day, usd: worst, open: true})
}

// end settles a call with what it has cost, or with all that was put aside when it was lost.
func (w *world) end(i, n int, share int, lost bool) {
	c := &w.charges[w.calls[i][n]]
	tokens := event.Tokens{Day: c.day, Hold: n}
	if !lost {
		c.usd = c.usd * USD(share) / 100
	}
	tokens.USD = c.usd.Dollars()
	if lost {
		w.record(i, event.Spent{On: "lost", Tokens: tokens})
	} else {
		w.record(i, event.Reply{Tokens: tokens})
	}
	c.open = false
	delete(w.calls[i], n)
}

// Whatever calls, crashes and raises come in which order, in a family of identities: a call begins exactly when the
// reference has room for it, so that no sum ever passes a limit. Nor does one when the clock leaps to another day and back.
func TestNoLimitIsPassed(t *testing.T) {
	cents := func(most int) *rapid.Generator[USD] {
		return rapid.Map(rapid.IntRange(0, most), func(n int) USD { return USD(n) * 7_300 })
	}
	rapid.Check(t, func(r *rapid.T) {
		w := &world{T: r, parent: []int{-1, 0, 0, 1, -1}, raised: map[string]USD{},
			clock: time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC), state: make([]Spending, 5)}
		for i, p := range w.parent {
			w.calls = append(w.calls, map[int]int{})
			w.accounts = append(w.accounts, Account{Self: self(i), Name: self(i), Parent: self(p)})
		}
		w.limits = Limits{Sums: Sums{Day: cents(120).Draw(r, "day"), Month: cents(300).Draw(r, "month")},
			Spawn: cents(200).Draw(r, "spawn"), HomeDay: cents(200).Draw(r, "home")}
		who := rapid.IntRange(0, 4)
		// a call pays on the day that it began
		idle := func() bool { return !slices.ContainsFunc(w.charges, func(c charge) bool { return c.open }) }
		// as a clock that has leapt would say; zero while it has not
		var right time.Time
		r.Repeat(map[string]func(*rapid.T){
			"call": func(r *rapid.T) { w.begin(who.Draw(r, "who"), 1+cents(20).Draw(r, "worst")) },
			"end": func(r *rapid.T) {
				i := who.Draw(r, "who")
				if open := slices.Sorted(maps.Keys(w.calls[i])); len(open) > 0 {
					w.end(i, rapid.SampledFrom(open).Draw(r, "hold"), rapid.IntRange(0, 100).Draw(r, "share"), false)
				}
			},
			"crash": func(r *rapid.T) {
				i := who.Draw(r, "who")
				for _, h := range w.accounts[i].Holds {
					w.end(i, h.N, 0, true)
				}
			},
			"raise": func(r *rapid.T) {
				i, by, of := who.Draw(r, "who"), 1+cents(30).Draw(r, "by"), rapid.SampledFrom([]string{Day, Month}).Draw(r, "of")
				if day := w.book().Day; !w.leapt { // what was raised is forgotten then
					w.record(i, event.Command{Raise: by.Dollars(), Of: of, Day: day})
					w.raised[fmt.Sprint(i, of, map[string]any{Day: day, Month: day[:7]}[of])] += by
				}
			},
			"time passes": func(r *rapid.T) {
				if d := time.Duration(rapid.IntRange(1, 20).Draw(r, "hours")) * time.Hour; idle() {
					w.clock = w.clock.Add(d)
					if !right.IsZero() {
						right = right.Add(d)
					}
				}
			},
			"the clock leaps": func(r *rapid.T) {
				days := rapid.SampledFrom([]int{-20_000, -9, -3, 3, 9, 40, 20_000}).Draw(r, "days")
				switch {
				case !idle():
				case !right.IsZero():
					w.clock, right = right, time.Time{}
				case !w.leapt && len(w.raised) == 0:
					w.clock, right, w.leapt = w.clock.AddDate(0, 0, days), w.clock, true
				}
			},
		})
	})
}

func TestParseRaise(t *testing.T) {
	for arg, want := range map[string]string{
		"+2 today": "2.00 day", "+0.01 month": "0.01 month", "+1  life": "1.00 life",
	} {
		by, span, err := ParseRaise(arg)
		if got := fmt.Sprint(by, " ", span); err != nil || got != want {
			t.Errorf("%q is %s, %v", arg, got, err)
		}
	}
	for _, arg := range []string{"2 today", "+2", "+2 week", "+2 turn", "-2 today", "+0 today", "+NaN today", "+Inf today",
		"+1e9 today", "+0x1p9 today", "+2 today please", "+ today", "+1e3 month"} {
		if _, _, err := ParseRaise(arg); err == nil {
			t.Errorf("%q is taken", arg)
		}
	}
}

// What was spent and raised by a clock that was ahead counts for the day on which that was noticed, however often its
// identity starts again before it spends.
func TestAheadIsNoticedOnce(t *testing.T) {
	says := Spending{Date: "2031-01-01", Spent: Sums{Of(5), Of(5), Of(5)}, Raised: Sums{Day: Of(2)}}
	var a Account
	for i, day := range []string{"2026-11-20", "2026-11-21", "2026-12-21"} {
		a.Says(says)
		a.Spending = a.On(day)
		if got := a.Sums(); (got.Day > 0) != (i == 0) || (got.Month > 0) != (i < 2) || got.Life != Of(5) {
			t.Errorf("on %s it counts %+v", day, got)
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

// The page's example of a ledger is read as the page says, and its last line is written as it stands there.
func TestLedgerOfThePage(t *testing.T) {
	text := lethetest.Blocks(t, "budget.md", "ledger")[0]
	home := t.TempDir()
	lethetest.Write(t, filepath.Join(home, "ledger"), text)
	l := NewLedger(home)
	lethetest.Must(t, l.Read())
	self, child := "81c68b6ce806a784a0ba4d9a4f1b1ed1d2a0d1f3a5e5f7c0b9a8d7c6b5a49382",
		"5d95f171722c057859ca16edd2d3a841c64bff38384f04bcfc5a04983ef58d98"
	ada := l.Accounts[self]
	want := Account{Self: self, Name: "ada", Spending: Spending{Date: "2026-11-23",
		Spent: Sums{131_400, 4_260_100, 17_040_300}, Raised: Sums{Day: 2_000_000}}}
	if !reflect.DeepEqual(ada, want) {
		t.Errorf("%+v, want %+v", ada, want)
	}
	for day, want := range map[string]Sums{"2026-11-23": {20_000, 30_000, 20_000}, "2026-11-24": {0, 30_000, 20_000},
		"2099-01-01": {10_000, 10_000, 20_000}} {
		a := l.Accounts[child]
		if got := a.On(day).Sums(); got != want || a.Parent != self || a.Limit != 500_000 {
			t.Errorf("on %s %+v of %+v, want %+v", day, got, a, want)
		}
	}
	lethetest.Must(t, l.Put(ada))
	now, err := os.ReadFile(filepath.Join(home, "ledger"))
	lethetest.Must(t, err)
	lines := slices.Collect(strings.Lines(text))
	if string(now) != text+lines[2] {
		t.Errorf("the ledger has %q behind the example", now[min(len(now), len(text)):])
	}
	first := Account{}
	lethetest.Must(t, json.Unmarshal([]byte(lines[0]), &first))
	if !slices.Equal(first.Holds, []Hold{{12, 41_300, "2026-11-23"}}) {
		t.Errorf("holds: %+v", first.Holds)
	}
}
