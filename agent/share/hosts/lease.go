package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/internal/durable"
)

// Each host creates the next text of a stream of its own to say that it is there. No clock is compared with another
// one's: a host is silent when its stream has not grown for so long by the clock of the host that looks.
var (
	renewEvery = 10 * time.Second
	aloneEvery = time.Minute // while no other host is there
	silentFor  = 30 * time.Second
)

// forgetAfter is the silence after which a host leaves the roster.
const forgetAfter = 30 * 24 * time.Hour

func leaseStream(host string) string { return "hosts/" + host }

// lease is a host's own report.
type lease struct {
	Label string        `json:"label"`
	At    time.Time     `json:"at"`             // by its own clock: for people
	Every time.Duration `json:"every_ns"`       // when it says so again; it is silent after three times that
	Left  bool          `json:"left,omitempty"` // it was drained: hosts that stand by take its lives
}

// leases say that this host is there, and look whether others are.
type leases struct {
	home    string
	host    streams.Host
	streams *streams.Streams
	counts  *counts
	log     *slog.Logger
	space   durable.Space // that identities need to record something
	alone   atomic.Bool   // no other host says that it is there

	mu      sync.Mutex // guards renewed, and is held while a lease is renewed
	renewed int        // the number of the newest lease of this host; 0: it is not known
}

// pace is the time between two renewals of the lease, and looks for other hosts.
func (l *leases) pace() time.Duration {
	if l.alone.Load() {
		return aloneEvery
	}
	return renewEvery
}

// keepLease renews the lease of this host until ctx ends.
func (l *leases) keepLease(ctx context.Context) {
	for {
		every := l.pace()
		l.renews(ctx, every)
		if !pause(ctx, every) {
			return
		}
	}
}

// attend renews the lease while no process of this host serves, until ctx ends, or a process that serves was drained.
func (s *Cluster) attend(ctx context.Context) error {
	for was := ReadStatus(s.home.Dir).Left; ; {
		served := s.served() // if not, the process that served has told why
		left := ReadStatus(s.home.Dir).Left
		if left && !was {
			return ErrDrained
		}
		if was = left; !served {
			s.leases.renews(ctx, renewEvery)
		}
		if !pause(ctx, renewEvery) {
			return nil
		}
	}
}

// left says that this host was drained.
func (l *leases) left(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
	defer cancel()
	if err := l.renew(ctx, renewEvery, true); err != nil {
		l.log.Warn("other hosts take what was here when this one is silent", "error", err)
	}
}

// pause waits; it is false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (l *leases) renews(ctx context.Context, every time.Duration) {
	if err := l.renew(ctx, every, false); err != nil && ctx.Err() == nil {
		l.log.Warn("this host could not say that it is there", "error", fmt.Errorf("renew the lease: %w", err))
		l.counts.change(func(now *Status) { now.reached(err, nil) })
	}
}

// introduce says that this host is there if it never has: a command that takes a life may end before attend does.
func (l *leases) introduce(ctx context.Context) {
	if n, err := l.streams.Newest(ctx, leaseStream(l.host.ID), 0); err == nil && n == 0 {
		l.renews(ctx, renewEvery)
	}
}

// renew creates the next lease of this host, and removes the one before. On a full disk it fails: others take the lives,
// which can record nothing here.
func (l *leases) renew(ctx context.Context, every time.Duration, left bool) error {
	if err := l.space.Look(); err != nil && !left {
		return err
	}
	text, err := json.Marshal(lease{l.host.Label, time.Now().UTC(), every, left})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	stream, n := leaseStream(l.host.ID), l.renewed
	l.renewed = 0
	if n == 0 {
		n, err = l.streams.Newest(ctx, stream, 0)
		if err == nil && n > 0 {
			_, err = l.streams.Get(ctx, stream, n) // or others could not read what this host says
		}
		if err != nil {
			return err
		}
	}
	if err := l.streams.Create(ctx, stream, n+1, text); err != nil {
		return err
	}
	if l.renewed = n + 1; n > 0 {
		_ = l.streams.Delete(ctx, stream, n, func(int) bool { return false }) // the next one deletes it, too
	}
	l.counts.change(func(now *Status) { now.Left = left; now.reached(nil, &now.Renewed) })
	return nil
}

