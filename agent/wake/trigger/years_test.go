package trigger

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Two years in seven zones, minute by minute: what a person with a clock on the wall and a list would do.
// Among them are a change by half an hour, a day that does not exist, a month with other clocks, a change at a minute past midnight.
func TestTwoYearsAgainstEachMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	zones := 0
	for zone, year := range map[string]int{
		"America/New_York": 2026, "Europe/Berlin": 2026, "Asia/Kathmandu": 2026, "Australia/Lord_Howe": 2026,
		"Africa/Casablanca": 2026, "Pacific/Apia": 2011, "America/St_Johns": 2006,
	} {
		if zones++; zones > amount(1, 7) { // another one each time
			break
		}
		list := []string{
			"cron = '30 2 * * *'", "cron = '*/30 * * * *'", "cron = '0,45 0-3,23 * * *'", "cron = '@hourly'", "cron = '0 */2 * * *'",
			"cron = '17 9 * * 1-5'", "cron = '0 9 30 * 5'", "cron = '59 23 28-31 * *'", "cron = '1 0 * * sun'",
			"every = '7h'", "every = '72h'\nquiet = '12:00-11:00'", "cron = '*/20 * * * *'\nquiet = '22:00-02:30'",
			"cron = '15 1,2,12 * * *'\nquiet = '00:30-02:15'",
		}
		for range amount(3, 50) {
			list = append(list, anyCron(random))
		}
		compare(t, zone, year, list)
	}
}

func amount(sample, whole int) int {
	if os.Getenv("LETHE_LONG") != "" {
		return whole
	}
	return sample
}

func anyCron(r *rand.Rand) string {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	text := fmt.Sprintf("cron = '%s %s %s %s %s'", pick("0", "30", "5,35,59", "*/15", "10-20"),
		pick("*", "0", "1", "2", "3", "*/3", "22-23", "0-23"),
		pick("*", "*", "30", "1-7", "*/2"), pick("*", "*", "3-4", "10,11,12"), pick("*", "*", "6-7", "0", "1-5"))
	return text + pick("", "", "\nquiet = '01:15-02:45'", "\nquiet = '23:00-03:00'")
}

func compare(t *testing.T, zone string, year int, list []string) {
	var triggers []Trigger
	var walls []*onTheWall
	for _, text := range list {
		trig := parse(t, zone, text+"\nsay = 'x'")
		triggers, walls = append(triggers, trig), append(walls, watch(trig))
	}
	loc := triggers[0].Zone
	from := time.Date(year, 1, 1, 0, 0, 0, 0, loc)
	end := from.AddDate(2, 0, 0)
	from = from.AddDate(0, 0, -4) // what was put off before comes, too
	follows := asUTC(from.In(loc))
	latest := follows.Add(-time.Minute)
	for at := from; at.Before(end); at = at.Add(time.Minute) {
		now := shown(asUTC(at.In(loc)))
		for _, w := range walls {
			w.minute(at, now, follows, !now.wall.After(latest))
		}
		follows = now.wall.Add(time.Minute)
		if now.wall.After(latest) {
			latest = now.wall
		}
	}
	from = from.AddDate(0, 0, 4)
	for _, w := range walls {
		w.fired = slices.DeleteFunc(w.fired, from.After)
	}
	for i, w := range walls {
		var got []time.Time
		for at := range triggers[i].schedule(from.Add(-time.Second)) {
			if !at.Before(end) {
				break
			}
			got = append(got, at)
		}
		if !slices.EqualFunc(got, w.fired, time.Time.Equal) {
			t.Errorf("%s %s: %d times, want %d; first different: %s", zone, list[i], len(got), len(w.fired), different(got, w.fired))
		}
		if n, due := triggers[i].Missed(from.Add(-time.Second), end.Add(-time.Second)); n+1 != len(w.fired) && !due.IsZero() ||
			due.IsZero() && n != len(w.fired) {
			t.Errorf("%s %s: missed %d of %d", zone, list[i], n, len(w.fired))
		}
	}
}

func asUTC(local time.Time) time.Time {
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
}

func different(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !got[i].Equal(want[i]) {
			return fmt.Sprint(got[min(i, len(got)):min(i+2, len(got))], want[min(i, len(want)):min(i+2, len(want))])
		}
	}
	return "none"
}

// onTheWall obeys a trigger by looking at a clock each minute.
type onTheWall struct {
	every, from, to int // minutes
	sets            [5][60]bool
	either, hourly  bool
	late            map[int64]bool // by Unix time: what a change of the clocks left out
	put             bool           // something is put off
	fired           []time.Time
}

