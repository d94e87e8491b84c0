package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"time"

	"lethe/home"
	"lethe/share/rooms"
)

// ErrDrained says that somebody asked this host to leave all lives to others.
var ErrDrained = errors.New("this host was drained: its identities have stopped, and hosts that stand by take them")

// asked is a line of the room in which hosts are asked something.
type asked struct {
	Drain  string    `json:"drain,omitempty"`  // a host, by its number
	Reread string    `json:"reread,omitempty"` // a life, from which something was erased, and all rooms
	From   string    `json:"from,omitempty"`   // the host that asks
	At     time.Time `json:"at"`
}

// Drain asks a host, by its name or number, to leave its lives to others.
func (s *Shared) Drain(ctx context.Context, who string) error {
	all, err := s.Hosts(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, h := range all {
		if h.Label == who || h.ID == who {
			return s.tell(askedRoom, asked{Drain: h.ID, At: time.Now().UTC()})
		}
		names = append(names, h.Label)
	}
	return fmt.Errorf("drain %s: %w; the hosts are: %s", who, home.ErrNotFound, strings.Join(names, ", "))
}

// obey does what was said in the rooms of the hosts since the last look.
func (s *Shared) obey(ctx context.Context) error {
	text, err := os.ReadFile(rooms.Path(s.home.Dir, askedRoom))
	if err == nil && len(text) > s.asked {
		for line := range strings.Lines(string(text[s.asked:])) {
			var a asked
			switch json.Unmarshal([]byte(line), &a); {
			case a.Drain == s.Host.ID:
				return s.drain(ctx)
			case a.Reread != "" && a.From != s.Host.ID:
				if err := s.reread(ctx, a.Reread); err != nil {
					return err
				}
			}
			s.asked += len(line)
		}
	}
	all, err := s.Lives()
	s.mu.Lock()
	news := maps.Clone(s.roster.news)
	clear(s.roster.news)
	s.mu.Unlock()
	for _, l := range all {
		id := s.home.Identity(l.Self, l.Name)
		if !news[l.Self] || l.Host.ID == s.Host.ID {
			continue
		}
		err = errors.Join(err, id.Unstart())
		if _, runs := home.Running(id); runs && !home.Asked(id, home.WishStop) {
			err = errors.Join(err, home.Ask(id, home.WishStop)) // it finds out then, if it has not yet
		}
	}
	return err
}

// reread takes from this disk what another host has erased.
func (s *Shared) reread(ctx context.Context, self string) error {
	if err := s.rooms.Reread(ctx); err != nil {
		return err
	}
	id := s.home.Identity(self, "")
	if _, err := os.Stat(id.LIFE()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := home.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Close()
	return s.lives.Forget(ctx, id, s.texts)
}

// drain stops what runs here, and tells others that it is free.
func (s *Shared) drain(ctx context.Context) error {
	all, err := s.Lives()
	if err != nil {
		return err
	}
	for _, l := range all {
		id := s.home.Identity(l.Self, l.Name)
		if l.Host.ID != s.Host.ID {
			continue
		}
		err := id.Unstart()
		if _, runs := home.Running(id); runs && err == nil {
			err = home.Ask(id, home.WishStop)
		}
		if err != nil {
			return err
		}
	}
	for _, l := range all {
		if l.Host.ID != s.Host.ID {
			continue
		}
		for id := s.home.Identity(l.Self, l.Name); ; {
			if _, runs := home.Running(id); !runs {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		l.Free = true
		if err := s.tell(rosterRoom, l); err != nil {
			return err
		}
	}
	return ErrDrained
}
