// Package bench measures what Lethe costs on this machine, each figure beside its floor in the same run.
//
//	report, err := bench.Run(ctx, bench.Options{Home: "/home/ada/.lethe", Program: exe, Say: progress})
//	fmt.Print(report)
//
// Real processes run identities in temporary homes, against a model on loopback that answers at once. The floor is a
// process, too: a bare client (six.go) that sends as many bytes and does the syncs of the order of writing. Programs are
// measured in turn, so that what else the machine does falls on all of them. report.go has the rows.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Options say what is measured.
type Options struct {
	Home    string            // the temporary homes are made beside it, on its file system
	Program string            // that is measured
	Against string            // another program, for a column of its own; may be empty
	Only    []string          // groups of rows; none: all
	Say     func(what string) // told what is measured next
}

var groups = []struct {
	name, about string
	measure     func(*bench)
}{
	{"rounds", "an answer with a call, the call, the next request", (*bench).rounds},
	{"calls", "syncs and calls on files, under strace", (*bench).calls},
	{"lines", "a line in a room, until the request", (*bench).lines},
	{"start", "starts, with lives of several lengths", (*bench).starts},
	{"many", "a hundred identities, idle and at work", (*bench).many},
	{"recall", "an index of what has faded", (*bench).recall},
	{"parts", "blobs, the disk, the binary", (*bench).parts},
}

// Groups are the names that Options.Only takes.
func Groups() (names []string) {
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// bench is one run.
type bench struct {
	Options
	*Report
	ctx          context.Context
	dir          string
	model        model
	lethe, six   *column
	columns      []*column // these, and the other program between them if there is one
	running      []*process
	trace        string // a file: strace writes there what is launched
	head, growth int    // bytes of a life's first request, and what a round adds: the floor sends as much
}

// failed is why the run cannot go on; Run recovers it.
type failed struct{ error }

func check(err error) {
	if err != nil {
		panic(failed{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// Run measures, and leaves nothing behind.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	b := &bench{Options: o, ctx: ctx, Report: &Report{Figures: map[string]map[string]float64{}}}
	defer func() {
		p, interrupted := recover(), ctx.Err()
		b.stopAll()
		cancel()
		if b.dir != "" {
			err = errors.Join(err, os.RemoveAll(b.dir))
		}
		if why, ok := p.(failed); ok {
			err = cmp.Or(interrupted, why.error)
		} else if p != nil {
			panic(p)
		}
	}()
	if b.dir, err = os.MkdirTemp(filepath.Dir(o.Home), ".lethe-bench-"); err != nil {
		return nil, fmt.Errorf("make a temporary home: %w", err)
	}
	var disk unix.Statfs_t
	err = unix.Statfs(b.dir, &disk)
	if free := disk.Bavail * uint64(disk.Bsize); err == nil && free < 1<<30 {
		return nil, fmt.Errorf("the temporary homes take up to 1 GB, and %s has %d MB free", filepath.Dir(b.dir), free>>20)
	}
	b.lethe, b.six = &column{title: "lethe", exe: o.Program}, &column{title: floor, exe: must(os.Executable())}
	b.columns = []*column{b.lethe, b.six}
	if o.Against != "" {
		b.columns = slices.Insert(b.columns, 1, &column{title: "against", exe: o.Against})
	}
	b.machine()
	b.model.listen(ctx)
	b.homes(1)
	const rounds = 8
	l := b.turn(b.lethe, 0, rounds)
	b.head = l.marks[0].bytes
	b.growth = (l.marks[rounds].bytes - b.head) / rounds
	for _, g := range groups {
		if len(o.Only) == 0 || slices.Contains(o.Only, g.name) {
			o.Say(g.name + ": " + g.about)
			g.measure(b)
		}
	}
	return b.Report, nil
}

// homes makes a fresh home of each column, with n identities that have been booted.
func (b *bench) homes(n int) {
	config := fmt.Sprintf("user = \"bench\"\n[model]\nbase_url = %q\nname = \"bench\"\n[context]\nlimit = 50000000\n[turn]\nmax_steps = 1000000\n", b.model.url)
	for _, c := range b.columns {
		c.home = filepath.Join(b.dir, c.title)
		check(os.RemoveAll(c.home))
		check(os.MkdirAll(filepath.Join(c.home, "chats"), 0o700))
		shards(filepath.Join(c.home, "blobs"))
		check(os.WriteFile(filepath.Join(c.home, "config.toml"), []byte(config), 0o600))
		var boots errgroup.Group
		boots.SetLimit(runtime.NumCPU())
		for i := range n {
			boots.Go(func() error {
				if c == b.six {
					return nil
				}
				p, err := b.launch(c, "--name="+nameOf(i), "--room="+nameOf(i))
				if err == nil {
					p.stop()
				}
				return err
			})
		}
		check(boots.Wait())
	}
}

// shards makes the directories of a store that some ten thousand texts have made: what is measured is a home that has lived.
func shards(dir string) {
	for i := range 1 << 12 {
		check(os.MkdirAll(filepath.Join(dir, fmt.Sprintf("%03x", i)), 0o700))
	}
}

func (b *bench) stopAll() {
	for _, p := range b.running {
		p.stop()
	}
	b.running = nil
}

// each measures all columns in turn, n times.
func (b *bench) each(n int, measure func(c *column)) {
	for range n {
		for _, c := range b.columns {
			check(b.ctx.Err())
			measure(c)
		}
	}
}

func (b *bench) set(row string, c *column, value float64) {
	if b.Figures[row] == nil {
		b.Figures[row] = map[string]float64{}
	}
	b.Figures[row][c.title] = value
}

// wait is the request of the next final answer, or none within a time.
func (b *bench) wait(l *script, most time.Duration) (m mark) {
	select {
	case m = <-l.done:
	case <-b.ctx.Done():
	case <-time.After(most):
	}
	check(b.ctx.Err())
	return m
}

func (b *bench) pause(d time.Duration) { b.wait(&script{}, d) }

// answered is wait for what has to come.
func (b *bench) answered(l *script) mark {
	m := b.wait(l, 5*time.Minute)
	if m.came.IsZero() {
		check(errors.New("no request came in five minutes"))
	}
	return m
}

func nameOf(i int) string { return fmt.Sprintf(prefix+"%03d", i) }

// quantile is in milliseconds.
func quantile(list []time.Duration, q float64) float64 {
	slices.Sort(list)
	return ms(list[int(q*float64(len(list)))])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
