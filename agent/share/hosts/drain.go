package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/rooms"
	"lethe/internal/durable"
)

// ErrDrained says that somebody asked this host to leave all lives to others.
var ErrDrained = errors.New("this host was drained: its identities have stopped, and hosts that stand by take them")

// asked is a line of the room in which hosts are asked something.
type asked struct {
	Came   string    `json:"came,omitempty"`   // a host that is new, by its number
	Drain  string    `json:"drain,omitempty"`  // a host, by its number
	Reread string    `json:"reread,omitempty"` // a life, from which something was erased
	From   string    `json:"from,omitempty"`   // the host that asks
	At     time.Time `json:"at"`
}

// asked returns what was asked behind so many bytes, and how many there are.
func (s *Shared) asked(from int) (out []asked, to int, err error) {
	text, err := os.ReadFile(rooms.Path(s.home.Dir, askedRoom))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for line := range bytes.Lines(text[min(from, len(text)):]) {
		var a asked
		_ = json.Unmarshal(line, &a) // another line asks for nothing
		out = append(out, a)
	}
	return out, len(text), err
}

// known returns the hosts that ever came, by their numbers.
func (s *Shared) known() (ids []string, err error) {
	said, _, err := s.asked(0)
	all, lerr := s.Lives()
	for _, a := range said {
		ids = append(ids, a.Came)
	}
	for _, l := range all {
		ids = append(ids, l.Host.ID)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	return ids, errors.Join(err, lerr)
}

// Drain asks a host, by its name or number, to leave its lives to others.
func (s *Shared) Drain(ctx context.Context, who string) error {
	all, err := s.Hosts(ctx)
	if err != nil {
		return err
	}
	var names, ids []string
	for _, h := range all {
		if h.ID == who {
			ids = []string{who}
			break
		}
		if names = append(names, h.Label); h.Label == who {
			ids = append(ids, h.ID)
		}
	}
	switch len(ids) {
	case 0:
		return fmt.Errorf("drain %s: %w; the hosts are: %s", who, home.ErrNotFound, strings.Join(names, ", "))
	case 1:
		return s.tell(ctx, askedRoom, asked{Drain: ids[0], At: time.Now().UTC()})
	}
	return fmt.Errorf("drain %s: several hosts have that name: give the number of one: %s", who, strings.Join(ids, ", "))
}

// obey does what was said in the rooms of the hosts since the last look.
func (s *Shared) obey(ctx context.Context) error {
	said, to, err := s.asked(max(0, s.drains))
	if err != nil {
		return err
	}
	drained := func(a asked) bool { return a.Drain == s.Host.ID }
	if s.drains >= 0 && slices.ContainsFunc(said, drained) { // not what was said before this process served
		return s.drain(ctx)
	}
	s.drains = to
	err = s.reread(ctx)
	news, nerr := s.news()
	err = errors.Join(err, nerr)
	for _, l := range news {
		if l.Gone || l.Host.ID != s.Host.ID {
			err = errors.Join(err, s.leave(l))
		}
	}
	return err
}

// leave stops a life here that other hosts have, and removes one that is removed.
func (s *Shared) leave(l Life) error {
	id := s.home.Identity(l.Self, l.Name)
	s.standing.gone(l.Self)
	if _, err := os.Stat(id.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := id.Unstart()
	if _, runs := home.Running(id); runs && err == nil {
		if l.Gone {
			s.again(l)
		}
		if !home.Asked(id, home.WishStop) { // it finds out then, if it has not yet
			err = home.Ask(id, home.WishStop)
		}
		return err
	}
	if l.Gone && err == nil {
		err = home.Home{Dir: s.home.Dir}.Remove(s.texts, id)
	}
	return err
}

// askedFile says how many bytes of askedRoom were obeyed, but for drains.
func (s *Shared) askedFile() string { return filepath.Join(s.home.Dir, "share", "asked") }

// reread takes from this disk what other hosts have erased.
func (s *Shared) reread(ctx context.Context) error {
	was, _, _ := durable.ReadRegular(s.askedFile(), 32)
	from, _ := strconv.Atoi(string(was)) // of what is no number, all
	said, to, err := s.asked(from)
	if err != nil || to == from {
		return err
	}
	done := map[string]bool{}
	for _, a := range said {
		asksUs := a.Reread != "" && a.From != s.Host.ID
		if !asksUs || done[a.Reread] {
			continue
		}
		done[a.Reread] = true
		err = errors.Join(err, s.forget(ctx, a.Reread))
	}
	if err == nil {
		err = durable.WriteFile(s.askedFile(), []byte(strconv.Itoa(to)), 0o600)
	}
	return err
}

// forget reads a life anew that another host has. Before a life is taken, it is read anew.
func (s *Shared) forget(ctx context.Context, self string) error {
	id := s.home.Identity(self, "")
	if l, ok := s.find(self); !ok || l.Host.ID == s.Host.ID {
		return nil
	}
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

// drainTime is how long identities have to stop.
const drainTime = 30 * time.Second

// drain has what runs here stop, which no person asked for, and nothing start any more.
func (s *Shared) drain(ctx context.Context) error {
	s.standing.end()
	all, err := s.Lives()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	all = slices.DeleteFunc(slices.Clone(all), func(l Life) bool { return l.Host.ID != s.Host.ID })
	runs := func(l Life) bool {
		_, runs := home.Running(s.home.Identity(l.Self, l.Name))
		return runs
	}
	for _, l := range all {
		id := s.home.Identity(l.Self, l.Name)
		if runs(l) {
			err = errors.Join(err, home.AskStop(id, home.Drained))
		}
		err = errors.Join(err, id.Unstart())
	}
	for err == nil && slices.ContainsFunc(all, runs) {
		if !pause(ctx, 100*time.Millisecond) {
			s.log.Warn("not all identities have stopped yet")
			break
		}
	}
	if err != nil {
		return err // the next round drains again
	}
	return ErrDrained
}
