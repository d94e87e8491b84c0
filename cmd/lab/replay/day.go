package replay

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"lethe/agent/llm/rehearsal"
)

// Day is a day of an identity, replayed with the default settings.
type Day struct {
	Shape  string
	Step   int     // tokens that come in from one request to the next; 0: people write now and then
	Every  int     // each so manieth task ends with an answer; 0: none does
	Most   float64 // USD a million tokens of history may cost
	Report Report
}

// requestsOfADay is how often a busy agent asks its model in a day.
const requestsOfADay = 1870

// mostMore is what a million tokens may cost more, in USD, where few tasks end with an answer.
const mostMore = 0.3

// Days replays each shape of a day: of a coding agent whose tasks all end with an answer, each twentieth, none; of people
// who talk; of triggers at night.
func Days(ctx context.Context, say func(string)) ([]Day, error) {
	var days []Day
	var traces [][]Item
	add := func(shape Day, items []Item) {
		for _, every := range []int{1, 20, 0} {
			shape.Every = every
			days, traces = append(days, shape), append(traces, ended(items, every))
		}
	}
	for _, step := range []int{830, 640} {
		most := map[int]float64{830: 3.6, 640: 4.1}[step]
		shape := Day{Shape: fmt.Sprintf("steps of %d tokens", step), Step: step, Most: most}
		add(shape, history(requestsOfADay, step, 1))
	}
	for _, words := range []int{150, 800} {
		const messages = 181
		shape := Day{Shape: fmt.Sprintf("%d messages of %d tokens", messages, words), Most: 3.6}
		add(shape, resident(requestsOfADay, messages, words, 1))
	}
	days = append(days,
		Day{Shape: "talk", Every: 1, Most: 9.2},
		Day{Shape: "talk in Chinese", Every: 1, Most: 5.6},
		Day{Shape: "3000 triggers at night", Every: 1, Most: 56.5},
	)
	traces = append(traces, talks(1500, 25, english, 1), talks(700, 15, chinese, 1), night(3000, 1))
	replays, ctx := errgroup.WithContext(ctx)
	replays.SetLimit(runtime.NumCPU())
	for i := range days {
		replays.Go(func() (err error) {
			days[i].Report, err = Run(ctx, of(traces[i]), Default())
			say(fmt.Sprintf("%s: %.2f USD a million", days[i].Name(), days[i].Report.PerMillion))
			return err
		})
	}
	if err := replays.Wait(); err != nil {
		return nil, err
	}
	whole := 0.0
	for i := range days {
		if days[i].Every == 1 {
			whole = days[i].Report.PerMillion
		} else {
			days[i].Most = whole + mostMore
		}
	}
	return days, nil
}

// Name tells a day from the others.
func (d Day) Name() string {
	switch d.Every {
	case 0:
		return d.Shape + ", no task ends"
	case 1:
		return d.Shape
	}
	return fmt.Sprintf("%s, each %dth task ends", d.Shape, d.Every)
}

// Faults lists what is worse than it may be.
func (d Day) Faults() (faults []string) {
	r := d.Report
	if r.PerMillion > d.Most {
		faults = append(faults, fmt.Sprintf("dearer than %.2f USD", d.Most))
	}
	if r.Delayed+r.Over+r.Mechanical > 0 {
		faults = append(faults, "a turn waited, or was too large")
	}
	if r.Reach.Near() < 0.999999 {
		faults = append(faults, "text out of reach")
	}
	if 10*r.Unused > r.Summaries {
		faults = append(faults, "summaries in vain")
	}
	return faults
}

// history makes a trace of at least so many requests that resembles a day of a coding agent, in which some step tokens
// come in from one request to the next: turns of 5 to 45 requests, each with some words, a command or an edit, and its
// result; now and then a person's line in the middle of a turn, or a rule. Nothing is longer than what is shown of a
// result, so all of it costs. The same numbers give the same trace.
func history(requests, step int, seed uint64) []Item {
	d := &diary{step: step, rng: rand.New(rand.NewPCG(seed, 1))}
	for issue := 100; d.asked < requests; issue++ {
		d.task(issue)
	}
	return d.items
}

// diary is a trace that grows.
type diary struct {
	step  int // tokens from one request to the next, on average
	rng   *rand.Rand
	items []Item
	asked int // requests so far
	size  int // tokens so far
}

func (d *diary) put(kind, format string, args ...any) {
	item := Item{kind, fmt.Sprintf(format, args...)}
	d.items = append(d.items, item)
	d.size += rehearsal.Tokens(item.Text)
	if kind == Asst {
		d.asked++
	}
}

// code makes a listing of a share of a step on average, at most so many tokens: most are short, some ten times as long.
// What the steps so far lack, or have too much, goes into the next ones.
func (d *diary) code(issue int, share float64, most int) string {
	const spread = 0.9
	ahead := float64(d.asked*d.step-d.size) / float64(10*d.step)
	mean := (1 + max(-0.5, min(0.5, ahead))) * share * float64(d.step)
	size := min(most, int(mean*math.Exp(spread*d.rng.NormFloat64()-spread*spread/2)))
	size *= 4
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%4d\tif err := store%d.load(key%d); err != nil { return pool.retry(%x) }\n",
			b.Len()/70, issue%9, d.rng.IntN(99), d.rng.Uint32())
	}
	return b.String()[:min(b.Len(), max(size, 40))]
}

