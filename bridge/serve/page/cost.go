package page

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"lethe/agent"
	"lethe/budget"
	"lethe/life"
	"lethe/life/event"
	"lethe/report"
)

// cost is what the calls of the model have used, day by day.
var cost = view{Name: "cost", Title: "Cost", data: costOf}

type costData struct {
	report.Budget
	Charts []chart
	Days   []*day // the newest first
	Total  day
	Older  bool // there are more
}

// day is what was used on a local day.
type day struct {
	Date string // 2026-11-20
	event.Tokens
}

// chart is a row of bars, one a day, the oldest first.
type chart struct {
	Title, Most string
	From, To    string // dates
	Width       int
	Bars        []bar
}

type bar struct {
	Class, Title     string
	X                int
	Y, Width, Height float64
}

const daysShown = 30

// tallies holds what LIFE says of each day as far as it was read, so that a view reads only what is new.
var tallies = struct {
	sync.Mutex
	of map[string]*tally
}{of: map[string]*tally{}}

type tally struct {
	to   life.Mark // that was read
	days map[string]*day
}

// read takes in what is behind the mark.
func (t *tally) read(id agent.Identity, zone *time.Location) error {
	return life.ReadOn(id.LIFE(), &t.to, func(line life.Event, _ bool) error {
		spent, used := event.As[event.Spent](line)
		if reply, ok := event.As[event.Reply](line); ok {
			spent.Tokens, used = reply.Tokens, true
		}
		if !used {
			return nil
		}
		date := cmp.Or(spent.Day, line.At.In(zone).Format(time.DateOnly))
		if t.days[date] == nil {
			t.days[date] = &day{Date: date}
		}
		t.days[date].add(spent.Tokens)
		return nil
	})
}

// daysOf returns the days of an identity, the newest first.
func daysOf(id agent.Identity, zone *time.Location) ([]*day, error) {
	tallies.Lock()
	defer tallies.Unlock()
	t, err := tallies.of[id.LIFE()], life.ErrOtherLog
	if t != nil {
		err = t.read(id, zone)
	}
	if errors.Is(err, life.ErrOtherLog) {
		t = &tally{days: map[string]*day{}}
		tallies.of[id.LIFE()], err = t, t.read(id, zone)
	}
	if err != nil {
		return nil, id.Unread(err)
	}
	return slices.SortedFunc(maps.Values(t.days), func(a, b *day) int { return cmp.Compare(b.Date, a.Date) }), nil
}

func (d *day) add(t event.Tokens) {
	d.In, d.Cached, d.Out, d.USD = d.In+t.In, d.Cached+t.Cached, d.Out+t.Out, d.USD+t.USD
}

func costOf(f *frame, r *http.Request) (any, error) {
	budgets, err := f.Budgets()
	if err != nil {
		return nil, err
	}
	d := &costData{Budget: budgets.Of(f.ID.Self)}
	if d.Days, err = daysOf(f.ID, f.Clock()); err != nil || len(d.Days) == 0 {
		return d, err
	}
	for _, one := range d.Days {
		d.Total.add(one.Tokens)
	}
	d.Charts = charts(d.Days)
	if len(d.Days) > daysShown && r.FormValue("all") == "" {
		d.Days, d.Older = d.Days[:daysShown], true
	}
	return d, nil
}

func charts(days []*day) []chart {
	last, err := time.Parse(time.DateOnly, days[0].Date)
	if err != nil {
		return nil
	}
	var shown []*day
	for i := range daysShown {
		date := last.AddDate(0, 0, i-daysShown+1).Format(time.DateOnly)
		if k := slices.IndexFunc(days, func(d *day) bool { return d.Date == date }); k >= 0 {
			shown = append(shown, days[k])
		} else if len(shown) > 0 {
			shown = append(shown, &day{Date: date})
		}
	}
	most, dear := int64(1), 1e-9
	for _, d := range shown {
		most, dear = max(most, d.In+d.Out), max(dear, d.USD)
	}
	frame := chart{From: shown[0].Date, To: shown[len(shown)-1].Date, Width: 10 * max(12, len(shown))}
	tokens, usd, cache := frame, frame, frame
	tokens.Title, tokens.Most = "Tokens a day", count(most)
	usd.Title, usd.Most = "Dollars a day", dollars(dear)
	cache.Title, cache.Most = "Share of what was asked that the provider's cache served", "100 %"
	for i, d := range shown {
		title := fmt.Sprintf("%s: asked %s, %s of it from the cache, answered %s, %s", d.Date, count(d.In), share(d.Cached, d.In), count(d.Out), dollars(d.USD))
		tokens.stack(i, title, float64(most), []string{"cached", "fresh", "out"}, float64(d.Cached), float64(d.In-d.Cached), float64(d.Out))
		usd.stack(i, title, dear, []string{"usd"}, d.USD)
		cache.stack(i, title, float64(max(1, d.In)), []string{"cached"}, float64(d.Cached))
	}
	return []chart{tokens, usd, cache}
}

// stack draws a day: one part on top of the other.
func (c *chart) stack(i int, title string, most float64, classes []string, parts ...float64) {
	y := 100.0
	for k, part := range parts {
		high := 100 * part / most
		y -= high
		c.Bars = append(c.Bars, bar{Class: classes[k], Title: title, X: 10*i + 1, Y: y, Width: 8, Height: high})
	}
}

// part100 is how much of a limit is spent, in hundredths.
func part100(spent, limit budget.USD) int64 { return int64(min(100, 100*spent/max(1, limit))) }
