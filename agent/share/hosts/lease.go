package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/rooms"
	"lethe/agent/share/streams"
	"lethe/internal/buckets"
	"lethe/internal/durable"
	"lethe/internal/seal"
)

// Each host creates the next text of a stream of its own to say that it is there. No clock is compared with another
// one's: a host is silent when its stream has not grown for so long by the clock of the host that looks.
var (
	renewEvery = 24 * time.Second
	aloneEvery = 2 * time.Minute // while no other host is there
	silentFor  = 38 * time.Second
)

// tick is how often a host looks for a lease that is due.
func tick() time.Duration { return renewEvery / 12 }

// forgetEvery is how many leases a host leaves behind: to forget some costs a listing.
const forgetEvery = 50

// forgetAfter is the silence after which a host is not listed any more.
const forgetAfter = 30 * 24 * time.Hour

func leaseStream(host string) string { return "hosts/" + host }

// lease is a host's own report.
type lease struct {
	Label string        `json:"label"`
	At    time.Time     `json:"at"`             // by its own clock: for people
	Every time.Duration `json:"every_ns"`       // when it says so again
	Left  bool          `json:"left,omitempty"` // it was drained: hosts that stand by take its lives

	Asked buckets.Asked `json:"asked,omitzero"` // by the process that serves
}

// leases has what a host knows of its lease, and of others.
type leases struct {
	space durable.Space // that identities need to record something
	alone atomic.Bool   // no other host says that it is there
	anew  atomic.Bool   // the next look is for all hosts
	mute  atomic.Bool   // this host could not say that it is there, and people know
	lasts atomic.Bool   // this process renews the lease, and is none that looks once

	renew, look chan struct{} // have keepLease and lookAround go on at once

	mu      sync.Mutex // guards renewed, and is held while a lease is renewed
	renewed int        // the number of the newest lease of this host; 0: it is not known
}

// pace is the time between two renewals of the lease, and the most between looks for other hosts.
func (s *Cluster) pace() time.Duration {
	if s.leases.alone.Load() {
		return aloneEvery
	}
	return renewEvery
}

func wake(who chan<- struct{}) {
	select {
	case who <- struct{}{}:
	default: // it wakes already
	}
}

// keepLease renews the lease of this host until ctx ends.
func (s *Cluster) keepLease(ctx context.Context) {
	for every := time.Duration(0); pause(ctx, every, s.leases.renew); {
		every = s.renews(ctx)
	}
}

// attend renews the lease while no process of this host serves, until ctx ends, or a process that serves was drained.
func (s *Cluster) attend(ctx context.Context) error {
	was, due := ReadStatus(s.home.Dir).Left, time.Time{}
	for every := time.Duration(0); pause(ctx, every, nil); every = tick() {
		served := s.served() // if not, the process that served has told why
		left := ReadStatus(s.home.Dir).Left
		if left && !was {
			return ErrDrained
		}
		if was = left; !served && time.Now().After(due) {
			due = time.Now().Add(s.renews(ctx))
		}
	}
	return nil
}

// left says that this host was drained.
func (s *Cluster) left(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
	defer cancel()
	err := s.say(ctx, renewEvery, true)
	if err == nil {
		err = s.ask(ctx, asked{Left: s.Host.ID})
	}
	if err != nil {
		s.log.Warn("other hosts take what was here when this one is silent", "error", err)
	}
}

// pause waits, or until it is woken; it is false when ctx ends.
func pause(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-woken:
	case <-time.After(d):
	}
	return true
}

// renews says that this host is there, and returns when to do so again: soon, if it could not.
func (s *Cluster) renews(ctx context.Context) time.Duration {
	every := s.pace()
	s.leases.lasts.Store(true)
	err := s.say(ctx, every, false)
	if known := s.leases.mute.Swap(err != nil); err != nil && ctx.Err() == nil {
		if !known {
			s.log.Warn("this host could not say that it is there", "error", fmt.Errorf("renew the lease: %w", err))
		}
		s.counts.change(func(now *Status) { now.reached(err, nil) })
		every = renewEvery / 4
	}
	return every
}