// task has an issue reported, worked at and answered.
func (d *diary) task(issue int) {
	const shown = 1900 // tokens of a result
	rule := ""
	if d.rng.IntN(4) == 0 {
		rule = fmt.Sprintf(" Never push issue-%d to main without a test.", issue)
	}
	pool := issue % 5
	d.put(User, "#%d the build is red: deadlock in pool%d/reload_%d.go after the second reload.%s\n%s",
		issue, pool, issue, rule, d.code(issue, 0.2, d.step))
	for range 4 + int(min(40, 12*d.rng.ExpFloat64())) {
		switch n := d.rng.IntN(100); {
		case n < 20:
			d.put(Asst, "The lock is taken twice in reload_%d.go; I change that.\n$ edit reload_%d.go\n%s",
				issue, issue, d.code(issue, 0.6, d.step))
			d.put(Tool, "edited reload_%d.go. It reads now:\n%s", issue, d.code(issue, 0.5, shown))
		case n < 40:
			d.put(Asst, "And the tests of pool%d, with the race detector.\n$ go test -race ./pool%d/... -run TestReload%d",
				pool, pool, issue)
			d.put(Tool, "--- PASS: TestReload%d (0.%02ds)\n%sok  \tpool%d",
				issue, d.rng.IntN(100), d.code(issue, 0.5, shown), pool)
		case n < 43:
			d.put(User, "And what of store%d? It was slow on Friday as well.", d.rng.IntN(9))
			fallthrough
		default:
			d.put(Asst, "I read how pool%d/reload_%d.go takes its locks, before I change anything there.\n"+
				"$ sed -n '1,$p' reload_%d.go", pool, issue, issue)
			d.put(Tool, "%s", d.code(issue, 1.24, shown))
		}
	}
	d.put(Asst, "#%d is fixed: reload_%d.go took its lock twice. I will watch the next run.\n%s",
		issue, issue, d.code(issue, 0.2, d.step))
}

// resident makes a trace of a life that works without an end while somebody writes to it so many times, some words on
// average and now and then a page. Each message but the first comes behind an answer.
func resident(requests, messages, words int, seed uint64) []Item {
	rng := rand.New(rand.NewPCG(seed, 2))
	var out []Item
	day := history(requests, 830, seed)
	for i, item := range day {
		ends := item.Kind == Asst && (i == len(day)-1 || day[i+1].Kind != Tool)
		if item.Kind == User || ends {
			continue // only the messages are heard, and what answers them ends a turn
		}
		if n := len(out); item.Kind == Asst && rng.IntN(requests) < messages {
			if n > 0 {
				out = append(out, Item{Asst, fmt.Sprintf("That is done: %d.", n)})
			}
			size := 1 + int(float64(words)*math.Exp(rng.NormFloat64()-0.5))
			long := strings.Repeat("It was slow on Friday. ", 1+size/5)
			out = append(out, Item{User, fmt.Sprintf("Now look at store%d, please. %s", n, long)})
		}
		out = append(out, item)
	}
	return append(out, Item{Asst, "All is done."})
}

// ended is a trace in which only every so manieth task ends with an answer, none where that is 0: the others go on
// until somebody says something else.
func ended(items []Item, every int) (out []Item) {
	done := 0
	for i, item := range items {
		if item.Kind == Asst && (i == len(items)-1 || items[i+1].Kind == User) {
			if done++; every == 0 || done%every > 0 {
				continue
			}
		}
		out = append(out, item)
	}
	return out
}

// What people talk about.
const (
	english = "the boat house needs a new roof before the winter comes, and somebody has to call the carpenter about it, " +
		"because the old one leaks over the piano and nobody wants to play in the rain; Ines asks for the key of the mill"
	chinese = "船屋在冬天到来之前需要一个新的屋顶必须有人打电话给木匠因为旧屋顶漏水在钢琴上没有人愿意在雨中弹琴伊内斯要磨坊的钥匙"
)

// talks makes a trace of people who talk to an identity: lines of so many scraps of a text, with answers twice as long.
func talks(requests, scraps int, text string, seed uint64) (out []Item) {
	rng := rand.New(rand.NewPCG(seed, 3))
	all := []rune(text)
	some := func(mean int) string {
		var b strings.Builder
		for n := 1 + int(float64(mean)*math.Exp(rng.NormFloat64()-0.5)); n > 0; n-- {
			at := rng.IntN(len(all) - 12)
			b.WriteString(string(all[at:at+4+rng.IntN(8)]) + " ")
		}
		return b.String()
	}
	for n := range requests {
		out = append(out, Item{User, fmt.Sprintf("%d. %s", n, some(scraps))}, Item{Asst, some(2 * scraps)})
	}
	return out
}

// night makes a trace of an identity that triggers wake so many times: now and then it looks, and all is well.
func night(requests int, seed uint64) (out []Item) {
	rng := rand.New(rand.NewPCG(seed, 4))
	for range requests {
		out = append(out, Item{User, fmt.Sprintf("trigger watch-%d: %d jobs wait, the disk is at %d %%.",
			rng.IntN(4), rng.IntN(40), 30+rng.IntN(60))})
		if rng.IntN(8) == 0 {
			queue := fmt.Sprintf("queue-%d: %d waiting, last run %x", rng.IntN(4), rng.IntN(40), rng.Uint64())
			out = append(out, Item{Asst, "I look at the queue."}, Item{Tool, queue})
		}
		out = append(out, Item{Asst, "All is as it should be."})
	}
	return out
}
