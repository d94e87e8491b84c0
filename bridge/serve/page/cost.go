package page

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/budget"
	"lethe/internal/durable"
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
	looks fs.FileInfo
	at    int64 // that was read
	days  map[string]*day
}

// daysOf returns the days of an identity, the newest first.
func daysOf(id agent.Identity, zone *time.Location) (list []*day, err error) {
	tallies.Lock()
	defer tallies.Unlock()
	file, looks, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return nil, id.Unread(err)
	}
	defer file.Close()
	t := tallies.of[id.LIFE()]
	if t == nil || !os.SameFile(t.looks, looks) || looks.Size() < t.at {
		t = &tally{days: map[string]*day{}}
	}
	t.looks, tallies.of[id.LIFE()] = looks, t
	lines := bufio.NewReaderSize(io.NewSectionReader(file, t.at, looks.Size()-t.at), 1<<16)
	for {
		line, err := life.ReadLine(lines)
		if err == io.EOF { // what has no end is being written
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s at byte %d: %w", id.LIFE(), t.at, err)
		}
		t.at += int64(len(line))
		if _, rest, _ := strings.Cut(line, "] "); !strings.HasPrefix(rest, "reply ") && !strings.HasPrefix(rest, "spent ") {
			continue
		}
		if used, ok := usedOf(line, zone); ok {
			if t.days[used.Day] == nil {
				t.days[used.Day] = &day{Date: used.Day}
			}
			t.days[used.Day].add(used)
		}
	}
	for _, d := range t.days {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *day) int { return cmp.Compare(b.Date, a.Date) })
	return list, nil
}

// usedOf reads what a line of reply or spent tells, and on which day. It passes over texts and refs, which take most of the
// time of life.ParseLine: a first view reads all lines.
func usedOf(line string, zone *time.Location) (used event.Tokens, ok bool) {
	head, _, _ := strings.Cut(line, " ◱")
	get := func(key string) string {
		_, rest, _ := strings.Cut(head, " "+key+"=")
		value, _, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
		return value
	}
	if strings.Contains(head, `"`) { // a value with spaces can look like fields
		e, err := life.ParseLine(line)
		if err != nil {
			return used, false
		}
		get = e.Get
	}
	for key, to := range map[string]*int64{"in": &used.In, "cached": &used.Cached, "out": &used.Out} {
		*to, _ = strconv.ParseInt(get(key), 10, 64) // what is no number adds nothing
	}
	used.USD, _ = strconv.ParseFloat(get("usd"), 64)
	used.Day = get("day")
	if used.Day == "" {
		stamp, _, _ := strings.Cut(line, "]")
		at, err := time.Parse("["+blobs.TimeFormat, stamp)
		if err != nil {
			return used, false
		}
		used.Day = at.In(zone).Format(time.DateOnly)
	}
	return used, true
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
