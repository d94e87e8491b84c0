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
)

// turns has an identity of some columns do a turn with a number of rounds, and returns their requests. The model has
// one of them wait while the other does ten rounds.
func (b *bench) turns(name string, rounds int, columns ...*column) (map[*column]*script, error) {
	const leg = 10
	all, goes := map[*column]*script{}, make([]chan struct{}, len(columns))
	for i := range columns {
		goes[i] = make(chan struct{}, 1)
	}
	goes[0] <- struct{}{}
	for i, c := range columns {
		started, err := b.start(c, name)
		if err != nil {
			return nil, err
		}
		all[c] = b.model.expect(c, name, script{calls: rounds, proc: started, before: func(n int) {
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
		if _, err := c.say(name); err != nil {
			return nil, err
		}
	}
	for _, l := range all {
		if _, err := b.answered(l); err != nil {
			return nil, err
		}
	}
	b.stopAll()
	return all, nil
}

func (b *bench) rounds() error {
	const shorts, skipped, short, long, window = 4, 4, 20, 2000, 100
	names, err := b.boot(shorts + 1)
	if err != nil {
		return err
	}
	for _, name := range names[1:] {
		asked, err := b.turns(name, short, b.columns...)
		if err != nil {
			return err
		}
		for c, l := range asked {
			b.stretch(10, c, l.marks[skipped:])
		}
	}
	asked, err := b.turns(names[0], long, b.columns...)
	if err != nil {
		return err
	}
	for c, l := range asked {
		for at := window; at <= long; at += window {
			b.stretch(at, c, l.marks[at-window:at+1])
		}
	}
	return nil
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
func (b *bench) calls() error {
	if _, err := exec.LookPath("strace"); err != nil {
		b.Notes = append(b.Notes, "strace is not installed: syncs and calls on files were not counted")
		return nil
	}
	const skipped, rounds, turns = 4, 24, 3
	name, err := b.bootOne()
	if err != nil {
		return err
	}
	b.traced = true
	err = b.each(1, func(c *column) error {
		_, err := b.start(c, name)
		return err
	})
	b.traced = false
	if err != nil {
		return err
	}
	busy, err := b.turn(name, rounds)
	if err != nil {
		return err
	}
	quiet := time.Now()
	for range turns {
		if _, err := b.turn(name, 0); err != nil {
			return err
		}
	}
	rest := time.Now()
	if err := b.pause(3 * time.Second); err != nil {
		return err
	}
	end := time.Now()
	b.stopAll()
	for c, l := range busy {
		_, calls, err := count(c.home+".strace", rest, end)
		if err != nil {
			return err
		}
		idle := float64(calls) / end.Sub(rest).Seconds()
		b.note("files idle", c, idle)
		round := span{"round", l.marks[skipped].came, l.marks[rounds].came, rounds - skipped}
		for _, s := range []span{round, {"turn", quiet, rest, turns}} {
			if err := b.noteCalls(c, s, idle); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn has the identity of all columns do a turn at once, with a number of calls, and returns their requests.
func (b *bench) turn(name string, calls int) (map[*column]*script, error) {
	asked := map[*column]*script{}
	for _, c := range b.columns {
		asked[c] = b.model.expect(c, name, script{calls: calls})
		if _, err := c.say(name); err != nil {
			return nil, err
		}
	}
	for _, l := range asked {
		if _, err := b.answered(l); err != nil {
			return nil, err
		}
	}
	return asked, b.pause(1200 * time.Millisecond) // context.md is written meanwhile
}

// span is the time in which n rounds or turns went on.
type span struct {
	what     string
	from, to time.Time
	n        float64
}

// noteCalls notes syncs and calls on files of a span, without the calls a second of an idle program: a busy machine
// takes longer.
func (b *bench) noteCalls(c *column, s span, idle float64) error {
	syncs, calls, err := count(c.home+".strace", s.from, s.to)
	if err != nil {
		return err
	}
	b.note("syncs "+s.what, c, float64(syncs)/s.n)
	b.note("files "+s.what, c, (float64(calls)-idle*s.to.Sub(s.from).Seconds())/s.n)
	return nil
}

// onFile is a system call, not the second half of one, that names a file or has one open. How many reads bring what
// inotify tells depends on what else the machine does.
var onFile = regexp.MustCompile(`^\d+ +(\d+\.\d+) (\w+)\((?:\d+</|AT_FDCWD|")`)

// count reads what strace wrote of a time.
func count(file string, from, to time.Time) (syncs, files int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := onFile.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, 0, err
		}
		if t := time.UnixMicro(int64(at * 1e6)); t.Before(from) || t.After(to) {
			continue
		}
		files++
		if strings.Contains(m[2], "sync") {
			syncs++
		}
	}
	return syncs, files, nil
}
