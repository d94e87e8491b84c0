package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/life"
	"lethe/life/event"
)

func (b *bench) lines() error {
	name, err := b.bootOne()
	if err != nil {
		return err
	}
	return b.say("line", name, b.columns)
}

// say says lines in turn to an identity of some columns, whose processes run side by side.
func (b *bench) say(row, name string, columns []*column) error {
	const lines = 150
	for _, c := range columns {
		if _, err := b.start(c, name); err != nil {
			return err
		}
	}
	if err := b.settle(); err != nil {
		return err
	}
	for range lines {
		for _, c := range columns {
			l := b.model.expect(c, name, script{})
			at, err := c.say(name)
			if err != nil {
				return err
			}
			asked, err := b.answered(l)
			if err != nil {
				return err
			}
			b.note(row, c, ms(asked.came.Sub(at)))
			if err := b.pause(15 * time.Millisecond); err != nil { // the answer is posted meanwhile
				return err
			}
		}
	}
	for _, c := range columns {
		b.note(row+" p99", c, slices.Sorted(slices.Values(b.samples[row][c.title]))[lines*99/100])
	}
	return nil
}

// settle waits until what runs has used next to no processor time for a while.
func (b *bench) settle() error {
	for used := -time.Hour; ; {
		now := time.Duration(0)
		for _, p := range b.running {
			now += p.usage().processor
		}
		if now-used < 10*time.Millisecond {
			return nil
		}
		used = now
		if err := b.pause(300 * time.Millisecond); err != nil {
			return err
		}
	}
}

func (b *bench) starts() error {
	name, err := b.bootOne()
	if err != nil {
		return err
	}
	for _, mb := range []int{1, 50, 200} {
		if err := b.startsAt(name, mb); err != nil {
			return err
		}
	}
	return b.each(startTimes, func(c *column) error { return b.firstRequest(c, name) })
}

// startTimes is how often a start is measured.
const startTimes = 15

// startsAt measures the starts of an identity whose log has so many megabytes.
func (b *bench) startsAt(name string, mb int) error {
	for _, c := range b.programs {
		if err := c.lengthen(name, mb<<20); err != nil {
			return err
		}
		p, err := b.start(c, name) // reads what is new
		if err != nil {
			return err
		}
		p.stop()
	}
	return b.each(startTimes, func(c *column) error {
		p, err := b.start(c, name)
		if err != nil {
			return err
		}
		b.note(fmt.Sprint("ready ", mb), c, ms(p.ready))
		p.stop()
		return nil
	})
}

// firstRequest measures the time from a start to the request for a line that was said before.
func (b *bench) firstRequest(c *column, name string) error {
	l := b.model.expect(c, name, script{})
	if _, err := c.say(name); err != nil {
		return err
	}
	at := time.Now()
	p, err := b.start(c, name)
	if err != nil {
		return err
	}
	asked, err := b.answered(l)
	if err != nil {
		return err
	}
	b.note("first", c, ms(asked.came.Sub(at)))
	if err := b.pause(30 * time.Millisecond); err != nil {
		return err
	}
	p.stop()
	at = time.Now()
	if err := exec.CommandContext(b.ctx, b.six.exe, hidden).Run(); err != nil {
		return err
	}
	b.note("init", b.lethe, ms(time.Since(at)))
	return nil
}

// log opens the log of an identity that does not run, with the line of its newest epoch.
func (c *column) log(name string) (*life.Log, life.Event, error) {
	log, err := life.Open(filepath.Join(c.home, "names", name, "LIFE.md"))
	if err != nil {
		return nil, life.Event{}, err
	}
	events, err := log.SinceEpoch()
	if err != nil {
		log.Close()
		return nil, life.Event{}, err
	}
	return log, events[0], nil
}

// lengthen grows a log, and repeats its newest epoch at the end.
func (c *column) lengthen(name string, size int) error {
	log, epoch, err := c.log(name)
	if err != nil {
		return err
	}
	defer log.Close()
	lines := make([]life.Event, 5000)
	for i := range lines {
		lines[i] = event.Line(time.Now(), event.Stopped{Why: strings.Repeat("x", 900)})
	}
	for left := size - int(log.Size()); left > 0; left = size - int(log.Size()) {
		if err := log.Append(lines[:min(len(lines), left/1000+1)]...); err != nil {
			return err
		}
	}
	return log.Append(epoch)
}

