package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
)

// PutKey writes the key to what the hosts of a home share, an age identity, into a home that has none.
func PutKey(dir, key string) error {
	if _, err := streams.ParseKeys(key); err != nil {
		return fmt.Errorf("the key to the store is a line that begins with AGE-SECRET-KEY-1: %w", err)
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(streams.KeyFile(dir), []byte(strings.TrimSpace(key)+"\n"), 0o600)
}

// Restored is what became of a life.
type Restored struct {
	Life
	Here bool   `json:"here"`          // it goes on here
	Err  error  `json:"-"`             // why it does not
	Why  string `json:"why,omitempty"` // the same, in words
}

// Restore brings the home to this host: its rooms, and the lives of hosts that are silent, which go on here. Those of a host
// that says it is there stay with it. tell is called for each life.
func (s *Shared) Restore(ctx context.Context, tell func(Restored)) error {
	if err := s.Sync(ctx); err != nil {
		return err
	}
	all, err := s.Lives()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("restore: %w: no home is stored there, or the key is another one's", home.ErrNotFound)
	}
	silent := map[string]bool{s.Host.ID: true}
	for _, l := range all {
		host := l.Host.ID
		if _, known := silent[host]; !known {
			silent[host] = s.silent(ctx, host)
		}
		r := Restored{Life: l}
		if silent[host] {
			_, r.Err = s.take(ctx, l, host)
			r.Here = r.Err == nil
		} else {
			r.Err = &home.ElsewhereError{Identity: s.home.Identity(l.Self, l.Name), Host: l.Host.Label}
		}
		if r.Err != nil {
			r.Why = r.Err.Error()
		}
		tell(r)
		err = errors.Join(err, ignoreElsewhere(r.Err))
	}
	return err
}

func ignoreElsewhere(err error) error {
	if errors.As(err, new(*home.ElsewhereError)) {
		return nil
	}
	return err
}

// RestoreAt brings the home as it was at a time into a directory that shares nothing: its hosts go on with theirs.
func (s *Shared) RestoreAt(ctx context.Context, store *blobs.Store, at time.Time, tell func(Restored)) error {
	if err := s.connect(); err != nil {
		return err
	}
	known := map[string]Life{}
	err := s.rooms.Restore(ctx, at, func(room string, lines []byte) {
		if room != rosterRoom {
			return
		}
		for line := range bytes.Lines(lines) {
			l, ok := parseLife(line)
			if !ok {
				continue
			}
			known[l.Self] = l
			if l.Gone {
				delete(known, l.Self)
			}
		}
	})
	if err == nil && len(known) == 0 {
		err = fmt.Errorf("restore: %w: nothing was stored by that time, or the key is another one's", home.ErrNotFound)
	}
	if err != nil {
		return err
	}
	var gone error // of those of which nothing is stored any more, since they were removed later
	here := false
	for _, l := range known {
		id := s.home.Identity(l.Self, l.Name)
		r := Restored{Life: l, Here: true}
		if r.Err = durable.MkdirAll(id.Dir, 0o700); r.Err == nil {
			r.Err = s.lives.Restore(ctx, id, store, at)
		}
		if r.Err == nil {
			r.Err = s.receive(id, store)
		}
		if here = here || r.Err == nil; r.Err != nil {
			r.Here, r.Why = false, r.Err.Error()
			r.Err = errors.Join(r.Err, os.RemoveAll(id.Dir))
		}
		if errors.Is(r.Err, home.ErrNotFound) {
			gone = errors.Join(gone, r.Err)
		} else {
			err = errors.Join(err, r.Err)
		}
		tell(r)
	}
	if !here {
		err = errors.Join(err, gone)
	}
	return err
}

// receive has the log of a life say that it goes on in this home, which shares nothing.
func (s *Shared) receive(id home.Identity, store *blobs.Store) error {
	alone := home.Home{Dir: s.home.Dir}
	key, err := life.LoadKey(alone.Dir)
	if err != nil {
		return err
	}
	held, err := journal.HoldMoved(alone, id, store)
	if err != nil {
		return err
	}
	defer held.Close()
	received := event.Received{Custody: held.State.Custody + 1, Key: key.Public()}
	return held.Epoch("taken", nil, journal.Record{Event: received})
}
