package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
)

// Restored says whether a life of the store goes on here, and if not, why.
type Restored struct {
	Life
	Here bool
	Why  string
}

func restored(life Life, err error) Restored {
	if err != nil {
		return Restored{Life: life, Why: err.Error()}
	}
	return Restored{Life: life, Here: true}
}

// pardon has lost called for each text that the store has lost, which what is restored goes without.
func (s *Cluster) pardon(lost func(what error)) (end func(), err error) {
	err = s.connect()
	s.rooms.Lost = lost
	s.lives.Lost = func(id home.Identity, what error) { lost(fmt.Errorf("%s: %w", id.Name, what)) }
	return func() { s.rooms.Lost, s.lives.Lost = nil, nil }, err
}

// Restore brings the rooms of the home to this host, and has the lives of silent hosts go on here. A host that says
// that it is there keeps its lives. tell is called for each life, and lost for each text that the store has lost: the
// home goes on without it. After an error it is called again.
func (s *Cluster) Restore(ctx context.Context, tell func(Restored), lost func(what error)) error {
	end, err := s.pardon(lost)
	if err != nil {
		return err
	}
	defer end()
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
	for _, life := range all {
		host := life.Host.ID
		if _, known := silent[host]; !known {
			silent[host] = s.silent(ctx, host, false)
		}
		if !silent[host] {
			tell(restored(life, s.moved(life)))
			continue
		}
		_, failed := s.take(ctx, life, host)
		tell(restored(life, failed))
		if !home.IsElsewhere(failed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// RestoreAt brings the home as it was at a time into a directory that shares nothing: its hosts go on with theirs. tell
// is called for each life, and lost for each text that the store has lost. A life that was removed since is a failure
// only where no other one is restored.
func (s *Cluster) RestoreAt(
	ctx context.Context, store *blobs.Store, at time.Time, tell func(Restored), lost func(what error),
) error {
	end, err := s.pardon(lost)
	if err != nil {
		return err
	}
	defer end()
	var then roster
	err = s.rooms.Restore(ctx, at, func(room string, lines []byte) {
		if room == rosterRoom {
			then.add(lines)
		}
	})
	if err != nil {
		return err
	}
	if len(then.order) == 0 {
		return fmt.Errorf("restore: %w: nothing was stored by that time, or the key is another one's", home.ErrNotFound)
	}
	var removed error
	here := false
	for _, life := range then.order {
		failed := s.restoreAt(ctx, life, store, at)
		tell(restored(life, failed))
		switch {
		case failed == nil:
			here = true
		case errors.Is(failed, home.ErrNotFound):
			removed = errors.Join(removed, failed)
		default:
			err = errors.Join(err, failed)
		}
	}
	if !here {
		err = errors.Join(err, removed)
	}
	return err
}

// restoreAt is RestoreAt for one life. After an error nothing of the life is here.
func (s *Cluster) restoreAt(ctx context.Context, life Life, store *blobs.Store, at time.Time) error {
	id := s.id(life)
	err := durable.MkdirAll(id.Dir, 0o700)
	if err == nil {
		err = s.lives.Restore(ctx, id, store, at)
	}
	if err == nil {
		err = s.receive(id, store)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(id.Dir))
	}
	return err
}

// receive has the log of a life say that it goes on in this home, which shares nothing.
func (s *Cluster) receive(id home.Identity, store *blobs.Store) error {
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
