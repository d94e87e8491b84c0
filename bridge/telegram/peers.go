package telegram

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
)

// delivery is a Deliver under way.
type delivery struct {
	room   string
	cancel context.CancelFunc
	ended  chan struct{} // closed when Deliver has returned
}

func (d *delivery) stop() {
	d.cancel()
	<-d.ended
}

// changed says that the peers, or their rooms, may have changed.
func (s *session) changed() {
	select {
	case s.nudge <- nil:
	default: // deliver has yet to look, and will see it
	}
}

// settle waits until the peers of msgs are delivered from the rooms that msgs go
// to: an answer must not be in a room before its peer's place is.
func (s *session) settle(ctx context.Context, msgs []bridge.Message) error {
	moved := func(m bridge.Message) bool {
		room, known := s.voices.roomOf(m.Peer)
		return known && room != m.Room
	}
	if slices.ContainsFunc(msgs, moved) {
		return s.reconciled(ctx)
	}
	return nil
}

// reconciled waits until deliver has done what is wanted now.
func (s *session) reconciled(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case s.nudge <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deliver keeps one Deliver going for every peer, as people and routes come and
// go, until ctx ends.
func (s *session) deliver(ctx context.Context) error {
	scopes := []chat.Scope{{Dir: filepath.Join(s.cfg.Home, "bridges", Name), Names: []string{"people.json"}}}
	if f := s.cfg.SettingsFile; f != "" {
		scopes = append(scopes, chat.Scope{Dir: filepath.Dir(f), Names: []string{filepath.Base(f)}})
	}
	list, unwatch := s.cfg.Watcher.Subscribe(scopes...)
	defer unwatch()
	running := map[string]*delivery{}
	defer func() {
		var all sync.WaitGroup
		for _, d := range running {
			all.Go(d.stop)
		}
		all.Wait()
	}()
	var again <-chan time.Time
	if s.firstLook(ctx) {
		again = time.After(s.cfg.tune.missing)
	}
	for ctx.Err() == nil {
		var done chan struct{}
		select {
		case <-ctx.Done():
			return nil
		case <-list: // has a value at the start
		case done = <-s.nudge:
		case <-again:
		}
		more := false
		if done == nil {
			again, more = nil, s.refresh(0)
		}
		if s.reconcile(ctx, running) || more {
			again = time.After(s.cfg.tune.missing)
		}
		if done != nil {
			close(done)
		}
	}
	return nil
}

// reconcile makes running what is wanted. While nobody can tell what is wanted,
// everything stays as it is. It is to be called again soon if it says so.
func (s *session) reconcile(ctx context.Context, running map[string]*delivery) (again bool) {
	// Once, and first: a place that is made meanwhile is of somebody whom want may not
	// have, and is not to be forgotten for that.
	known, err := s.known()
	var want map[string]string
	if err == nil {
		want, err = s.wanted(known)
	}
	if errors.Is(err, access.ErrAway) {
		s.log.Debug("which chats hear which rooms stays as it is for now", "error", err)
		return true
	}
	s.hub.Hinder("tell which chats hear which rooms", err)
	if err != nil {
		return true
	}
	for key, d := range running {
		if room, ok := want[key]; room != d.room {
			d.stop()
			if !ok {
				delete(running, key)
			}
		}
	}
	var kept error
	for _, key := range known {
		if _, ok := want[key]; ok {
			continue
		}
		// Its place in the room goes too: what is said while nobody may hear it is
		// not told to who is let in again later.
		kept = errors.Join(kept, s.hub.Forget(key))
	}
	s.hub.Hinder("forget chats that are no longer listed", kept)
	for key, room := range want {
		p := bridge.Peer{Key: key, Room: room}
		d := running[key]
		switch {
		case d != nil && d.room == room:
			continue
		case d == nil:
			s.welcome(key, room)
		}
		if err := s.hub.Move(p); err != nil { // Deliver does it too, a little later
			s.log.Warn("a chat could not be moved to its room", "chat", key, "room", room, "error", err)
		}
		running[key] = s.begin(ctx, p)
	}
	s.voices.setPeers(want)
	return kept != nil
}

// begin starts to deliver to a peer. A Deliver that fails is begun again.
func (s *session) begin(ctx context.Context, p bridge.Peer) *delivery {
	ctx, cancel := context.WithCancel(ctx)
	d := &delivery{room: p.Room, cancel: cancel, ended: make(chan struct{})}
	go func() { // ends with stop, which deliver calls for each
		defer close(d.ended)
		for ctx.Err() == nil {
			err := s.hub.Deliver(ctx, p, (*transport)(s))
			if ctx.Err() != nil {
				return
			}
			s.log.Warn("lines do not go out to a chat; this is tried again", "chat", p.Key, "room", p.Room, "error", err)
			sleep(ctx, s.cfg.tune.again)
		}
	}()
	return d
}

// welcome tells a chat that asked and was let in.
func (s *session) welcome(key, room string) {
	id, topic, _ := parseKey(key)
	if topic != 0 || !s.memory.hasAsked(id) {
		return
	}
	if _, err := s.memory.admitted(id); err != nil {
		s.log.Warn("a chat was let in and is not told", "chat", id, "error", err)
		return
	}
	chatID, _ := s.chatOf(bridge.Peer{Key: key})
	s.aside(aside{chat: chatID, text: "You have been let in.\n\n" + s.introduction(room)})
}