// sighting is the newest lease of a host that was seen.
type sighting struct {
	lease
	n     int       // its number; 0: the host has no lease
	since time.Time // when it was first seen; zero: nobody has looked
}

func (seen sighting) patience() time.Duration { return max(silentFor, 3*seen.Every) }

func (seen sighting) silent() bool { return seen.Left || time.Since(seen.since) > seen.patience() }

// kept is a sighting in a file: what starts beside the process that serves need not begin to wait anew.
type kept struct {
	Lease lease     `json:"lease"`
	N     int       `json:"n"`
	Since time.Time `json:"since"`
}

func (l *leases) seenFile() string { return filepath.Join(l.home, "share", "seen.json") }

// keep writes which hosts were seen.
func (l *leases) keep(seen map[string]sighting) {
	all := map[string]kept{}
	for host, g := range seen {
		all[host] = kept{g.lease, g.n, g.since}
	}
	_ = durable.WriteJSON(durable.Replace, l.seenFile(), all) // a view
}

// seen returns the newest sighting of a host that was kept, or the zero one.
func (l *leases) seen(host string) sighting {
	var all map[string]kept
	_ = durable.ReadJSON(l.seenFile(), 1<<20, &all)
	was := all[host]
	return sighting{was.Lease, was.N, was.Since}
}

// sight looks for a host again.
func (l *leases) sight(ctx context.Context, host string, was sighting) (sighting, error) {
	for stream := leaseStream(host); ; {
		n, err := l.streams.Newest(ctx, stream, 0)
		if err != nil {
			return was, err
		}
		looked := !was.since.IsZero()
		if looked && n == was.n {
			return was, nil
		}
		now := sighting{n: n, since: time.Now()}
		if n == 0 {
			return now, nil
		}
		text, err := l.streams.Get(ctx, stream, n)
		if errors.Is(err, share.ErrMissing) { // it has said so again
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, &now.lease)
		}
		return now, err
	}
}

// silent reports whether a host has ceased to say that it is there. It looks until the host says so, or its patience is
// over, which began when a process that serves here saw the same lease.
func (l *leases) silent(ctx context.Context, host string) bool {
	seen, err := l.sight(ctx, host, l.seen(host))
	if err == nil && !seen.silent() {
		l.log.Warn("looking whether a host is there", "host", seen.Label, "for", seen.patience())
	}
	for first := seen.n; err == nil && !seen.silent(); {
		if !pause(ctx, renewEvery/5) {
			return false
		}
		if seen, err = l.sight(ctx, host, seen); seen.n != first {
			return seen.Left
		}
	}
	return err == nil
}

// Last returns when a host last said that it is there, by its own clock, and whether it is silent. The first call
// believes that clock, later ones this host's.
func (s *Cluster) Last(ctx context.Context, host string) (said time.Time, silent bool, err error) {
	if err := s.connect(); err != nil {
		return said, false, err
	}
	s.mu.Lock()
	was := s.sightings[host]
	s.mu.Unlock()
	isFirst := was.since.IsZero()
	seen, err := s.leases.sight(ctx, host, was)
	if err != nil {
		return said, false, err
	}
	if isFirst && seen.n > 0 && seen.At.Before(seen.since) {
		seen.since = seen.At
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sightings == nil {
		s.sightings = map[string]sighting{}
	}
	s.sightings[host] = seen
	return seen.At, seen.silent(), nil
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
		seen, serr := s.leases.sight(ctx, id, sighting{})
		if err = errors.Join(err, serr); time.Since(seen.At) > forgetAfter {
			continue
		}
		h := Seen{Host: streams.Host{ID: id, Label: seen.Label}, At: seen.At, Here: id == s.Host.ID, Left: seen.Left}
		h.Away = seen.Left || time.Since(seen.At) > seen.patience()
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
