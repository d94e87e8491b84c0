package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lethe/life"
	"lethe/life/event"
)

func (b *bench) lines() {
	b.homes(1)
	b.say("line", 150, b.columns)
}

// say says lines in turn to columns, whose processes run side by side.
func (b *bench) say(row string, lines int, columns []*column) {
	took := map[*column][]time.Duration{}
	for _, c := range columns {
		p := b.start(c, nameOf(0))
		defer p.stop()
		b.settle(p)
	}
	for range lines {
		for _, c := range columns {
			l := b.model.expect(nameOf(0), script{})
			at := c.say(nameOf(0))
			took[c] = append(took[c], b.answered(l).came.Sub(at))
			b.pause(15 * time.Millisecond) // the answer is posted meanwhile
		}
	}
	for _, c := range columns {
		b.set(row+" p50", c, quantile(took[c], 0.5))
		b.set(row+" p99", c, quantile(took[c], 0.99))
	}
}

// settle waits until a process has used next to no processor time for a while.
func (b *bench) settle(p *process) {
	for used, i := p.usage().processor, 0; i < 100; i++ {
		b.pause(300 * time.Millisecond)
		now := p.usage().processor
		if now-used < 10*time.Millisecond {
			return
		}
		used = now
	}
}

func (b *bench) starts() {
	const times = 15
	b.homes(1)
	for _, mb := range []int{1, 50, 200} {
		for _, c := range b.columns {
			if c != b.six {
				c.lengthen(mb << 20)
				b.start(c, nameOf(0)).stop() // reads what is new
			}
		}
		took := map[*column][]time.Duration{}
		b.each(times, func(c *column) {
			p := b.start(c, nameOf(0))
			took[c] = append(took[c], p.ready)
			p.stop()
		})
		for _, c := range b.columns {
			b.set(fmt.Sprint("ready ", mb), c, quantile(took[c], 0.5))
			b.Starts = append(b.Starts, Point{Column: c.title, At: mb, MS: quantile(took[c], 0.5)})
		}
	}
	first, init := map[*column][]time.Duration{}, []time.Duration{}
	b.each(times, func(c *column) {
		l := b.model.expect(nameOf(0), script{})
		c.say(nameOf(0))
		at := time.Now()
		p := b.start(c, nameOf(0))
		first[c] = append(first[c], b.answered(l).came.Sub(at))
		b.pause(30 * time.Millisecond)
		p.stop()
		at = time.Now()
		check(exec.CommandContext(b.ctx, b.six.exe, hidden).Run())
		init = append(init, time.Since(at))
	})
	for _, c := range b.columns {
		b.set("first", c, quantile(first[c], 0.5))
	}
	b.set("init", b.lethe, quantile(init, 0.5))
}

// log opens the log of an identity that does not run, with the line of its newest epoch.
func (c *column) log() (*life.Log, life.Event) {
	log := must(life.Open(filepath.Join(c.home, "names", nameOf(0), "LIFE.md")))
	return log, must(log.SinceEpoch())[0]
}

// lengthen grows a log, and repeats its newest epoch at the end.
func (c *column) lengthen(size int) {
	log, epoch := c.log()
	defer log.Close()
	lines := make([]life.Event, 5000)
	for i := range lines {
		lines[i] = event.Line(time.Now(), event.Stopped{Why: strings.Repeat("x", 900)})
	}
	for left := size - int(log.Size()); left > 0; left = size - int(log.Size()) {
		check(log.Append(lines[:min(len(lines), left/1000+1)]...))
	}
	check(log.Append(epoch))
}

// many runs a hundred identities of each column: first all of them idle, then each column at work.
func (b *bench) many() {
	const most, idle, work = 100, 10 * time.Second, 4 * time.Second
	b.homes(most + 1)
	var names []string
	for i := range most + 1 {
		names = append(names, nameOf(i))
	}
	ones, alls, before := map[*column]*process{}, map[*column]*process{}, map[*process]usage{}
	b.each(1, func(c *column) { ones[c], alls[c] = b.start(c, names[most]), b.start(c, names[:most]...) })
	b.each(1, func(c *column) { b.settle(ones[c]); b.settle(alls[c]) })
	b.each(1, func(c *column) { before[ones[c]], before[alls[c]] = ones[c].usage(), alls[c].usage() })
	b.pause(idle)
	b.each(1, func(c *column) {
		one, all := ones[c].usage(), alls[c].usage()
		b.set("idle 1", c, ms(one.processor-before[ones[c]].processor)*float64(30*time.Second/idle))
		b.set("idle 100", c, ms(all.processor-before[alls[c]].processor)*float64(30*time.Second/idle))
		b.set("resident", c, float64(one.resident)/1e6)
		b.set("resident more", c, float64(all.resident-one.resident)/1e6/(most-1))
		ones[c].stop()
		alls[c].stop()
	})
	for _, n := range []int{1, 10, most} {
		b.each(1, func(c *column) {
			p := b.start(c, names[:n]...)
			var lives []*script
			for _, name := range names[:n] {
				lives = append(lives, b.model.expect(name, script{calls: 1, delay: 200 * time.Millisecond, next: func() { c.say(name) }}))
				c.say(name)
			}
			b.pause(time.Second)
			from, began := p.usage(), time.Now()
			b.pause(work)
			to, ended, turns := p.usage(), time.Now(), 0.0
			p.stop()
			rate := 0.0
			b.model.mu.Lock()
			defer b.model.mu.Unlock()
			for _, l := range lives {
				var ends []time.Time
				for _, m := range l.marks {
					if m.final && m.came.After(began) && m.came.Before(ended) {
						ends = append(ends, m.came)
					}
				}
				if turns += float64(len(ends)); len(ends) > 1 {
					rate += float64(len(ends)-1) / ends[len(ends)-1].Sub(ends[0]).Seconds()
				}
			}
			b.set(fmt.Sprint("turns ", n), c, rate)
			if n == most {
				b.set("turn processor", c, ms(to.processor-from.processor)/turns)
				b.set("turn disk", c, float64(to.written-from.written)/1000/turns)
			}
		})
	}
}
