package page

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"lethe/agent/budget"
	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/life"
	"lethe/life/event"
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

// daysOf sums the calls of a life by days, the newest first, of at most so many days. It reads the part of LIFE that
// has these days.
func daysOf(id home.Identity, zone *time.Location, most int) (list []day, older bool, err error) {
	days := map[string]event.Tokens{}
	_, err = life.ReadBack(id.LIFE(), 0, func(line life.Event, _ int64) (more bool) {
		used, ok := usedBy(line)
		if !ok {
			return true
		}
		date := cmp.Or(used.Day, line.At.In(zone).Format(time.DateOnly))
		if _, known := days[date]; !known && len(days) == most {
			older = true
			return false
		}
		days[date] = sum(days[date], used)
		return true
	})
	for _, date := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		list = append(list, day{date, days[date]})
	}
	return list, older, id.Unread(err)
}

// usedBy returns the tokens that a line tells of, if it tells of any.
func usedBy(line life.Event) (used event.Tokens, ok bool) {
	if reply, ok := event.As[event.Reply](line); ok {
		return reply.Tokens, true
	}
	spent, ok := event.As[event.Spent](line)
	return spent.Tokens, ok
}

func sum(a, b event.Tokens) event.Tokens {
	return event.Tokens{In: a.In + b.In, Cached: a.Cached + b.Cached, Out: a.Out + b.Out, USD: a.USD + b.USD}
}

func costOf(page *frame, r *http.Request) (content, error) {
	h, s := page.Home, config.Settings{}
	if config.Read(page.Dir, &s) == nil { // they may be others since the server began
		h.Limits = s.Budget.Limits()
	}
	budgets, err := h.Budgets()
	if err != nil {
		return nil, err
	}
	data := &costData{Budget: budgets.Of(page.ID.Self)}
	most := daysShown
	if r.FormValue("all") != "" {
		most = math.MaxInt
	}
	if data.Days, data.Older, err = daysOf(page.ID, page.Clock(), most); err != nil {
		return nil, err
	}
	for _, one := range data.Days {
		data.Total.Tokens = sum(data.Total.Tokens, one.Tokens)
		data.Most = max(data.Most, one.USD)
	}
	return data, nil
}

// hundredths returns a part of a whole in percent, as a width of at most 100.
func hundredths[N int | budget.USD | float64](part, whole N) float64 {
	return min(100, 100*float64(part)/max(1e-9, float64(whole)))
}
