package hosts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent/home"
	"lethe/internal/durable"
)

// standing is the identities that a process runs which stands by.
type standing struct {
	all sync.WaitGroup // until the last one has ended

	mu    sync.Mutex
	run   func(home.Identity) error // nil: nothing is started
	ended context.CancelFunc
	seen  map[string]int // by Self: started, or if it is stopped, the number of the newest lease of its host
}

// Numbers of no lease.
const (
	started = -1
	unknown = -2
)

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
		if err := run(id); home.IsElsewhere(err) {
			p.rest(id.Self, unknown)
		}
	})
}

// due reports whether a life was not started, nor found stopped at lease n of its host.
func (p *standing) due(self string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, known := p.seen[self]
	looked := known && (seen == started || seen == n)
	return !looked && p.run != nil
}

// rest notes that a life is stopped at lease n of its host, or unknown: it is started again when it is back.
func (p *standing) rest(self string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[self] = n
}

// lookAround looks for other hosts, and takes the lives of hosts that are gone, until ctx ends.
func (s *Cluster) lookAround(ctx context.Context) {
	seen, told := map[string]sighting{}, ""
	for {
		next, err := s.look(ctx, seen)
		trouble := fmt.Sprint(err)
		if err != nil && ctx.Err() == nil && trouble != told {
			s.log.Warn("looking for other hosts, and taking what silent ones had, failed", "error", err)
		}
		told = trouble
		wait, began := max(time.Until(next), tick()/2), time.Now().Round(0)
		if !pause(ctx, wait, s.leases.look) {
			return
		}
		slept := time.Now().Round(0).Sub(began) > wait+renewEvery
		if slept { // other hosts may have renewed their leases meanwhile
			clear(seen)
		}
	}
}

// look looks once for each host whose lease is due. It returns when to look again.
func (s *Cluster) look(ctx context.Context, seen map[string]sighting) (next time.Time, failed error) {
	now, all := time.Now(), s.leases.anew.Swap(false)
	next = now.Add(s.pace())
	ids, err := s.known()
	if err != nil {
		return next, err
	}
	here, alone := false, true
	for _, host := range ids {
		if host == s.Host.ID {
			here = true
			continue
		}
		g := seen[host]
		if all || !now.Before(g.Due) {
			failed = errors.Join(failed, s.call(ctx, host, &g))
			seen[host] = g
		}
		if alone = alone && g.silent(); g.Due.Before(next) {
			next = g.Due
		}
	}
	_ = durable.WriteJSON(durable.Replace, s.seenFile(), seen) // a view
	s.leases.alone.Store(alone)
	if !here {
		if err := s.ask(ctx, asked{Came: s.Host.ID}); err != nil {
			return next, err
		}
	}
	lives, err := s.Lives()
	if err != nil {
		return next, err
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, k := range rand.Perm(len(lives)) { // hosts that stand by together share the lives
		life := lives[k]
		g, known := seen[life.Host.ID]
		left := known && g.silent()
		free := left || life.Host.ID == s.Host.ID
		if life.Parent != "" || !free {
			continue
		}
		if !s.standing.due(life.Self, g.N) {
			continue
		}
		if left && g.Due.Before(now.Add(forgetAfter)) { // nobody has looked just now, and it may be back
			err := s.sight(ctx, life.Host.ID, &g)
			seen[life.Host.ID], failed = g, errors.Join(failed, err)
			if err != nil || !g.silent() {
				continue
			}
		}
		group.Go(func() error { return s.takeOver(ctx, life, g.N) })
	}
	return next, errors.Join(failed, group.Wait())
}

// takeOver runs a life of this host, or of a silent or drained one, unless somebody has stopped it.
func (s *Cluster) takeOver(ctx context.Context, life Life, seen int) error {
	id := s.id(life)
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
		if home.IsElsewhere(err) {
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
	for tried := map[string]bool{}; pause(ctx, aloneEvery, nil); {
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
			if err := s.opened(id); err != nil && !home.IsElsewhere(err) {
				s.log.Warn("an identity is not shared", "identity", id.Name, "error", err)
			}
		}
	}
}
