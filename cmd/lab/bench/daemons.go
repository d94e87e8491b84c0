package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/internal/must"
	"lethe/life"
	"lethe/life/event"
)

func (b *bench) lines() { b.say("line", b.boot(1)[0], b.columns) }

// say says lines in turn to an identity of some columns, whose processes run side by side.
func (b *bench) say(row, name string, columns []*column) {
	const lines = 150
	for _, c := range columns {
		b.start(c, name)
	}
	b.settle()
	for range lines {
		for _, c := range columns {
			l := b.model.expect(c, name, script{})
			at := c.say(name)
			b.note(row, c, ms(b.answered(l).came.Sub(at)))
			b.pause(15 * time.Millisecond) // the answer is posted meanwhile
		}
	}
	for _, c := range columns {
		b.note(row+" p99", c, slices.Sorted(slices.Values(b.samples[row][c.title]))[lines*99/100])
	}
}

// settle waits until what runs has used next to no processor time for a while.
func (b *bench) settle() {
	for used := -time.Hour; ; b.pause(300 * time.Millisecond) {
		now := time.Duration(0)
		for _, p := range b.running {
			now += p.usage().processor
		}
		if now-used < 10*time.Millisecond {
			return
		}
		used = now
	}
}

func (b *bench) starts() {
	const times = 15
	name := b.boot(1)[0]
	for _, mb := range []int{1, 50, 200} {
		for _, c := range b.programs {
			c.lengthen(name, mb<<20)
			b.start(c, name).stop() // reads what is new
		}
		b.each(times, func(c *column) {
			p := b.start(c, name)
			b.note(fmt.Sprint("ready ", mb), c, ms(p.ready))
			p.stop()
		})
	}
	b.each(times, func(c *column) {
		l := b.model.expect(c, name, script{})
		c.say(name)
		at := time.Now()
		p := b.start(c, name)
		b.note("first", c, ms(b.answered(l).came.Sub(at)))
		b.pause(30 * time.Millisecond)
		p.stop()
		at = time.Now()
		must.Do(exec.CommandContext(b.ctx, b.six.exe, hidden).Run())
		b.note("init", b.lethe, ms(time.Since(at)))
	})
}

// log opens the log of an identity that does not run, with the line of its newest epoch.
func (c *column) log(name string) (*life.Log, life.Event) {
	log := must.Get(life.Open(filepath.Join(c.home, "names", name, "LIFE.md")))
	return log, must.Get(log.SinceEpoch())[0]
}

// lengthen grows a log, and repeats its newest epoch at the end.
func (c *column) lengthen(name string, size int) {
	log, epoch := c.log(name)
	defer log.Close()
	lines := make([]life.Event, 5000)
	for i := range lines {
		lines[i] = event.Line(time.Now(), event.Stopped{Why: strings.Repeat("x", 900)})
	}
	for left := size - int(log.Size()); left > 0; left = size - int(log.Size()) {
		must.Do(log.Append(lines[:min(len(lines), left/1000+1)]...))
	}
	must.Do(log.Append(epoch))
}

// many runs a hundred identities of each column: first all of them idle, then some of them at work, then all.
func (b *bench) many() {
	const most, idle = 100, 6 * time.Second
	names, ones, alls, before := b.boot(most+1), map[*column]*process{}, map[*column]*process{}, map[*process]usage{}
	b.each(1, func(c *column) { ones[c], alls[c] = b.start(c, names[most]), b.start(c, names[:most]...) })
	b.settle()
	for _, p := range b.running {
		before[p] = p.usage()
	}
	b.pause(idle)
	b.each(1, func(c *column) {
		one, all := ones[c].usage(), alls[c].usage()
		b.note("idle 1", c, ms(one.processor-before[ones[c]].processor)*float64(30*time.Second/idle))
		b.note("idle 100", c, ms(all.processor-before[alls[c]].processor)*float64(30*time.Second/idle))
		b.note("resident", c, float64(one.resident)/1e6)
		b.note("own", c, float64(one.own)/1e6)
		b.note("own more", c, float64(all.own-one.own)/1e6/(most-1))
	})
	for _, n := range []int{1, 10} { // which leave the processor idle: all columns at once
		for c, w := range b.work(names[:n], alls, b.columns...) {
			b.note(fmt.Sprint("turns ", n), c, w.rate)
		}
	}
	b.each(2, func(c *column) {
		w := b.work(names[:most], alls, c)[c]
		b.note("turns 100", c, w.rate)
		b.note("turn processor", c, w.processor)
		b.note("turn disk", c, w.disk)
	})
}

// work is what identities did: turns a second, milliseconds and KB a turn.
type work struct{ rate, processor, disk float64 }

// work has identities of some columns at work for a while, with answers that take 0.2 s.
func (b *bench) work(names []string, processes map[*column]*process, columns ...*column) map[*column]work {
	lives, before, all := map[*column][]*script{}, map[*column]usage{}, map[*column]work{}
	slow := func(int) { time.Sleep(200 * time.Millisecond) }
	for _, c := range columns {
		for _, name := range names {
			lives[c] = append(lives[c], b.model.expect(c, name, script{calls: 1, before: slow, next: func() { c.say(name) }}))
			c.say(name)
		}
	}
	b.pause(time.Second) // what went on before comes to its end meanwhile, too
	for _, c := range columns {
		before[c] = processes[c].usage()
	}
	began := time.Now()
	b.pause(3 * time.Second)
	b.model.hush()
	for _, c := range columns {
		used, turns, rate := processes[c].usage(), 0.0, 0.0
		for _, l := range lives[c] {
			n, took := b.model.finals(l, began)
			turns += n
			if n > 1 {
				rate += (n - 1) / took.Seconds()
			}
		}
		all[c] = work{rate, ms(used.processor-before[c].processor) / turns, float64(used.written-before[c].written) / 1000 / turns}
	}
	return all
}
