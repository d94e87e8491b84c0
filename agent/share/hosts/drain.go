package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"lethe/agent/home"
	"lethe/agent/share/rooms"
	"lethe/internal/durable"
)

// ErrDrained says that somebody asked this host to leave its lives to others.
var ErrDrained = errors.New("this host was drained: its identities have stopped, and hosts that stand by take them")

// asked is a line of the room where hosts are asked something. It names hosts by their numbers.
type asked struct {
	Came   string    `json:"came,omitempty"`   // a host that is new
	Drain  string    `json:"drain,omitempty"`  // a host that is to leave its lives to others
	Left   string    `json:"left,omitempty"`   // a host that has left them
	Reread string    `json:"reread,omitempty"` // Self of a life after an erasure
	From   string    `json:"from,omitempty"`   // the host that asks
	At     time.Time `json:"at"`
}

// ask adds a line to askedRoom.
func (s *Cluster) ask(ctx context.Context, what asked) error {
	what.At = time.Now().UTC()
	return s.tell(ctx, askedRoom, what)
}

// asked returns the lines of askedRoom from an offset on, and the offset behind them. An offset that is not in the room
// counts as the nearest that is.
func (s *Cluster) asked(from int) (out []asked, to int, err error) {
	text, err := rooms.Said(s.home.Dir, askedRoom, 0)
	from = min(max(from, 0), len(text))
	for line := range bytes.Lines(text[from:]) {
		var a asked
		_ = json.Unmarshal(line, &a) // another line asks for nothing
		out = append(out, a)
	}
	return out, len(text), err
}

// known returns the numbers of all hosts that ever came, or had a life.
func (s *Cluster) known() ([]string, error) {
	said, _, err := s.asked(0)
	if err != nil {
		return nil, err
	}
	if _, err := s.Lives(); err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	s.mu.Lock()
	maps.Copy(ids, s.roster.hosts)
	s.mu.Unlock()
	for _, a := range said {
		ids[a.Came] = true
	}
	delete(ids, "")
	return slices.Sorted(maps.Keys(ids)), nil
}

// Drain asks a host, by its number, to leave its lives to others.
func (s *Cluster) Drain(ctx context.Context, host string) error {
	return s.ask(ctx, asked{Drain: host})
}

// drained returns ErrDrained if somebody has asked this host to leave since this process looked first.
func (s *Cluster) drained() error {
	said, to, err := s.asked(s.drains)
	if err != nil {
		return err
	}
	asksUs := func(a asked) bool { return a.Drain == s.Host.ID }
	isNews := func(a asked) bool { return a.Left != "" || a.Came != "" && a.Came != s.Host.ID }
	looked := s.drains >= 0
	switch {
	case looked && slices.ContainsFunc(said, asksUs):
		return ErrDrained
	case !looked, slices.ContainsFunc(said, isNews): // who came, also before the first look, waits for a word of this host
		s.leases.anew.Store(true)
		s.leases.alone.Store(false)
		wake(s.leases.renew)
		wake(s.leases.look)
	}
	s.drains = to
	return nil
}

// obey does what was said in the rooms of the hosts since the last look.
func (s *Cluster) obey(ctx context.Context) error {
	err := s.drained()
	if err == ErrDrained {
		return s.drain(ctx)
	}
	if err != nil {
		return err
	}
	err = s.reread(ctx)
	news, nerr := s.news()
	if err = errors.Join(err, nerr); len(news) > 0 { // what goes on here, perhaps
		wake(s.leases.look)
	}
	for _, life := range news {
		if life.Gone || life.Host.ID != s.Host.ID {
			err = errors.Join(err, s.leave(life))
		}
	}
	return err
}

// leave stops a life that goes on at another host, and removes a life that was removed.
func (s *Cluster) leave(life Life) error {
	id := s.id(life)
	s.standing.rest(life.Self, unknown)
	if _, err := os.Stat(id.Dir); os.IsNotExist(err) {
		return nil
	}
	err := id.Unstart()
	if err == nil && runs(id) {
		if life.Gone {
			s.again(life)
		}
		if !home.Asked(id, home.WishStop) { // when it stops, it finds out, if it has not yet
			err = home.Ask(id, home.WishStop)
		}
		return err
	}
	if life.Gone && err == nil {
		err = home.Home{Dir: s.home.Dir}.Remove(s.texts, id)
	}
	return err
}

// askedFile keeps the offset in askedRoom behind all lines that this host has obeyed, drains left out.
func (s *Cluster) askedFile() string { return filepath.Join(s.home.Dir, "share", "asked") }

// reread takes from this disk what other hosts have erased.
func (s *Cluster) reread(ctx context.Context) error {
	was, _, _ := durable.ReadRegular(s.askedFile(), 32)
	from, _ := strconv.Atoi(string(was)) // without a number, from the beginning
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
	if err != nil {
		return err
	}
	return durable.WriteFile(s.askedFile(), []byte(strconv.Itoa(to)), 0o600)
}

// forget reads anew a life that another host has, if a copy is here. A life is read anew before it is taken, too.
func (s *Cluster) forget(ctx context.Context, self string) error {
	if life, ok := s.find(self); !ok || life.Host.ID == s.Host.ID {
		return nil
	}
	id := s.home.Identity(self, "")
	if _, err := os.Stat(id.LIFE()); os.IsNotExist(err) {
		return nil
	}
	lock, err := home.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = s.lives.Copy(ctx, id, s.texts)
	return err
}

// drainTime bounds how long drain waits for identities to stop.
const drainTime = 30 * time.Second

// drain stops every identity on this host, and starts no other one while the process runs. It returns ErrDrained; after
// another error the next round drains again.
func (s *Cluster) drain(ctx context.Context) error {
	s.standing.end()
	all, err := s.Lives()
	if err != nil {
		return err
	}
	var own []home.Identity
	for _, life := range all {
		if life.Host.ID != s.Host.ID {
			continue
		}
		id := s.id(life)
		if runs(id) {
			err = errors.Join(err, home.AskStop(id, home.Drained))
		}
		own, err = append(own, id), errors.Join(err, id.Unstart())
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	for slices.ContainsFunc(own, runs) {
		if !pause(ctx, 100*time.Millisecond, nil) {
			s.log.Warn("not all identities have stopped yet")
			break
		}
	}
	return ErrDrained
}

func runs(id home.Identity) bool {
	_, runs := home.Running(id)
	return runs
}
