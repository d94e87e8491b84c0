package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/screen"
	"lethe/life"
)

// lifeCommand tells what has happened, or prints the log.
func (p *program) lifeCommand(c call, id home.Identity) error {
	types, after, raw, follow := c.list("type"), c.text("after"), c.is("raw"), c.is("follow")
	for _, t := range types {
		if !slices.Contains(events.Types, t) {
			near := cmp.Or(config.Nearest(t, events.Types), strings.Join(events.Types, ", "))
			return hint(usagef("--type is %q, which no event has", t), "did you mean: %s", near)
		}
	}
	switch {
	case raw && (after != "" || len(types) > 0 || p.json || follow):
		return usagef("--raw prints all lines of the log as they are; leave out --after, --type, --follow and --json")
	case raw:
		return p.printLife(id)
	}
	stream, err := events.Open(p.look.Store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	if errors.Is(err, events.ErrGone) {
		err = fmt.Errorf("find event %s: %w", after, err)
	}
	if err != nil {
		return id.Unread(err)
	}
	defer stream.Close()
	tell := p.tellTo()
	told := func(e events.Event) error {
		if len(types) > 0 && !slices.Contains(types, e.Type) {
			return nil
		}
		return tell(e)
	}
	if follow {
		watcher := chat.NewWatcher(500*time.Millisecond, nil)
		return besideWatcher(c, watcher, func(ctx context.Context) error { return stream.Follow(ctx, watcher, told) })
	}
	for e, err := range stream.All() {
		if err == nil {
			err = told(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tellTo prints events: each with its time in words, or as an object.
func (p *program) tellTo() func(events.Event) error {
	if p.json {
		return func(e events.Event) error { return printLine(p.out, e) }
	}
	day := ""
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
		for line := range strings.Lines(screen.Sanitize(e.Words())) {
			text += fmt.Sprintf("%8s  %s\n", begin, strings.TrimRight(line, "\n"))
			begin = ""
		}
		_, err := io.WriteString(p.out, text)
		return err
	}
}

// printLife prints the lines of a log as they stand.
func (p *program) printLife(id home.Identity) error {
	f, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return id.Unread(err)
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		line, err := life.ReadLine(r)
		switch {
		case errors.Is(err, io.EOF): // the end of a line that is being written is left out
			return nil
		case err != nil:
			return fmt.Errorf("%w: read %s: %w", home.ErrCorrupt, f.Name(), err)
		}
		if _, err := io.WriteString(p.out, screen.Sanitize(line)); err != nil {
			return err
		}
	}
}
