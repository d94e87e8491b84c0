package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/home"
	"lethe/share/streams"
)

// Each host says that it is there by the next text of a stream of its own. No clock is compared with another one's: a host
// is silent when its stream has not grown for so long by the clock of who looks.
var (
	renewEvery = 10 * time.Second
	silentFor  = 30 * time.Second
)

const leases = "hosts/"

func leaseStream(host string) string { return leases + host }

// lease is what a host says of itself.
type lease struct {
	Label string    `json:"label"`
	At    time.Time `json:"at"` // by its own clock: for people
}

// keepLease says again and again that this host is there, and looks whether others are, until ctx ends.
func (s *Shared) keepLease(ctx context.Context) {
	seen := map[string]*sighting{}
	for last := time.Now(); ; last = time.Now() {
		if err := s.renew(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("this host could not say that it is there", "error", fmt.Errorf("renew the lease: %w", err))
			s.counts.change(s.home.Dir, func(now *Status) { now.Away = err.Error() })
		} else if s.standsBy() {
			if err := s.standBy(ctx, seen); err != nil && ctx.Err() == nil {
				s.log.Warn("what silent hosts had could not be taken", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewEvery):
		}
		if slept := time.Now().Round(0).Sub(last.Round(0)); slept > 2*renewEvery { // others may have said it meanwhile
			clear(seen)
		}
	}
}

func (s *Shared) renew(ctx context.Context) error {
	stream := leaseStream(s.Host.ID)
	text, err := json.Marshal(lease{s.Host.Label, time.Now().UTC()})
	if err != nil {
		return err
	}
	n, err := s.store.Newest(ctx, stream, 0)
	if err == nil {
		err = s.lives.Streams.Create(ctx, stream, n+1, text)
	}
	if err == nil && n > 0 {
		err = s.store.Delete(ctx, stream, n, func(int) bool { return false })
	}
	if err == nil {
		s.counts.change(s.home.Dir, func(now *Status) { now.Renewed, now.Away = time.Now().UTC(), "" })
	}
	return err
}

// sighting is the newest that was seen of a host.
type sighting struct {
	n     int
	since time.Time
}

// StandBy has Serve call run for identities that this host has, but for some, and for those that it takes from hosts that
// are silent or drained; not for those that somebody has stopped. A nil run ends that.
func (s *Shared) StandBy(but []home.Identity, run func(home.Identity)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.runs = run, map[string]bool{}
	for _, id := range but {
		s.runs[id.Self] = true
	}
}

func (s *Shared) standsBy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run != nil
}

// start has an identity run that this host has, once.
func (s *Shared) start(id home.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && !s.runs[id.Self] {
		s.runs[id.Self] = true
		s.run(id)
	}
}

// standBy takes what is free, and what hosts have that are silent, and starts it.
func (s *Shared) standBy(ctx context.Context, seen map[string]*sighting) error {
	all, err := s.Lives()
	if err != nil {
		return err
	}
	silent := map[string]bool{s.Host.ID: true}
	for _, l := range all {
		host := l.Host.ID
		if _, looked := silent[host]; looked {
			continue
		}
		n, err := s.store.Newest(ctx, leaseStream(host), 0)
		if err != nil {
			return err
		}
		if was := seen[host]; was == nil || was.n != n {
			seen[host] = &sighting{n, time.Now()}
		}
		silent[host] = time.Since(seen[host].since) > silentFor
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, k := range rand.Perm(len(all)) { // hosts that stand by together share what there is
		if l := all[k]; l.Parent == "" && (l.Free || silent[l.Host.ID]) {
			group.Go(func() error { return s.takeOver(ctx, l) })
		}
	}
	return group.Wait()
}

// takeOver has a life go on here that this host has, or one that is silent or drained, unless somebody has stopped it.
func (s *Shared) takeOver(ctx context.Context, l Life) error {
	id, mine := s.home.Identity(l.Self, l.Name), l.Host.ID == s.Host.ID
	if _, runs := home.Running(id); runs || mine && s.started(id) {
		return nil
	}
	if !l.Free {
		stopped, err := s.lives.Stopped(ctx, l.Self)
		if stopped || err != nil {
			return err
		}
	}
	if mine && l.Free { // it was drained, and is back
		l.Free = false
		if err := s.tell(rosterRoom, l); err != nil {
			return err
		}
	}
	if !mine {
		began := time.Now()
		_, err := s.take(ctx, l, l.Host.ID)
		if errors.As(err, new(*home.ElsewhereError)) {
			return nil // another host was faster
		}
		if err != nil {
			return err
		}
		took := time.Since(began).Round(time.Millisecond)
		s.log.Warn("took a life over", "identity", l.Name, "from", l.Host.Label, "in", took)
		s.counts.change(s.home.Dir, func(now *Status) { now.Takeovers++ })
	}
	s.start(id)
	return nil
}

func (s *Shared) started(id home.Identity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id.Self]
}

// Seen is a host, and when it last said that it is there.
type Seen struct {
	streams.Host
	At    time.Time `json:"at"` // by its own clock
	Here  bool      `json:"here"`
	Lives []Life    `json:"lives"`
}

// Hosts returns the hosts of the home, and what each has.
func (s *Shared) Hosts(ctx context.Context) (out []Seen, err error) {
	if err := s.Sync(ctx); err != nil {
		return nil, err
	}
	names, err := s.store.List(ctx, leases)
	if err != nil {
		return nil, err
	}
	all, err := s.Lives()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		id := strings.TrimPrefix(name, leases)
		var text []byte
		n, err := s.store.Newest(ctx, name, 0)
		if err == nil {
			text, err = s.lives.Streams.Get(ctx, name, n)
		}
		var l lease
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			return nil, err
		}
		h := Seen{Host: streams.Host{ID: id, Label: l.Label}, At: l.At, Here: id == s.Host.ID}
		for _, life := range all {
			if life.Host.ID == id {
				h.Lives = append(h.Lives, life)
			}
		}
		out = append(out, h)
	}
	return out, nil
}
