package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"lethe/internal/must"
)

// turns has an identity of some columns do a turn with a number of rounds, and returns their requests. The model has
// one of them wait while the other does ten rounds.
func (b *bench) turns(name string, rounds int, columns ...*column) map[*column]*script {
	const leg = 10
	all, goes := map[*column]*script{}, make([]chan struct{}, len(columns))
	for i := range columns {
		goes[i] = make(chan struct{}, 1)
	}
	goes[0] <- struct{}{}
	for i, c := range columns {
		all[c] = b.model.expect(c, name, script{calls: rounds, proc: b.start(c, name), before: func(n int) {
			if n == rounds || n > 0 && n%leg == 0 {
				goes[(i+1)%len(columns)] <- struct{}{}
			}
			if n < rounds && n%leg == 0 {
				select {
				case <-goes[i]:
				case <-b.ctx.Done():
				}
			}
		}})
	}
	for c := range all {
		c.say(name)
	}
	for _, l := range all {
		b.answered(l)
	}
	b.stopAll()
	return all
}

func (b *bench) rounds() {
	const shorts, skipped, short, long, window = 4, 4, 20, 2000, 100
	names := b.boot(shorts + 1)
	for _, name := range names[1:] {
		for c, l := range b.turns(name, short, b.columns...) {
			b.stretch(10, c, l.marks[skipped:])
		}
	}
	for c, l := range b.turns(names[0], long, b.columns...) {
		for at := window; at <= long; at += window {
			b.stretch(at, c, l.marks[at-window:at+1])
		}
	}
}

// stretch notes what the rounds between some requests took.
func (b *bench) stretch(at int, c *column, marks []mark) {
	for i, m := range marks[1:] {
		b.note(fmt.Sprint("round ", at), c, ms(m.came.Sub(marks[i].answered)))
	}
	from, to, n := marks[0], marks[len(marks)-1], float64(len(marks)-1)
	b.note(fmt.Sprint("processor ", at), c, ms(to.processor-from.processor)/n)
	b.note(fmt.Sprint("disk ", at), c, float64(to.written-from.written)/1000/n)
	b.note(fmt.Sprint("memory ", at), c, float64(to.resident)/1e6)
}

// calls counts under strace, which slows everything down and changes no count.
func (b *bench) calls() {
	if _, err := exec.LookPath("strace"); err != nil {
		b.Notes = append(b.Notes, "strace is not installed: syncs and calls on files were not counted")
		return
	}
	const skipped, rounds, turns = 4, 24, 3
	name := b.boot(1)[0]
	b.traced = true
	b.each(1, func(c *column) { b.start(c, name) })
	b.traced = false
	turn := func(calls int) map[*column]*script {
		asked := map[*column]*script{}
		for _, c := range b.columns {
			asked[c] = b.model.expect(c, name, script{calls: calls})
			c.say(name)
		}
		for _, l := range asked {
			b.answered(l)
		}
		b.pause(1200 * time.Millisecond) // context.md is written meanwhile
		return asked
	}
	busy, quiet := turn(rounds), time.Now()
	for range turns {
		turn(0)
	}
	rest := time.Now()
	b.pause(3 * time.Second)
	end := time.Now()
	b.stopAll()
	for c, l := range busy {
		_, idle := count(c.home+".strace", rest, end)
		second := float64(idle) / end.Sub(rest).Seconds()
		b.note("files idle", c, second)
		note := func(what string, from, to time.Time, n float64) {
			syncs, calls := count(c.home+".strace", from, to)
			b.note("syncs "+what, c, float64(syncs)/n)
			b.note("files "+what, c, (float64(calls)-second*to.Sub(from).Seconds())/n) // a busy machine takes longer
		}
		note("round", l.marks[skipped].came, l.marks[rounds].came, rounds-skipped)
		note("turn", quiet, rest, turns)
	}
}

// onFile is a system call, not the second half of one, that names a file or has one open. How many reads bring what
// inotify tells depends on what else the machine does.
var onFile = regexp.MustCompile(`^\d+ +(\d+\.\d+) (\w+)\((?:\d+</|AT_FDCWD|")`)

// count reads what strace wrote of a time.
func count(file string, from, to time.Time) (syncs, files int) {
	f := must.Get(os.Open(file))
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := onFile.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at := must.Get(strconv.ParseFloat(m[1], 64))
		if t := time.UnixMicro(int64(at * 1e6)); t.Before(from) || t.After(to) {
			continue
		}
		files++
		if strings.Contains(m[2], "sync") {
			syncs++
		}
	}
	return syncs, files
}
