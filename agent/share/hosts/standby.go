package hosts

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent/home"
)

// standing is the identities that a process runs which stands by.
type standing struct {
	all sync.WaitGroup // until the last one has ended

	mu    sync.Mutex
	run   func(home.Identity) error // nil: nothing is started
	ended context.CancelFunc
	seen  map[string]int // by Self: started, or if it is stopped, the number of the newest lease of its host
}

const started = -1

// StandBy calls run for identities: for ids, and for each life that this host has, or takes from a silent or drained
// host, unless somebody has stopped it. It returns when ctx ends or this host is drained, and all calls have ended.
func (s *Cluster) StandBy(ctx context.Context, ids []home.Identity, run func(home.Identity) error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &s.standing
	p.mu.Lock()
	p.run, p.ended, p.seen = run, cancel, map[string]int{}
	p.mu.Unlock()
	for _, id := range ids {
		p.start(id)
	}
	<-ctx.Done()
	p.end()
	p.all.Wait()
}

// end has nothing start from then on.
func (p *standing) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil {
		p.run = nil
		p.ended()
	}
}

// start runs an identity, once.
func (p *standing) start(id home.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.run
	if run == nil || p.seen[id.Self] == started {
		return
	}
	p.seen[id.Self] = started
	p.all.Go(func() {
		if err := run(id); errors.As(err, new(*home.ElsewhereError)) {
			p.gone(id.Self)
		}
	})
}

// gone notes that a life goes on elsewhere. It is started again when it is back.
func (p *standing) gone(self string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, self)
}

// due reports whether a life was not started, nor found stopped at lease n of its host.
func (p *standing) due(self string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return false
	}
	seen, known := p.seen[self]
	looked := seen == started || seen == n
	return !known || !looked
}

// rest notes that a life is stopped, at lease n of its host.
func (p *standing) rest(self string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[self] = n
}

// lookAround looks for other hosts, and takes the lives of hosts that are gone, until ctx ends.
func (s *Cluster) lookAround(ctx context.Context) {
	seen := map[string]sighting{}
	for {
		if err := s.look(ctx, seen); err != nil && ctx.Err() == nil {
			s.log.Warn("looking for other hosts, and taking what silent ones had, failed", "error", err)
		}
		every, began := s.leases.pace(), time.Now().Round(0)
		if !pause(ctx, every) {
			return
		}
		slept := time.Now().Round(0).Sub(began) > 2*every
		if slept { // other hosts may have renewed their leases meanwhile
			clear(seen)
		}
	}
}

// look looks once.
func (s *Cluster) look(ctx context.Context, seen map[string]sighting) error {
	ids, err := s.known()
	if err != nil {
		return err
	}
	here, alone := false, true
	for _, host := range ids {
		if host == s.Host.ID {
			here = true
			continue
		}
		if seen[host], err = s.leases.sight(ctx, host, seen[host]); err != nil {
			return err
		}
		g := seen[host]
		alone = alone && g.silent()
		forgotten := g.silent() && time.Since(g.At) > forgetAfter
		if forgotten && g.n > 0 {
			if err := s.streams.Drop(ctx, leaseStream(host)); err != nil {
				return err
			}
		}
	}
	s.leases.keep(seen)
	s.leases.alone.Store(alone)
	if !here {
		if err := s.tell(ctx, askedRoom, asked{Came: s.Host.ID, At: time.Now().UTC()}); err != nil {
			return err
		}
	}
	all, err := s.Lives()
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, k := range rand.Perm(len(all)) { // hosts that stand by together share the lives
		life := all[k]
		g, known := seen[life.Host.ID]
		left := known && g.silent()
		free := left || life.Host.ID == s.Host.ID
		if life.Parent != "" || !free {
			continue
		}
		if !s.standing.due(life.Self, g.n) {
			continue
		}
		group.Go(func() error { return s.takeOver(ctx, life, g.n) })
	}
	return group.Wait()
}

// takeOver runs a life of this host, or of a silent or drained one, unless somebody has stopped it.
func (s *Cluster) takeOver(ctx context.Context, life Life, seen int) error {
	id := s.home.Identity(life.Self, life.Name)
	if runs(id) {
		return nil
	}
	stopped, err := s.lives.Stopped(ctx, life.Self)
	if stopped {
		s.standing.rest(life.Self, seen)
	}
	if stopped || err != nil {
		return err
	}
	if life.Host.ID != s.Host.ID {
		began := time.Now()
		_, err := s.take(ctx, life, life.Host.ID)
		if errors.As(err, new(*home.ElsewhereError)) {
			return nil // another host was faster
		}
		if err != nil {
			return err
		}
		took := time.Since(began).Round(time.Millisecond)
		s.log.Warn("took a life over", "identity", life.Name, "from", life.Host.Label, "in", took)
		s.counts.change(func(now *Status) { now.Takeovers++ })
	}
	s.standing.start(id)
	return nil
}

// shareAll shares lives of this disk that did not run since [share] was set, until ctx ends. It waits at first: lives
// that are to run begin meanwhile.
func (s *Cluster) shareAll(ctx context.Context) {
	for tried := map[string]bool{}; pause(ctx, aloneEvery); {
		ids, err := s.home.List()
		if err != nil {
			s.log.Warn("what is not shared yet is not listed", "error", err)
		}
		for _, id := range ids {
			if ctx.Err() != nil {
				return
			}
			if runs(id) || tried[id.Self] {
				continue
			}
			if _, told := s.find(id.Self); told {
				continue
			}
			tried[id.Self] = true
			if err := s.opened(id); err != nil && !errors.As(err, new(*home.ElsewhereError)) {
				s.log.Warn("an identity is not shared", "identity", id.Name, "error", err)
			}
		}
	}
}
