package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/chat"
	"lethe/internal/secret"
)

// Message is one message of the other side on its way into a room. inbox.jsonl keeps it as JSON, without its text.
type Message struct {
	// ID names the message on the other side, for ever: a repeated delivery has
	// the same one.
	ID string `json:"id"`
	// Peer is the Key of the peer that it came from, which hears the answers.
	// Empty for a bridge that only takes in.
	Peer string    `json:"peer,omitempty"`
	Room string    `json:"room"`
	User string    `json:"user"` // for the tag; a name that is not valid goes through chat.CleanName
	At   time.Time `json:"at"`   // for the tag
	Text string    `json:"-"`    // a blank one is no line
	// Note is the bridge's own, JSON, small: it comes back in an Origin.
	Note json.RawMessage `json:"note,omitempty"`
}

// Origin is a line that this bridge posted. Of a line that is about to be posted, From and To are 0.
type Origin struct {
	Message        // without its Text
	Hash    string `json:"hash"` // chat.Hash of the line
	// From and To are the bytes of the room that the line had when it was posted.
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

const (
	// maxWaiting bounds the lines that wait in an inbox.
	maxWaiting = 10_000
	// Lines that wait are tried again every retryEvery.
	retryEvery = 5 * time.Second
)

// The order of writing on the way in: the messages as lines, with inode and size of their
// rooms → the lines in their rooms → that they are there.

// Taken returns the line that a message has become, without From and To while it waits for its room. known is false for
// a message that was never taken, or whose ID is too old to be remembered. Of a line older than the newest 1000, the
// Origin is empty.
func (b *Bridge) Taken(id string) (o Origin, known bool) {
	b.io.Lock()
	defer b.io.Unlock()
	if t := b.inbox.byID[id]; t != nil {
		return t.origin(), true
	}
	for _, said := range slices.Backward(b.inbox.said) {
		if said.ID == id {
			return said, true
		}
	}
	return Origin{}, b.inbox.has(id)
}

// Accept takes messages in, each ID once: it passes over messages that it took before, and repetitions in msgs. Of a
// blank message it keeps only the ID. When it returns nil, all messages are durable: in their rooms, or in the inbox
// where their room or their peer's file cannot be read or written. From there Run posts them in order. Only then may
// the bridge acknowledge them to the other side.
//
// After an error the bridge may acknowledge no message of msgs; taking them again is always right. An error comes when
// the disk takes nothing, when 10,000 lines wait already, and for malformed messages: without ID, or with a Room, Peer
// or Note that is not valid.
//
// A peer that is new is made known at its room's end before the message is posted, so that its
// Deliver can start later and misses no answer.
func (b *Bridge) Accept(msgs ...Message) error {
	for _, m := range msgs {
		if err := m.check(); err != nil {
			return err
		}
	}
	b.io.Lock()
	defer b.io.Unlock()
	if err := b.take(msgs); err != nil {
		return fmt.Errorf("accept messages: %w", err)
	}
	b.postWaiting()
	return nil
}

func (m Message) check() error {
	switch {
	case m.ID == "" || !utf8.ValidString(m.ID):
		return fmt.Errorf("accept message: %q is not an ID", m.ID)
	case !chat.ValidRoom(m.Room):
		return fmt.Errorf("accept message %s: %q is not a room's name", m.ID, m.Room)
	case m.Peer != "" && !validKey(m.Peer):
		return fmt.Errorf("accept message %s: %q is not a peer's key", m.ID, m.Peer)
	case len(m.Note) > 0 && !json.Valid(m.Note):
		return fmt.Errorf("accept message %s: its note is not JSON", m.ID)
	}
	return nil
}

// take writes down the messages of msgs that were not taken before. The caller holds io.
func (b *Bridge) take(msgs []Message) error {
	if b.closed {
		return errors.New("the bridge is closed")
	}
	if n := len(b.inbox.waiting); n > 0 && n+len(msgs) > maxWaiting {
		return fmt.Errorf("the inbox is full: %d lines wait for their rooms", n)
	}
	rec, err := b.intent(msgs)
	if err != nil || len(rec.Take)+len(rec.Seen) == 0 {
		return err
	}
	if err := b.inbox.write(rec); err != nil {
		return err
	}
	b.inbox.apply(rec)
	return nil
}

// intent makes the record of the messages of msgs that were not taken before. Where a message is in msgs twice, apply
// passes the second over.
func (b *Bridge) intent(msgs []Message) (rec record, err error) {
	lines := map[lineKey]bool{}
	for _, message := range msgs {
		if b.inbox.has(message.ID) {
			continue
		}
		if strings.TrimSpace(message.Text) == "" {
			rec.Seen = append(rec.Seen, idHash(message.ID))
			continue
		}
		if year := message.At.UTC().Year(); year <= 1 || year > 9998 { // no tag can hold it
			message.At = time.Now()
		}
		message.User, message.At = chat.CleanName(message.User), message.At.UTC().Round(0)
		it := taken{Message: message}
		if err := b.unique(&it, lines); err != nil {
			return record{}, err
		}
		// Of a room that cannot be looked at, all is searched before the line is posted.
		it.Mark, _ = chat.End(b.cfg.Shared.Room(message.Room))
		rec.Take = append(rec.Take, it)
	}
	return rec, nil
}

// unique formats the line of a message. chat.Post takes two equal lines for one, so the tag of a line that would equal
// another is a second on.
func (b *Bridge) unique(it *taken, lines map[lineKey]bool) error {
	for at := it.At; ; at = at.Add(time.Second) {
		raw, err := chat.Format(false, it.User, at, secret.Text(it.Text))
		if err != nil {
			return err
		}
		it.Line = strings.TrimSuffix(string(raw), "\n")
		here := it.origin().key()
		if _, said := b.inbox.lines[here]; !said && !lines[here] {
			lines[here] = true
			return nil
		}
	}
}

// retry posts what could not be posted before.
func (b *Bridge) retry() {
	b.io.Lock()
	defer b.io.Unlock()
	if !b.closed {
		b.postWaiting()
	}
}

// postWaiting posts the lines that wait and records that they are posted. Run tries again after an error: the lines are
// safe in the inbox. The caller holds io.
func (b *Bridge) postWaiting() {
	posted, err := b.post(b.inbox.waiting)
	if len(posted) > 0 {
		// If it fails, the next write says it, too; after a crash before that, Post finds the lines.
		err = errors.Join(err, b.inbox.write(record{Done: posted}))
		b.inbox.finish(posted)
	}
	b.LocalTrouble("post what came in", err)
}

// post posts lines in order. Where a room or the file of a peer fails, the later lines of the room or the peer wait.
func (b *Bridge) post(waiting []*taken) (posted []done, err error) {
	stuckRooms, stuckPeers := map[string]bool{}, map[string]bool{}
	for _, it := range waiting {
		if stuckRooms[it.Room] || stuckPeers[it.Peer] {
			continue
		}
		one := done{ID: it.ID}
		perr := b.ensurePeer(it.Peer, it.Room)
		if perr != nil {
			stuckPeers[it.Peer] = true
		} else {
			one.From, one.To, perr = b.cfg.Shared.Post(it.Room, []byte(it.Line+"\n"), it.Mark)
			stuckRooms[it.Room] = perr != nil
		}
		if perr != nil {
			err = errors.Join(err, fmt.Errorf("post message %s: %w", it.ID, perr))
			continue
		}
		posted = append(posted, one)
	}
	return posted, err
}

// origin returns the message that this bridge made a line of a room of, if the line is its own.
func (b *Bridge) origin(room string, l chat.Line) (o Origin, ours bool) {
	b.io.Lock()
	defer b.io.Unlock()
	o, ours = b.inbox.lines[lineKey{room, l.Hash}]
	return o, ours
}
