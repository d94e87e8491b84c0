package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/config"
	"lethe/events"
	"lethe/internal/durable"
	"lethe/life"
)

// lifeFlags say how a life is printed.
type lifeFlags struct {
	follow, raw bool
	after       string
	types       []string
}

func (p *program) lifeCommand() *cobra.Command {
	var f lifeFlags
	cmd := p.about(&cobra.Command{
		Use:   "life [NAME]",
		Short: "Tell what an identity has done, or print its log",
		Long: `Life tells on a terminal what has happened to an identity, in words. To a pipe, or with
--raw, it prints the lines of LIFE.md as they are stored.

With --json it prints events, one JSON object a line; --after goes on behind the
event with that id, so a program that keeps the newest id misses nothing.`,
		Example: `  lethe life ada
  lethe life ada -f --json --after 16766
  lethe life ada --type forgot --type reminded`,
	}, func(ctx context.Context, id agent.Identity) error {
		for _, t := range f.types {
			if !slices.Contains(events.Types, t) {
				return hint(usagef("--type is %q, which no event has", t), "did you mean: %s", cmp.Or(config.Nearest(t, events.Types), strings.Join(events.Types, ", ")))
			}
		}
		asked := f.after != "" || len(f.types) > 0
		switch {
		case f.raw && asked:
			return usagef("--raw prints all of the log; leave out --after and --type")
		case f.raw || !p.json && !asked && !isTerminal(p.out):
			return p.printLife(ctx, id, f.follow)
		}
		return p.tellLife(ctx, id, f)
	})
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on as it happens")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "print the lines of LIFE.md; with --json, as objects")
	cmd.Flags().StringVar(&f.after, "after", "", "`ID` of the event to go on behind")
	cmd.Flags().StringArrayVar(&f.types, "type", nil, "`TYPE` of events to tell; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(events.Types, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not there
	return cmd
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// tellLife tells events: in words, or for programs.
func (p *program) tellLife(ctx context.Context, id agent.Identity, f lifeFlags) error {
	stream, err := p.events(id, f.after)
	if err != nil {
		return err
	}
	defer stream.Close()
	out := p.out
	if !f.follow && !p.json && p.interactive() {
		paged, done := p.pager()
		defer done()
		out = paged
	}
	tell := p.tellTo(out)
	told := func(e events.Event) error {
		if len(f.types) > 0 && !slices.Contains(f.types, e.Type) {
			return nil
		}
		return tell(e)
	}
	if f.follow {
		watcher := chat.NewWatcher(500*time.Millisecond, nil)
		go func() { _ = watcher.Run(ctx) }() // ends with the process
		err = stream.Follow(ctx, watcher, told)
	} else {
		err = drain(stream, told)
	}
	if errors.Is(err, syscall.EPIPE) { // the reader has seen enough
		return nil
	}
	return err
}

// events opens the events of an identity behind an id.
func (p *program) events(id agent.Identity, after string) (*events.Stream, error) {
	store, err := p.store()
	if err != nil {
		return nil, err
	}
	s, err := events.Open(store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	switch {
	case errors.Is(err, events.ErrAfter):
		return nil, usageError{err}
	case errors.Is(err, events.ErrGone):
		return nil, hint(fmt.Errorf("find event %s: %w", after, err), "the log was put back or replaced; leave out --after to begin anew")
	case err != nil:
		return nil, id.Unread(err)
	}
	return s, nil
}

// drain calls f for each event that there is.
func drain(s *events.Stream, f func(events.Event) error) error {
	for e, err := range s.All() {
		if err == nil {
			err = f(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pager shows what is written to it as the person's pager does; where there is none, it is the
// program's own output. done waits until the person has read; how a pager ends says nothing, since
// Ctrl+C in it ends its shell.
func (p *program) pager() (out io.Writer, done func()) {
	shell := cmp.Or(os.Getenv("PAGER"), "less -R")
	cmd := exec.Command("sh", "-c", shell)
	cmd.Stdout, cmd.Stderr, cmd.Env = p.out, p.err, append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"))
	name, _, _ := strings.Cut(shell, " ")
	_, missing := exec.LookPath(name)
	in, err := cmd.StdinPipe()
	if cmp.Or(missing, err) != nil || cmd.Start() != nil {
		return p.out, func() {}
	}
	return in, func() { _, _ = in.Close(), cmd.Wait() }
}

// tellTo prints events: each with its time in words, or as an object.
func (p *program) tellTo(out io.Writer) func(events.Event) error {
	if p.json {
		return func(e events.Event) error { return encode(out, e) }
	}
	day, colour := "", isTerminal(p.out) && os.Getenv("NO_COLOR") == ""
	return func(e events.Event) error {
		if e.ID == "" { // what is under way comes whole when it is done
			return nil
		}
		at := e.At.In(p.settings.Zone())
		if today := at.Format("Monday 2 January 2006"); today != day {
			day = today
			if _, err := fmt.Fprintf(out, "%s\n", day); err != nil {
				return err
			}
		}
		style, ok := lifeStyles[e.Type]
		if !ok {
			style = lipgloss.NewStyle().Faint(true)
		}
		begin := at.Format(time.TimeOnly)
		for line := range strings.Lines(chat.Sanitize(e.Words())) {
			if line = strings.TrimRight(line, "\n"); colour {
				line = style.Render(line)
			}
			if _, err := fmt.Fprintf(out, "%8s  %s\n", begin, line); err != nil {
				return err
			}
			begin = ""
		}
		return nil
	}
}

// lifeStyles are those of what stands out of a life; all else is faint.
var lifeStyles = func() map[string]lipgloss.Style {
	said, past, people, trouble := lipgloss.NewStyle().Foreground(lipgloss.Blue), lipgloss.NewStyle().Foreground(lipgloss.Magenta),
		lipgloss.NewStyle().Foreground(lipgloss.Yellow), lipgloss.NewStyle().Foreground(lipgloss.Red)
	return map[string]lipgloss.Style{
		events.UserMessage: lipgloss.NewStyle(), events.MessageDone: said, events.Forgot: past, events.Reminded: past, events.Opened: past,
		events.Asked: people, events.Answered: people, events.Fired: people, events.Error: trouble, events.Paused: trouble,
	}
}()

// printLife prints the lines of a log, checked, and follows it when asked.
func (p *program) printLife(ctx context.Context, id agent.Identity, follow bool) error {
	f, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return id.Unread(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	watcher := chat.NewWatcher(500*time.Millisecond, nil)
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: id.Dir, Names: []string{"LIFE.md"}})
	defer cancel()
	if follow {
		go func() { _ = watcher.Run(ctx) }() // ends with the process
	}
	var partial string
	for {
		line, err := life.ReadLine(r)
		partial += line
		if errors.Is(err, life.ErrLongLine) {
			return fmt.Errorf("%w: read %s: %w", agent.ErrCorrupt, f.Name(), err)
		}
		if err == nil {
			if err := p.printEvent(partial); err != nil {
				return err
			}
			partial = ""
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func (p *program) printEvent(line string) error {
	line = strings.TrimSuffix(line, "\n")
	if !p.json {
		_, err := fmt.Fprintln(p.out, chat.Sanitize(line))
		return err
	}
	e, err := life.ParseLine(line)
	if err != nil {
		return err
	}
	return json.NewEncoder(p.out).Encode(eventOf(e))
}