// say creates the next lease of this host, and removes old ones. On a full disk it fails: others take the lives, which
// can record nothing here.
func (s *Cluster) say(ctx context.Context, every time.Duration, left bool) error {
	l := &s.leases
	if err := l.space.Look(); err != nil && !left {
		return err
	}
	said := lease{Label: s.Host.Label, At: time.Now().UTC(), Every: every, Left: left}
	if l.lasts.Load() {
		said.Asked = s.counts.asked(s.streams.Store)
	}
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	stream, n := leaseStream(s.Host.ID), l.renewed
	l.renewed = 0
	if n == 0 {
		n, err = s.streams.Newest(ctx, stream, 0)
		if err == nil && n > 0 {
			_, err = s.streams.Get(ctx, stream, n) // or others could not read what this host says
		}
		if n == 0 || errors.Is(err, seal.ErrKey) { // it may have said that with a key of its own making
			if newest, _ := s.streams.Newest(ctx, rooms.Stream, 0); newest > 0 {
				_, err = s.streams.Get(ctx, rooms.Stream, newest)
			}
		}
		if err != nil && !streams.Unreadable(err) { // what is damaged is behind the next one
			return err
		}
	}
	if err := s.streams.Create(ctx, stream, n+1, text); err != nil {
		return err
	}
	if l.renewed = n + 1; n%forgetEvery == forgetEvery-1 { // not those that others may be about to read
		_ = s.streams.Delete(ctx, stream, n-forgetEvery/2, func(int) bool { return false }) // the next time does it, too
	}
	s.counts.change(func(now *Status) { now.Left = left; now.reached(nil, &now.Renewed) })
	return nil
}

// sighting is the newest lease of a host that was seen. Its host is silent when the patience is over, and has left when
// it says so.
type sighting struct {
	Lease  lease     `json:"lease"`
	N      int       `json:"n"`                // of the lease; 0: the host has none
	Since  time.Time `json:"since"`            // when it was first seen, or Called; zero: nobody has looked
	Called int       `json:"called,omitempty"` // the lease at which the host was told that this one came
	Due    time.Time `json:"due"`              // when to look again
}

func (g *sighting) patience() time.Duration {
	if g.Called == g.N {
		return silentFor - 2*tick()
	}
	return max(silentFor, g.Lease.Every+silentFor-renewEvery)
}

// next is a moment before the next lease is to come.
func (g *sighting) next() time.Time { return g.Since.Add(g.Lease.Every - tick()) }

func (g *sighting) silent() bool { return g.Lease.Left || time.Since(g.Since) > g.patience() }

// seenFile keeps sightings: what starts beside the process that serves need not begin to wait anew.
func (s *Cluster) seenFile() string { return filepath.Join(s.home.Dir, "share", "seen.json") }

// sight looks for a host again: at the number behind the lease that was seen, or where the host is silent or new, at its
// newest one, which costs a listing. So nobody is found silent whose lease was forgotten meanwhile.
func (s *Cluster) sight(ctx context.Context, host string, g *sighting) (err error) {
	stream, n := leaseStream(host), g.N+1
	if g.silent() {
		if n, err = s.streams.Newest(ctx, stream, 0); err != nil {
			return err
		}
	}
	if g.Since.IsZero() {
		g.Since = time.Now()
	}
	for wasDue := g.Due.After(g.next()); n > g.N; n++ {
		text, err := s.streams.Get(ctx, stream, n)
		if n == g.N+1 && share.IsMissing(err) {
			break
		}
		isDamaged := streams.Unreadable(err) && !share.IsMissing(err)
		if err == nil || isDamaged {
			g.N, g.Since, g.Lease = n, time.Now(), lease{Label: g.Lease.Label, Every: aloneEvery}
		}
		if err == nil {
			err = json.Unmarshal(text, &g.Lease)
		}
		if err != nil && !isDamaged { // a damaged one says that its host was there, and hides no later one
			return err
		}
		if wasDue { // it was not there a moment ago
			break
		}
	}
	if g.Lease.Every < aloneEvery {
		g.Called = 0
	}
	g.Due = time.Now().Add(tick())
	switch {
	case g.silent(): // who takes something from it, looks before
		g.Due = g.Due.Add(forgetAfter)
	case g.next().After(g.Due) && g.Called != g.N:
		g.Due = g.next()
	}
	return nil
}

