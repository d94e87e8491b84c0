package page

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"lethe/home"
	"lethe/life"
	"lethe/life/event"
	"lethe/report"
)

// cost shows the tokens and dollars that calls of the model have used, day by day.
var cost = view{Name: "cost", Title: "Cost", data: costOf}

type costData struct {
	report.Budget
	Days  []day // the newest first
	Total day
	Most  float64 // dollars of a day
	Older bool    // there are more
}

// day sums the calls of a local day.
type day struct {
	Date string // 2026-11-20
	event.Tokens
}

const daysShown = 30

// tallies holds what LIFE says of each day as far as it was read, so that a view reads only what is new.
var tallies = struct {
	sync.Mutex
	of map[string]*tally
}{of: map[string]*tally{}}

type tally struct {
	to   life.Mark // that was read
	days map[string]event.Tokens
}

// read takes in what is behind the mark.
func (t *tally) read(path string, zone *time.Location) error {
	return life.ReadOn(path, &t.to, func(line life.Event, _ bool) error {
		spent, used := event.As[event.Spent](line)
		if reply, ok := event.As[event.Reply](line); ok {
			spent.Tokens, used = reply.Tokens, true
		}
		if used {
			date := cmp.Or(spent.Day, line.At.In(zone).Format(time.DateOnly))
			t.days[date] = sum(t.days[date], spent.Tokens)
		}
		return nil
	})
}

func sum(a, b event.Tokens) event.Tokens {
	return event.Tokens{In: a.In + b.In, Cached: a.Cached + b.Cached, Out: a.Out + b.Out, USD: a.USD + b.USD}
}

// daysOf returns the days of an identity, the newest first.
func daysOf(id home.Identity, zone *time.Location) (list []day, err error) {
	path := id.LIFE()
	tallies.Lock()
	defer tallies.Unlock()
	t := cmp.Or(tallies.of[path], &tally{days: map[string]event.Tokens{}})
	tallies.of[path] = t
	err = t.read(path, zone)
	if errors.Is(err, life.ErrOtherLog) {
		*t = tally{days: map[string]event.Tokens{}}
		err = t.read(path, zone)
	}
	for date, used := range t.days {
		list = append(list, day{date, used})
	}
	slices.SortFunc(list, func(a, b day) int { return cmp.Compare(b.Date, a.Date) })
	return list, id.Unread(err)
}

func costOf(f *frame, r *http.Request) (any, error) {
	budgets, err := f.Budgets()
	if err != nil {
		return nil, err
	}
	d := &costData{Budget: budgets.Of(f.ID.Self)}
	if d.Days, err = daysOf(f.ID, f.Clock()); err != nil {
		return nil, err
	}
	for _, one := range d.Days {
		d.Total.Tokens = sum(d.Total.Tokens, one.Tokens)
		d.Most = max(d.Most, one.USD)
	}
	if len(d.Days) > daysShown && r.FormValue("all") == "" {
		d.Days, d.Older = d.Days[:daysShown], true
	}
	return d, nil
}

// hundredths says how much of a whole a part is, as a width.
func hundredths(part, whole any) float64 {
	float := func(n any) float64 { return reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float() }
	return min(100, 100*float(part)/max(1e-9, float(whole)))
}
