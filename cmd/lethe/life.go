package main

import (
	"bufio"
	"cmp"
	"context"
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

	"lethe/chat"
	"lethe/config"
	"lethe/events"
	"lethe/home"
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
	}, func(ctx context.Context, id home.Identity) error {
		for _, t := range f.types {
			if !slices.Contains(events.Types, t) {
				near := cmp.Or(config.Nearest(t, events.Types), strings.Join(events.Types, ", "))
				return hint(usagef("--type is %q, which no event has", t), "did you mean: %s", near)
			}
		}
		chosen := f.after != "" || len(f.types) > 0
		switch {
		case f.raw && (chosen || p.json):
			return usagef("--raw prints all lines of the log as they are; leave out --after, --type and --json")
		case f.raw || !p.json && !chosen && !isTerminal(p.out):
			return p.printLife(ctx, id, f.follow)
		}
		return p.tellLife(ctx, id, f)
	})
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on as it happens")
	option(cmd, &f.raw, "raw", "print the lines of LIFE.md")
	option(cmd, &f.after, "after", "`ID` of the event to go on behind")
	option(cmd, &f.types, "type", "`TYPE` of events to tell; may be repeated", oneOf(events.Types))
	return cmd
}

// tellLife tells events: in words, or for programs.
func (p *program) tellLife(ctx context.Context, id home.Identity, f lifeFlags) error {
	stream, err := events.Open(p.look.Store, events.Log{Path: id.LIFE(), Name: id.Name}, f.after)
	if errors.Is(err, events.ErrGone) {
		err = fmt.Errorf("find event %s: %w", f.after, err)
	}
	if err != nil {
		return id.Unread(err)
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
		err = stream.Follow(ctx, watching(ctx), told)
	} else {
		err = each(stream, told)
	}
	if errors.Is(err, syscall.EPIPE) { // the reader has seen enough
		return nil
	}
	return err
}

// watching watches files until the program ends.
func watching(ctx context.Context) *chat.Watcher {
	watcher := chat.NewWatcher(500*time.Millisecond, nil)
	go func() { _ = watcher.Run(ctx) }()
	return watcher
}

// each calls f for each event that there is.
func each(s *events.Stream, f func(events.Event) error) error {
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
	cmd.Stdout, cmd.Stderr = p.out, p.err
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"))
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
		return func(e events.Event) error { return printLine(out, e) }
	}
	day, colour := "", p.colour()
	return func(e events.Event) error {
		if e.ID == "" { // what is under way comes whole when it is done
			return nil
		}
		at := e.At.In(p.settings.Zone())
		text := ""
		if today := at.Format("Monday 2 January 2006"); today != day {
			day = today
			text = day + "\n"
		}
		begin := at.Format(time.TimeOnly)
		for line := range strings.Lines(chat.Sanitize(e.Words())) {
			line = strings.TrimRight(line, "\n")
			if colour {
				line = styleOf(e.Type).Render(line)
			}
			text += fmt.Sprintf("%8s  %s\n", begin, line)
			begin = ""
		}
		_, err := io.WriteString(out, text)
		return err
	}
}

// styleOf is faint but for what stands out of a life.
func styleOf(kind string) lipgloss.Style {
	style := lipgloss.NewStyle()
	switch kind {
	case events.UserMessage:
		return style
	case events.MessageDone:
		return style.Foreground(lipgloss.Blue)
	case events.Forgot, events.Reminded, events.Opened:
		return style.Foreground(lipgloss.Magenta)
	case events.Asked, events.Answered, events.Fired:
		return style.Foreground(lipgloss.Yellow)
	case events.Error, events.Paused:
		return style.Foreground(lipgloss.Red)
	}
	return style.Faint(true)
}

// printLife prints the lines of a log as they stand, and follows it when asked.
func (p *program) printLife(ctx context.Context, id home.Identity, follow bool) error {
	f, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return id.Unread(err)
	}
	defer f.Close()
	changed, cancel := watching(ctx).Subscribe(chat.Scope{Dir: id.Dir, Names: []string{"LIFE.md"}})
	defer cancel()
	r := bufio.NewReader(f)
	begun := "" // of a line that is not whole yet
	for {
		line, err := life.ReadLine(r)
		begun += line
		switch {
		case errors.Is(err, life.ErrLongLine):
			return fmt.Errorf("%w: read %s: %w", home.ErrCorrupt, f.Name(), err)
		case err == nil:
			if _, err := io.WriteString(p.out, chat.Sanitize(begun)); err != nil {
				return err
			}
			begun = ""
		case !errors.Is(err, io.EOF):
			return err
		case !follow:
			return nil
		default:
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
		}
	}
}