// call is sight of a host that is to say soon whether it is there: one that was alone is told that this one came, once.
func (s *Cluster) call(ctx context.Context, host string, g *sighting) error {
	err := s.sight(ctx, host, g)
	if err != nil {
		g.Since = time.Now() // a store that is away proves no silence
		g.Due = g.Since.Add(renewEvery / 4)
	}
	isFast := g.Lease.Every < aloneEvery || g.Called > 0
	if err != nil || isFast || g.silent() {
		return err
	}
	err = s.say(ctx, renewEvery, ReadStatus(s.home.Dir).Left) // who is told looks for it, once
	if err == nil {
		err = s.ask(ctx, asked{Came: s.Host.ID})
	}
	if err == nil {
		g.Called, g.Since, g.Due = g.N, time.Now(), time.Time{}
	}
	return err
}

// silent reports whether a host has ceased to say that it is there. It looks until the host says so, or if it waits,
// until ctx ends. A host's patience began when a process that serves here saw the same lease.
func (s *Cluster) silent(ctx context.Context, host string, waits bool) bool {
	var all map[string]sighting
	_ = durable.ReadJSON(s.seenFile(), 1<<20, &all)
	g := all[host]
	for first := -1; ; {
		isOver := g.silent()
		err := s.call(ctx, host, &g)
		if first < 0 && !g.silent() {
			s.log.Warn("looking whether a host is there", "host", g.Lease.Label, "for", g.patience())
		}
		if first < 0 {
			first = g.N
		}
		isSilent := (isOver || g.Lease.Left) && err == nil && g.silent()
		isThere := err != nil || g.N != first
		if isSilent || isThere && !waits || !pause(ctx, tick(), nil) {
			return isSilent
		}
	}
}

// Last returns when a host last said that it is there, by its own clock, and whether it is silent. The first call
// believes that clock, later ones this host's.
func (s *Cluster) Last(ctx context.Context, host string) (said time.Time, silent bool, err error) {
	if err := s.connect(); err != nil {
		return said, false, err
	}
	was, _ := s.sightings.Load(host)
	g, _ := was.(sighting)
	isFirst := g.Since.IsZero()
	if err := s.sight(ctx, host, &g); err != nil {
		return said, false, err
	}
	if isFirst && g.N > 0 && g.Lease.At.Before(g.Since) {
		g.Since = g.Lease.At
	}
	s.sightings.Store(host, g)
	return g.Lease.At, g.silent(), nil
}

// Seen is a host, and when it last said that it is there.
type Seen struct {
	streams.Host
	At    time.Time `json:"at"` // by its own clock
	Here  bool      `json:"here"`
	Left  bool      `json:"left,omitempty"`  // it was drained
	Away  bool      `json:"away,omitempty"`  // it has not said so lately
	Alike bool      `json:"alike,omitempty"` // another one has the same label
	Lives []Life    `json:"lives"`

	Asked buckets.Asked `json:"asked,omitzero"` // as it told At
}

// Hosts returns the hosts of the home that were there in the last 30 days, and what each has.
func (s *Cluster) Hosts(ctx context.Context) (out []Seen, err error) {
	if err := s.Sync(ctx); err != nil {
		return nil, err
	}
	all, err := s.Lives()
	if err != nil {
		return nil, err
	}
	ids, err := s.known()
	for _, id := range ids {
		var g sighting
		if err = errors.Join(err, s.sight(ctx, id, &g)); time.Since(g.Lease.At) > forgetAfter {
			continue
		}
		said := g.Lease
		h := Seen{Host: streams.Host{ID: id, Label: said.Label}, At: said.At, Here: id == s.Host.ID, Left: said.Left}
		g.Since = said.At
		h.Away, h.Asked = g.silent(), said.Asked
		for _, life := range all {
			if life.Host.ID == id {
				h.Lives = append(h.Lives, life)
			}
		}
		for k := range out {
			if out[k].Label == h.Label {
				out[k].Alike, h.Alike = true, true
			}
		}
		out = append(out, h)
	}
	return out, err
}
