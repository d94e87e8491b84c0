// Package bench measures what Lethe costs on this machine, each figure beside its floor in the same run.
//
//	report, err := bench.Run(ctx, bench.Options{Home: "/home/ada/.lethe", Program: exe, Say: progress})
//	fmt.Print(report)
//
// Real processes run identities in temporary homes, against a model on loopback that answers at once. The floor is a
// process, too: a bare client (six.go) that sends as many bytes and does the syncs of the order of writing. Programs
// are measured in turn, a few steps each, so that what else the machine does falls on all of them. report.go has the
// rows.
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

	"lethe/internal/must"
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
	Report
	samples      map[string]map[string][]float64 // by row and column
	ctx          context.Context
	dir          string
	model        model
	lethe, six   *column
	programs     []*column // lethe, and the other program if there is one
	columns      []*column // these, and the floor
	booted       int       // identities that each column has
	running      []*process
	traced       bool // what is launched: strace writes a file beside its home
	head, growth int  // bytes of a life's first request, and what a round adds: the floor sends as much
}

// Run measures, and leaves nothing behind.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	b := &bench{Options: o, ctx: ctx, samples: map[string]map[string][]float64{}}
	if b.dir, err = os.MkdirTemp(filepath.Dir(o.Home), ".lethe-bench-"); err != nil {
		cancel()
		return nil, fmt.Errorf("make a temporary home: %w", err)
	}
	defer func() {
		err = cmp.Or(ctx.Err(), err)
		b.stopAll()
		cancel()
		err = errors.Join(err, os.RemoveAll(b.dir))
	}()
	if err = must.Run(b.run); err != nil {
		return nil, err
	}
	return b.report(), nil
}

func (b *bench) run() {
	var disk unix.Statfs_t
	must.Do(unix.Statfs(b.dir, &disk))
	if free := disk.Bavail * uint64(disk.Bsize); free < 1<<30 {
		must.Do(fmt.Errorf("the temporary homes take up to 1 GB, and %s has %d MB free", filepath.Dir(b.dir), free>>20))
	}
	b.machine()
	b.model.listen(b.ctx)
	b.homes()
	const rounds = 8
	l := b.turns(b.boot(1)[0], rounds, b.lethe)[b.lethe]
	b.head = l.marks[0].bytes
	b.growth = (l.marks[rounds].bytes - b.head) / rounds
	for _, g := range groups {
		if len(b.Only) == 0 || slices.Contains(b.Only, g.name) {
			b.Say(g.name + ": " + g.about)
			g.measure(b)
			b.stopAll()
		}
	}
}

// homes makes a home of each column. The directories are those that some ten thousand texts have made: what is measured
// is a home that has lived.
func (b *bench) homes() {
	b.lethe, b.six = &column{title: "lethe", exe: b.Program}, &column{title: floor, exe: must.Get(os.Executable())}
	if b.programs = []*column{b.lethe}; b.Against != "" {
		b.programs = append(b.programs, &column{title: "against", exe: b.Against})
	}
	b.columns = append(slices.Clone(b.programs), b.six)
	for _, c := range b.columns {
		c.home, c.url = filepath.Join(b.dir, c.title), b.model.url+c.title
		for i := range 1 << 12 {
			must.Do(os.MkdirAll(c.shard(fmt.Sprintf("%03x", i)), 0o700))
		}
		must.Do(os.Mkdir(filepath.Join(c.home, "chats"), 0o700))
		config := fmt.Sprintf("user = \"bench\"\n[model]\nbase_url = %q\nname = \"bench\"\n[context]\nlimit = 50000000\n[turn]\nmax_steps = 1000000\n", c.url)
		must.Do(os.WriteFile(filepath.Join(c.home, "config.toml"), []byte(config), 0o600))
	}
	unix.Sync() // what is still to be written of these directories would not count as written by who changes them next
}

// boot makes n more identities in each column, and returns their names.
func (b *bench) boot(n int) (names []string) {
	var boots errgroup.Group
	boots.SetLimit(runtime.NumCPU())
	for range n {
		name := fmt.Sprintf(prefix+"%03d", b.booted)
		b.booted++
		names = append(names, name)
		for _, c := range b.programs {
			boots.Go(func() error {
				p, err := b.launch(c, "--name="+name, "--room="+name)
				if err == nil {
					p.stop()
				}
				return err
			})
		}
	}
	must.Do(boots.Wait())
	return names
}

// stopAll ends what runs, and what the model has to say to it.
func (b *bench) stopAll() {
	b.model.hush()
	for _, p := range b.running {
		p.stop()
	}
	b.running = nil
}

// each measures all columns in turn, n times.
func (b *bench) each(n int, measure func(c *column)) {
	for range n {
		for _, c := range b.columns {
			must.Do(b.ctx.Err())
			measure(c)
		}
	}
}

// note notes a sample of a row; its figure is their median.
func (b *bench) note(row string, c *column, value float64) {
	if b.samples[row] == nil {
		b.samples[row] = map[string][]float64{}
	}
	b.samples[row][c.title] = append(b.samples[row][c.title], value)
}

// report makes figures of the samples.
func (b *bench) report() *Report {
	b.Figures = map[string]map[string]float64{}
	for row, columns := range b.samples {
		b.Figures[row] = map[string]float64{}
		for title, list := range columns {
			slices.Sort(list)
			b.Figures[row][title] = (list[(len(list)-1)/2] + list[len(list)/2]) / 2
		}
	}
	return &b.Report
}

// answered is the request of the next final answer.
func (b *bench) answered(l *script) mark {
	select {
	case m := <-l.done:
		return m
	case <-b.ctx.Done():
	case <-time.After(5 * time.Minute):
	}
	return must.Get(mark{}, errors.New("no request came in five minutes"))
}

func (b *bench) pause(d time.Duration) {
	select {
	case <-b.ctx.Done():
	case <-time.After(d):
	}
	must.Do(b.ctx.Err())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