func watch(t Trigger) *onTheWall {
	w := &onTheWall{every: int(t.Every.Minutes()), late: map[int64]bool{}}
	if from, to, ok := strings.Cut(t.Quiet, "-"); ok {
		clock := func(s string) int { h, _ := strconv.Atoi(s[:2]); m, _ := strconv.Atoi(s[3:]); return h*60 + m }
		w.from, w.to = clock(from), clock(to)
	}
	if t.Cron == "" {
		return w
	}
	text := strings.NewReplacer("@hourly", "0 * * * *", "sun", "0").Replace(t.Cron)
	list := strings.Fields(text)
	for i, f := range list {
		least := map[int]int{2: 1, 3: 1}[i]
		for v := range w.sets[i] {
			for part := range strings.SplitSeq(f, ",") {
				w.sets[i][v] = w.sets[i][v] || named(part, v, least) || i == 4 && v == 0 && named(part, 7, 0)
			}
		}
	}
	w.either = !strings.HasPrefix(list[2], "*") && !strings.HasPrefix(list[4], "*")
	w.hourly = list[1] == "*" || list[1] == "0-23"
	return w
}

func named(part string, v, least int) bool {
	span, by, _ := strings.Cut(part, "/")
	lo, hi, isRange := strings.Cut(span, "-")
	step, _ := strconv.Atoi(by)
	a, _ := strconv.Atoi(lo)
	b, _ := strconv.Atoi(hi)
	switch {
	case span == "*":
		return by == "" || (v-least)%step == 0
	case isRange:
		return a <= v && v <= b
	}
	return v == a
}

// reading is what a clock and a calendar on the wall show.
type reading struct {
	wall   time.Time // as if in UTC
	fields [5]int
	now    int // minutes of the day
}

func shown(wall time.Time) reading {
	return reading{wall, [5]int{wall.Minute(), wall.Hour(), wall.Day(), int(wall.Month()), int(wall.Weekday())},
		wall.Hour()*60 + wall.Minute()}
}

func (w *onTheWall) on(r reading) bool {
	dom, dow := w.sets[2][r.fields[2]], w.sets[4][r.fields[4]]
	return w.every == 0 && w.sets[0][r.fields[0]] && w.sets[1][r.fields[1]] && w.sets[3][r.fields[3]] &&
		(dom && dow || w.either && (dom || dow))
}

// minute looks at the clock, which would show follows had nobody touched it.
func (w *onTheWall) minute(at time.Time, r reading, follows time.Time, again bool) {
	for out := follows; !w.hourly && out.Before(r.wall); out = out.Add(time.Minute) {
		if w.on(shown(out)) {
			w.late[at.Add(out.Sub(follows)).Unix()] = true
		}
	}
	due := w.on(r) && (w.hourly || !again) || len(w.late) > 0 && w.late[at.Unix()]
	if w.every > 0 {
		due = at.Unix()/60%int64(w.every) == 0
	}
	quiet := w.from <= r.now && r.now < w.to || w.from > w.to && (r.now >= w.from || r.now < w.to)
	if w.put = w.put || due; w.put && !quiet {
		w.fired, w.put = append(w.fired, at), false
	}
}

// A machine that is off for hours or weeks, and whose clock jumps to and fro: no time fires twice, none that comes
// while it runs is left out, and each one that is missed is counted once.
func TestNothingTwiceNothingUncounted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	trig := parse(t, "Europe/Berlin", "cron = '*/30 * * * *'\nsay = 'x'\nquiet = '22:00-07:00'\ngrace = '3h'")
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, trig.Zone)
	last, now := start, start
	fired, missed := map[int64]bool{}, 0
	for range amount(4000, 100000) {
		switch random.IntN(40) {
		case 0:
			now = now.Add(time.Duration(random.IntN(20*24)) * time.Hour) // off
		case 1:
			now = now.Add(-time.Duration(random.IntN(300)) * time.Minute) // put back
		default:
			now = now.Add(time.Minute)
		}
		n, due := trig.Missed(last, now)
		missed += n
		if due.IsZero() {
			if n > 0 {
				last = now
			}
			continue
		}
		if fired[due.Unix()] || due.After(now) || now.Sub(due) > 3*time.Hour {
			t.Fatalf("%s fires at %s", due, now)
		}
		fired[due.Unix()], last = true, due
	}
	for at := range trig.schedule(start) {
		if at.After(last) {
			break
		}
		missed--
	}
	if missed+len(fired) != 0 {
		t.Errorf("%d times were fired or counted too many", missed+len(fired))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("cron = '0 9 * * 1-5'\nquiet = '22:00-07:00'\nsay = 'x'")
	f.Add("every = '36h'\nrun = 'true'")
	f.Add("at = '2026-11-23T09:00:00+01:00'\nsay = 'x'\ntz = 'Asia/Tokyo'")
	f.Fuzz(func(t *testing.T, text string) {
		trig, err := Parse("x", []byte(text), time.UTC)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
				t.Errorf("%q", err)
			}
			return
		}
		at := time.Unix(1.8e9, 0)
		for range 3 {
			next := trig.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) || trig.isQuiet(next) {
				t.Fatalf("%s after %s", next, at)
			}
			if n, due := trig.Missed(at, next); n != 0 || !due.Equal(next) {
				t.Fatalf("missed %d %s of %s", n, due, next)
			}
			at = next
		}
	})
}
