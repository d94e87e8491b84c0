// Package vitals measures in one go what must not get worse unseen: the cost of forgetting, recall, a round beside the
// bare client's, a sample of crashes, the size of the code.
//
//	report, err := vitals.Run(ctx, vitals.Options{Tree: ".", Program: exe, Home: home, Say: progress})
//	fmt.Print(report)
//
// Each section is a table of Markdown, so that a note can hold it. What is beyond its bound says so in the last column.
package vitals

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"lethe/cmd/lab/bench"
	"lethe/cmd/lab/replay"
)

// Options say what is measured.
type Options struct {
	Tree    string            // the module of Lethe
	Home    string            // temporary homes are made beside it, on its file system
	Program string            // the lethe of the tree
	Data    string            // a directory with conversations of LoCoMo; may be empty
	Only    []string          // sections; none: all
	Say     func(what string) // told what goes on
}

var sections = []struct {
	name, title string
	measure     func(context.Context, Options) (Section, error)
}{
	{"size", "Size, in tokens without tests", sizes},
	{"cost", "Cost of a day, USD for a million tokens of history", cost},
	{"recall", "Recall, of all questions", recalled},
	{"evidence", "Lines that answer a question, in the request of a scripted reader after so many calls", evidence},
	{"crash", "Kills and power losses, a sample", crashes},
	{"bench", "A round, memory and turns, beside the bare client (six)", benched},
}

// Sections are the names that Options.Only takes.
func Sections() (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// Report is what was measured.
type Report struct {
	Of       string    `json:"of"` // the commit, the version of Go, the number of cores
	Sections []Section `json:"sections"`
}

// Section is a table.
type Section struct {
	Title   string     `json:"title"`
	Seconds int        `json:"seconds"`
	Table   [][]string `json:"table"` // its head, then its rows
	Notes   []string   `json:"notes,omitempty"`
}

// Run measures the sections one after the other: a round's time is worth nothing while something else runs.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Of: fmt.Sprintf("%s, %s, %d cores", commit(ctx, o.Tree), runtime.Version(), runtime.NumCPU())}
	for _, s := range sections {
		if len(o.Only) > 0 && !slices.Contains(o.Only, s.name) {
			continue
		}
		part := o
		part.Say = func(what string) { o.Say(s.name + ": " + what) }
		began := time.Now()
		section, err := s.measure(ctx, part)
		if ended := ctx.Err(); ended != nil && err != nil {
			err = ended
		}
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", s.name, err)
		}
		section.Title, section.Seconds = s.title, int(time.Since(began).Seconds())
		r.Sections = append(r.Sections, section)
	}
	return r, nil
}

// commit names what is measured, as far as git knows it.
func commit(ctx context.Context, tree string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", tree, "describe", "--always", "--dirty").Output()
	if err != nil {
		return "no commit"
	}
	return strings.TrimSpace(string(out))
}

// String is the report as Markdown.
func (r *Report) String() string {
	out := new(strings.Builder)
	fmt.Fprintf(out, "Vitals of %s\n", r.Of)
	for _, s := range r.Sections {
		fmt.Fprintf(out, "\n### %s (%d s)\n\n", s.Title, s.Seconds)
		for i, cells := range s.Table {
			fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
			if i == 0 {
				fmt.Fprintf(out, "|---%s|\n", strings.Repeat("|--:", len(cells)-1))
			}
		}
		for _, note := range s.Notes {
			fmt.Fprintf(out, "\n%s\n", note)
		}
	}
	return out.String()
}

func cost(ctx context.Context, o Options) (s Section, err error) {
	days, err := replay.Days(ctx, o.Say)
	s.Table = [][]string{{"", "USD", "at most", "within two refs", "summaries", "unused", "not as meant"}}
	for _, d := range days {
		r := d.Report
		s.Table = append(s.Table, []string{
			d.Name(), fmt.Sprintf("%.2f", r.PerMillion), fmt.Sprintf("%.2f", d.Most),
			fmt.Sprintf("%.4f %%", 100*r.Reach.Near()), fmt.Sprint(r.Summaries), fmt.Sprint(r.Unused),
			strings.Join(d.Faults(), ", "),
		})
	}
	return s, err
}

func benched(ctx context.Context, o Options) (s Section, err error) {
	r, err := bench.Run(ctx, bench.Options{
		Home: o.Home, Program: o.Program, Only: []string{"rounds", "calls", "many"}, Say: o.Say,
	})
	if err != nil {
		return s, err
	}
	return Section{Table: r.Table(), Notes: append([]string{strings.Join(r.Machine, "; ")}, r.Notes...)}, nil
}