// many runs a hundred identities of each column: first all of them idle, then some of them at work, then all.
func (b *bench) many() error {
	const most = 100
	names, err := b.boot(most + 1)
	if err != nil {
		return err
	}
	ones, alls := map[*column]*process{}, map[*column]*process{}
	err = b.each(1, func(c *column) (err error) {
		if ones[c], err = b.start(c, names[most]); err != nil {
			return err
		}
		alls[c], err = b.start(c, names[:most]...)
		return err
	})
	if err != nil {
		return err
	}
	if err := b.idle(most, ones, alls); err != nil {
		return err
	}
	for _, n := range []int{1, 10} { // which leave the processor idle: all columns at once
		worked, err := b.work(names[:n], alls, b.columns...)
		if err != nil {
			return err
		}
		for c, w := range worked {
			b.note(fmt.Sprint("turns ", n), c, w.rate)
		}
	}
	return b.each(2, func(c *column) error {
		worked, err := b.work(names[:most], alls, c)
		if err != nil {
			return err
		}
		w := worked[c]
		b.note("turns 100", c, w.rate)
		b.note("turn processor", c, w.processor)
		b.note("turn disk", c, w.disk)
		return nil
	})
}

// idle measures what one identity of each column costs at rest, and so many in one process.
func (b *bench) idle(most int, ones, alls map[*column]*process) error {
	const idle = 6 * time.Second
	if err := b.settle(); err != nil {
		return err
	}
	before := map[*process]usage{}
	for _, p := range b.running {
		before[p] = p.usage()
	}
	if err := b.pause(idle); err != nil {
		return err
	}
	return b.each(1, func(c *column) error {
		one, all := ones[c].usage(), alls[c].usage()
		b.note("idle 1", c, ms(one.processor-before[ones[c]].processor)*float64(30*time.Second/idle))
		b.note("idle 100", c, ms(all.processor-before[alls[c]].processor)*float64(30*time.Second/idle))
		b.note("resident", c, float64(one.resident)/1e6)
		b.note("own", c, float64(one.own)/1e6)
		b.note("own more", c, float64(all.own-one.own)/1e6/float64(most-1))
		return nil
	})
}

// work is what identities did: turns a second, milliseconds and KB a turn.
type work struct{ rate, processor, disk float64 }

// work has identities of some columns at work for a while, with answers that take 0.2 s.
func (b *bench) work(
	names []string, processes map[*column]*process, columns ...*column,
) (map[*column]work, error) {
	lives, before, all := map[*column][]*script{}, map[*column]usage{}, map[*column]work{}
	slow := func(int) { time.Sleep(200 * time.Millisecond) }
	for _, c := range columns {
		for _, name := range names {
			say := func() error {
				_, err := c.say(name)
				return err
			}
			lives[c] = append(lives[c], b.model.expect(c, name, script{calls: 1, before: slow, next: say}))
			if err := say(); err != nil {
				return nil, err
			}
		}
	}
	if err := b.pause(time.Second); err != nil { // what went on before comes to its end meanwhile, too
		return nil, err
	}
	for _, c := range columns {
		before[c] = processes[c].usage()
	}
	began := time.Now()
	if err := b.pause(3 * time.Second); err != nil {
		return nil, err
	}
	if err := b.model.hush(); err != nil {
		return nil, err
	}
	for _, c := range columns {
		used, turns, rate := processes[c].usage(), 0.0, 0.0
		for _, l := range lives[c] {
			n, took := b.model.finals(l, began)
			turns += n
			if n > 1 {
				rate += (n - 1) / took.Seconds()
			}
		}
		processor, written := ms(used.processor-before[c].processor), float64(used.written-before[c].written)
		all[c] = work{rate, processor / turns, written / 1000 / turns}
	}
	return all, nil
}
