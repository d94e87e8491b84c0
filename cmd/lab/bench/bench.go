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
	measure     func(*bench) error
}{
	{"rounds", "an answer with a call, the call, the next request", (*bench).rounds},
	{"calls", "syncs and calls on files, under strace", (*bench).calls},
	{"lines", "a line in a room, until the request", (*bench).lines},
	{"start", "starts, with lives of several lengths", (*bench).starts},
	{"many", "a hundred identities, idle and at work", (*bench).many},
	{"recall", "an index of what has faded", (*bench).recall},
	{"adopt", "a history of another agent, beside SQLite's full-text index", (*bench).adopt},
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
		if ended := ctx.Err(); ended != nil {
			err = ended
		}
		b.stopAll()
		cancel()
		err = errors.Join(err, os.RemoveAll(b.dir))
	}()
	if err := b.run(); err != nil {
		return nil, err
	}
	return b.report(), nil
}

func (b *bench) run() error {
	var disk unix.Statfs_t
	if err := unix.Statfs(b.dir, &disk); err != nil {
		return err
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < 1<<30 {
		return fmt.Errorf("the temporary homes take up to 1 GB, and %s has %d MB free", filepath.Dir(b.dir), free>>20)
	}
	b.machine()
	if err := b.model.listen(b.ctx); err != nil {
		return err
	}
	if err := b.homes(); err != nil {
		return err
	}
	if err := b.weigh(); err != nil {
		return err
	}
	for _, g := range groups {
		if len(b.Only) > 0 && !slices.Contains(b.Only, g.name) {
			continue
		}
		b.Say(g.name + ": " + g.about)
		if err := g.measure(b); err != nil {
			return err
		}
		b.stopAll()
	}
	return nil
}

// weigh finds out how long Lethe's requests are: the floor sends as much.
func (b *bench) weigh() error {
	const rounds = 8
	name, err := b.bootOne()
	if err != nil {
		return err
	}
	asked, err := b.turns(name, rounds, b.lethe)
	if err != nil {
		return err
	}
	marks := asked[b.lethe].marks
	b.head = marks[0].bytes
	b.growth = (marks[rounds].bytes - b.head) / rounds
	return nil
}

// homes makes a home of each column. The directories are those that some ten thousand texts have made: what is measured
// is a home that has lived.
func (b *bench) homes() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	b.lethe, b.six = &column{title: "lethe", exe: b.Program}, &column{title: floor, exe: own}
	if b.programs = []*column{b.lethe}; b.Against != "" {
		b.programs = append(b.programs, &column{title: "against", exe: b.Against})
	}
	b.columns = append(slices.Clone(b.programs), b.six)
	for _, c := range b.columns {
		c.home, c.url = filepath.Join(b.dir, c.title), b.model.url+c.title
		if err := c.makeHome(); err != nil {
			return err
		}
	}
	unix.Sync() // what is still to be written of these directories would not count as written by who changes them next
	return nil
}

// makeHome makes the directories and settings of a column's home.
func (c *column) makeHome() error {
	for i := range 1 << 12 {
		if err := os.MkdirAll(c.shard(fmt.Sprintf("%03x", i)), 0o700); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(c.home, "chats"), 0o700); err != nil {
		return err
	}
	config := fmt.Sprintf("user = \"bench\"\n[model]\nbase_url = %q\nname = \"bench\"\n"+
		"[context]\nlimit = 50000000\n[turn]\nmax_steps = 1000000\n", c.url)
	return os.WriteFile(filepath.Join(c.home, "config.toml"), []byte(config), 0o600)
}

// bootOne makes one more identity in each column, and returns its name.
func (b *bench) bootOne() (string, error) {
	names, err := b.boot(1)
	return names[0], err
}

// boot makes n more identities in each column, and returns their names.
func (b *bench) boot(n int) (names []string, err error) {
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
	return names, boots.Wait()
}

// stopAll ends what runs, and what the model has to say to it.
func (b *bench) stopAll() {
	_ = b.model.hush() // what it says of lines is told where they were to be answered
	for _, p := range b.running {
		p.stop()
	}
	b.running = nil
}

// each measures all columns in turn, n times.
func (b *bench) each(n int, measure func(c *column) error) error {
	for range n {
		for _, c := range b.columns {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			if err := measure(c); err != nil {
				return err
			}
		}
	}
	return nil
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
func (b *bench) answered(l *script) (mark, error) {
	select {
	case m := <-l.done:
		return m, nil
	case <-b.ctx.Done():
	case <-time.After(5 * time.Minute):
	}
	return mark{}, errors.New("no request came in five minutes")
}

func (b *bench) pause(d time.Duration) error {
	select {
	case <-b.ctx.Done():
	case <-time.After(d):
	}
	return b.ctx.Err()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
