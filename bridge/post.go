package bridge

import (
	"errors"
	"fmt"
	"time"

	"lethe/chat"
)

const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// hold is how long something that failed is left alone.
type hold struct {
	failures int
	until    time.Time
}

// inboxTrouble is what the log calls trouble with posting.
const inboxTrouble = "inbox"

// journalHold is the journal's place among the rooms in inbox.holds.
const journalHold = ""

// settle posts the lines whose turn has come and records that they are posted.
// What fails is tried again with back-off, each room by itself: the lines are safe
// in the inbox. The caller holds io.
func (b *Bridge) settle(now time.Time) {
	in := b.inbox
	in.mu.Lock()
	in.settled = now
	in.ready = append(in.ready, in.flow.due(now)...)
	ready := in.ready
	in.mu.Unlock()

	posted, err := b.post(now, ready)
	err = errors.Join(err, in.record(now, posted))
	if err != nil || len(in.holds) == 0 {
		b.vital.local(inboxTrouble, err)
	}
}

// peerHold is a peer's place among the rooms in inbox.holds.
func peerHold(key string) string { return "peer " + key }

// post posts lines in order. Where one fails, the later ones of its room wait; if it is
// its peer's file that fails, only those of that peer, and what the same user
// says in the room by another one. posted also has those that were dropped.
func (b *Bridge) post(now time.Time, ready []*item) (posted []done, err error) {
	in := b.inbox
	type speaker struct {
		key, room string
		command   bool
	}
	held := map[speaker]bool{}
	for _, it := range ready {
		who := speaker{it.Key, it.Room, it.command}
		if in.held(now, it.Room) {
			continue
		}
		if held[who] || in.held(now, peerHold(it.Peer)) {
			held[who] = true
			continue
		}
		d, perr := b.postOne(now, it)
		if errors.As(perr, new(peerError)) {
			held[who] = true
			in.tried(now, peerHold(it.Peer), perr)
		} else {
			in.tried(now, peerHold(it.Peer), nil)
			in.tried(now, it.Room, perr)
		}
		if perr != nil {
			err = errors.Join(err, fmt.Errorf("post message %s: %w", it.ID, perr))
			continue
		}
		posted = append(posted, d)
	}
	return posted, err
}

// judgedFor is how long Accept's caller is relied on for who may speak: for a line
// that goes straight into its room.
const judgedFor = time.Second

// postOne posts a line, or drops it where its user may not speak any more.
func (b *Bridge) postOne(now time.Time, it *item) (d done, err error) {
	if b.cfg.Allowed != nil && time.Since(it.judged) >= judgedFor {
		allowed, err := b.cfg.Allowed(it.message())
		if err != nil {
			return d, err
		}
		if !allowed {
			if b.inbox.denied.note(now, it.Key) {
				b.log.Warn("what somebody said is dropped: it waited, and they may not speak any more",
					"user", it.User, "key", it.Key, "room", it.Room)
			}
			return done{ID: it.ID, Dropped: true}, nil
		}
	}
	if it.unknown {
		if err := b.know(it.Peer, it.Room); err != nil {
			return d, err
		}
		it.unknown = false
	}
	d.ID = it.ID
	d.From, d.To, err = chat.Post(chat.Path(b.cfg.Home, it.Room), []byte(it.Line+"\n"), it.Inode, it.From)
	return d, err
}

func (in *inbox) held(now time.Time, what string) bool {
	return now.Before(in.holds[what].until)
}

func (in *inbox) tried(now time.Time, what string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err == nil {
		delete(in.holds, what)
		return
	}
	h := in.holds[what]
	h.until = now.Add(min(maxPause, firstPause<<min(h.failures, 10)))
	h.failures++
	in.holds[what] = h
}

// record records what was posted now, and earlier in vain. In memory it counts
// at once; on disk, a crash before it only makes Post look for the lines again.
func (in *inbox) record(now time.Time, posted []done) (err error) {
	in.unsaid = append(in.unsaid, posted...)
	if len(in.unsaid) > 0 && (len(posted) > 0 || !in.held(now, journalHold)) {
		err = in.journal.write(in.ledger, record{Done: in.unsaid})
		in.tried(now, journalHold, err)
		if err == nil {
			in.unsaid = nil
		}
	}
	if len(posted) > 0 {
		in.finish(posted)
	}
	return err
}

// finish counts lines as posted in memory.
func (in *inbox) finish(posted []done) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, d := range posted {
		in.bytes -= len(in.ledger.byID[d.ID].Line)
	}
	in.ledger.finish(posted)
	var left []*item
	for _, it := range in.ready {
		if in.ledger.byID[it.ID] == it {
			left = append(left, it)
		}
	}
	in.ready = left
	close(in.space)
	in.space = make(chan struct{})
}

// next is when settle has something to do again; zero for not by itself.
func (in *inbox) next() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	next := in.flow.next()
	for _, h := range in.holds {
		// One that is over and still there waits behind another.
		if h.until.After(in.settled) && (next.IsZero() || h.until.Before(next)) {
			next = h.until
		}
	}
	return next
}
