package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/chat"
	"lethe/events"
	"lethe/internal/durable"
)

// startTrace begins to write the events of identities to the file of --trace; without one it does
// nothing. end writes what is still to come, and says what failed.
func (p *program) startTrace(ids ...agent.Identity) (end func() error, err error) {
	if p.runs.trace == "" {
		return func() error { return nil }, nil
	}
	out := p.out
	closeFile := func() error { return nil }
	if p.runs.trace != "-" {
		file, _, err := durable.OpenRegular(p.runs.trace, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, usagef("--trace: %w", err)
		}
		out, closeFile = file, file.Close
	}
	var streams []*events.Stream
	for _, id := range ids {
		after, err := events.End(id.LIFE())
		if err != nil {
			return nil, errors.Join(id.Unread(err), closeFile())
		}
		s, err := p.events(id, after)
		if err != nil {
			return nil, errors.Join(err, closeFile())
		}
		streams = append(streams, s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	watcher := chat.NewWatcher(0, nil)
	tell := writer(out)
	var group errgroup.Group
	group.Go(func() error { return watcher.Run(ctx) })
	for _, s := range streams {
		group.Go(func() error {
			defer s.Close()
			if err := cmp.Or(s.Follow(ctx, watcher, tell), drain(s, tell)); err != nil {
				return fmt.Errorf("write trace: %w", err)
			}
			return nil
		})
	}
	return func() error { cancel(); return errors.Join(group.Wait(), closeFile()) }, nil
}

// writer writes events of several streams.
func writer(out io.Writer) func(events.Event) error {
	var mu sync.Mutex
	return func(e events.Event) error {
		mu.Lock()
		defer mu.Unlock()
		return encode(out, e)
	}
}
