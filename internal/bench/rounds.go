package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// turn has an identity do a number of rounds, and returns its requests.
func (b *bench) turn(c *column, id, rounds int) *script {
	p := b.start(c, nameOf(id))
	defer p.stop()
	l := b.model.expect(nameOf(id), script{calls: rounds, proc: p})
	c.say(nameOf(id))
	b.answered(l)
	return l
}

// between are the rounds from one to another: how long each took, and what each used: milliseconds, KB.
func (l *script) between(from, to int) (took []time.Duration, processor, disk float64) {
	for i := from; i < to; i++ {
		took = append(took, l.marks[i+1].came.Sub(l.marks[i].answered))
	}
	u, v, n := l.marks[to], l.marks[from], float64(to-from)
	return took, ms(u.processor-v.processor) / n, float64(u.written-v.written) / 1000 / n
}

func (b *bench) rounds() {
	const shorts, short, long, window = 4, 20, 2000, 100
	b.homes(shorts + 1)
	type sums struct {
		took            []time.Duration
		processor, disk float64
	}
	all, id := map[*column]*sums{}, 0
	for ; id < shorts; id++ {
		b.each(1, func(c *column) {
			t, p, d := b.turn(c, id, short).between(4, short)
			if all[c] == nil {
				all[c] = &sums{}
			}
			s := all[c]
			s.took, s.processor, s.disk = append(s.took, t...), s.processor+p/shorts, s.disk+d/shorts
		})
	}
	b.each(1, func(c *column) {
		note := func(at int, took []time.Duration, processor, disk float64) {
			b.set(fmt.Sprint("round ", at), c, quantile(took, 0.5))
			b.set(fmt.Sprint("processor ", at), c, processor)
			b.set(fmt.Sprint("disk ", at), c, disk)
		}
		note(10, all[c].took, all[c].processor, all[c].disk)
		l := b.turn(c, id, long)
		for at := window; at <= long; at += window {
			took, processor, disk := l.between(at-window, at)
			if at == 400 || at == long {
				note(at, took, processor, disk)
			}
			b.Rounds = append(b.Rounds, Point{c.title, at, quantile(took, 0.5), float64(l.marks[at].resident) / 1e6})
		}
	})
}

// calls counts under strace, which slows everything down and changes no count.
func (b *bench) calls() {
	if _, err := exec.LookPath("strace"); err != nil {
		b.Notes = append(b.Notes, "strace is not installed: syncs and calls on files were not counted")
		return
	}
	const skipped, rounds, turns = 4, 24, 4
	b.homes(len(b.columns))
	files := map[*column]string{}
	busy, quiet := map[*column]*script{}, [turns]time.Time{}
	for i, c := range b.columns {
		b.trace = filepath.Join(b.dir, "strace-"+c.title)
		b.start(c, nameOf(i))
		files[c], b.trace = b.trace, ""
		busy[c] = b.model.expect(nameOf(i), script{calls: rounds})
	}
	for turn := range quiet { // one with calls, then others
		for i, c := range b.columns {
			l := busy[c]
			if turn > 0 {
				l = b.model.expect(nameOf(i), script{})
			}
			c.say(nameOf(i))
			b.answered(l)
		}
		b.pause(1200 * time.Millisecond)
		quiet[turn] = time.Now()
	}
	b.stopAll()
	for _, c := range b.columns {
		note := func(what string, from, to time.Time, n float64) {
			syncs, calls := count(files[c], from, to)
			b.set("syncs "+what, c, float64(syncs)/n)
			b.set("files "+what, c, float64(calls)/n)
		}
		note("round", busy[c].marks[skipped].came, busy[c].marks[rounds].came, rounds-skipped)
		note("turn", quiet[0], quiet[turns-1], turns-1)
	}
}

// onFile is a system call, not the second half of one, that names a file or has one open.
var onFile = regexp.MustCompile(`^\d+ +(\d+\.\d+) (\w+)\((?:\d+<(?:/|anon_inode:inotify)|AT_FDCWD|")`)

// count reads what strace wrote of a time.
func count(file string, from, to time.Time) (syncs, files int) {
	f := must(os.Open(file))
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := onFile.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at := must(strconv.ParseFloat(m[1], 64))
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
