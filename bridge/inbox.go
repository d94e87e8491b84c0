package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"lethe/chat"
	"lethe/internal/secret"
)

// Message is one message of the other side on its way into a room.
type Message struct {
	// ID names the message on the other side, for ever: a repeated delivery has
	// the same one.
	ID string
	// Peer is the Key of the peer that it came from, which hears the answers.
	// Empty for a transport that only takes in.
	Peer string
	Room string
	User string    // for the tag; a name that is not valid goes through chat.CleanName
	Key  string    // the person that it counts for in the flood limit; empty: no limit
	At   time.Time // for the tag and the flood limit
	Text string    // a blank one is passed over
	// Note is the transport's own, JSON, small: it comes back in an Origin.
	Note json.RawMessage
}

// Origin is a line that this bridge posted.
type Origin struct {
	Message        // without its Text
	From, To int64 // the bytes of the room that the line had when it was posted
}

const (
	// maxWaiting and maxWaitingBytes bound the lines that wait in an inbox.
	maxWaiting      = 10_000
	maxWaitingBytes = 64 << 20

	firstPause = time.Second
	maxPause   = time.Minute
)

// inbox is the way in. Its order of writing: the messages as lines, with inode
// and size of their rooms → the lines in their rooms → that they are there.
type inbox struct {
	home  string
	log   *slog.Logger
	waits chan struct{} // capacity 1: Run has something new to wait for

	// io is held over every write of the journal and of rooms, and is taken before mu.
	io         sync.Mutex
	journal    *journal
	speakers   map[speaker]allowance
	unrecorded []done // posted, and not yet recorded as such
	failures   int    // of settle in a row
	until      time.Time
	closed     bool

	mu     sync.Mutex // held for instants
	ledger *ledger
}

func openInbox(home, path string, log *slog.Logger) (*inbox, error) {
	j, l, err := openJournal(path, log)
	if err != nil {
		return nil, err
	}
	return &inbox{
		home: home, log: log, waits: make(chan struct{}, 1), journal: j, ledger: l, speakers: map[speaker]allowance{},
	}, nil
}

// Position is what the newest successful Accept was given, also after a restart;
// empty at first.
func (b *Bridge) Position() string {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	return b.inbox.ledger.position
}

// Accept takes messages in, each ID once: those taken before, blank ones and repetitions in
// msgs are passed over. When it returns nil, all of them are durable: in their rooms, or in
// the inbox where their room or their peer's file cannot be read or written, from where Run
// posts them in order. Only then may the transport acknowledge them. position is the
// transport's own word for how far it has acknowledged, stored in the same write; see Position.
//
// Refused are the lines of a person beyond 60 a minute, by their times; what Accept returns
// says which persons to tell that, at most once a minute each.
//
// After an error none of msgs may be acknowledged; taking them again is always right. It
// comes when the disk takes nothing, when 10,000 lines, or 64 MiB of them, wait already, and
// for malformed messages: without ID, or with a Room, Peer or Note that is not valid.
//
// A peer that is new is made known at its room's end before the message is posted, so that its
// Deliver can start later and misses no answer.
func (b *Bridge) Accept(position string, msgs ...Message) ([]Flood, error) {
	for _, m := range msgs {
		if err := m.check(); err != nil {
			return nil, err
		}
	}
	in := b.inbox
	in.io.Lock()
	defer in.io.Unlock()
	floods, err := b.take(position, msgs)
	if err != nil {
		return nil, fmt.Errorf("accept messages: %w", err)
	}
	return floods, nil
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

// take is Accept. The caller holds io.
func (b *Bridge) take(position string, msgs []Message) ([]Flood, error) {
	in := b.inbox
	if in.closed {
		return nil, errClosed
	}
	if err := errors.Join(b.owns(), in.full(msgs)); err != nil {
		return nil, err
	}
	r, floods, speakers, err := in.intent(msgs)
	if err != nil {
		return nil, err
	}
	if position != in.ledger.position {
		r.Place = &position
	}
	if len(r.Take) > 0 || r.Place != nil {
		if err := in.journal.write(in.ledger, r); err != nil {
			return nil, err
		}
	}
	maps.Copy(in.speakers, speakers)
	in.mu.Lock()
	in.ledger.apply(r)
	in.mu.Unlock()
	b.settle(time.Now())
	return floods, nil
}

// full returns an error if the inbox has no room for msgs. An empty one has room for all.
func (in *inbox) full(msgs []Message) error {
	waiting := in.ledger.waiting
	size := 0
	for _, it := range waiting {
		size += len(it.Line)
	}
	for _, m := range msgs {
		size += len(m.Text)
	}
	if len(waiting) > 0 && (len(waiting)+len(msgs) > maxWaiting || size > maxWaitingBytes) {
		return fmt.Errorf("the inbox is full: %d lines wait for their rooms", len(waiting))
	}
	return nil
}

// intent makes the record of those of msgs that were not taken before and are not refused, and
// what is left to their speakers.
func (in *inbox) intent(msgs []Message) (r record, floods []Flood, speakers map[speaker]allowance, err error) {
	batch, lines := map[string]bool{}, map[lineKey]bool{}
	speakers = map[speaker]allowance{}
	for _, m := range msgs {
		if in.ledger.has(m.ID) || batch[m.ID] {
			continue
		}
		if strings.TrimSpace(m.Text) == "" {
			in.log.Debug("a blank message is passed over", "id", m.ID, "room", m.Room)
			continue
		}
		batch[m.ID] = true
		t := taken{about: about{
			ID: m.ID, Peer: m.Peer, Room: m.Room, User: chat.CleanName(m.User), Key: strings.ToValidUTF8(m.Key, "\uFFFD"), At: tagTime(m.At), Note: m.Note,
		}}
		line, err := in.unique(&t, m.Text, lines)
		if err != nil {
			return record{}, nil, nil, err
		}
		passes, tell := in.admit(speakers, speaker{m.Key, line.Command != ""}, t.At)
		if tell {
			floods = append(floods, Flood{m.Key, m.Peer, m.Room})
			in.log.Warn("lines are refused: more came from a person than anybody types", "user", t.User, "key", m.Key, "room", m.Room)
		}
		if !passes {
			continue
		}
		if t.At.After(in.ledger.recheck) {
			// Of a room that cannot be looked at, all is searched before the line is posted.
			t.Inode, t.From, _ = chat.End(chat.Path(in.home, m.Room))
		}
		r.Take = append(r.Take, t)
	}
	return r, floods, speakers, nil
}

// unique formats the line of a message. chat.Post takes two equal lines for one, so none that
// it could meet may equal another: the tag of the later is a second on.
func (in *inbox) unique(t *taken, text string, lines map[lineKey]bool) (chat.Line, error) {
	for at := t.At; ; at = at.Add(time.Second) {
		raw, err := chat.Format(false, t.User, at, secret.Text(text))
		if err != nil {
			return chat.Line{}, err
		}
		line := chat.Parse(raw)
		here := lineKey{t.Room, line.Hash}
		if !lines[here] && in.ledger.find(here) == nil {
			lines[here] = true
			t.Line = string(line.Raw)
			return line, nil
		}
	}
}

// admit counts a line of somebody; speakers are those whose allowance has changed.
func (in *inbox) admit(speakers map[speaker]allowance, who speaker, at time.Time) (passes, tell bool) {
	if who.key == "" {
		return true, false
	}
	left, changed := speakers[who]
	if !changed {
		forgetIdle(in.speakers, at)
		left = in.speakers[who]
	}
	speakers[who], passes, tell = left.take(at)
	return passes, tell
}

// tagTime is at, or now for a time that no tag can hold.
func tagTime(at time.Time) time.Time {
	if at.IsZero() || at.UTC().Year() < 1 || at.UTC().Year() > 9998 {
		at = time.Now()
	}
	return at.UTC().Round(0)
}

// retry is Run's settle: it tries again what failed when its time has come, which is next;
// zero: nothing waits.
func (b *Bridge) retry(now time.Time) (next time.Time, err error) {
	in := b.inbox
	in.io.Lock()
	defer in.io.Unlock()
	if in.closed {
		return next, errClosed
	}
	if err := b.owns(); err != nil {
		return next, err
	}
	if !now.Before(in.until) {
		b.settle(now)
	}
	return in.until, nil
}

// settle posts the lines that wait and records that they are posted. What fails is tried
// again with back-off: the lines are safe in the inbox. The caller holds io.
func (b *Bridge) settle(now time.Time) {
	in := b.inbox
	posted, err := b.post(in.ledger.waiting)
	err = errors.Join(err, in.record(posted))
	b.health.Trouble("post what came in", true, err)
	if err == nil {
		in.failures, in.until = 0, time.Time{}
		return
	}
	in.until = now.Add(min(maxPause, firstPause<<min(in.failures, 10)))
	in.failures++
	nudge(in.waits)
}

// post posts lines in order. Where one fails, the later ones of its room wait; if it is
// its peer's file that fails, only those of that peer, and what the same user says in the
// room by another one.
func (b *Bridge) post(waiting []*item) (posted []done, err error) {
	rooms, peers, users := map[string]bool{}, map[string]bool{}, map[[2]string]bool{}
	for _, it := range waiting {
		user := [2]string{it.Key, it.Room}
		if rooms[it.Room] || peers[it.Peer] || users[user] {
			users[user] = true
			continue
		}
		perr := b.ensurePeer(it.Peer, it.Room)
		d := done{ID: it.ID}
		if perr == nil {
			d.From, d.To, perr = chat.Post(chat.Path(b.cfg.Home, it.Room), []byte(it.Line+"\n"), it.Inode, it.From)
		}
		if perr == nil {
			posted = append(posted, d)
			continue
		}
		users[user] = true
		if errors.As(perr, new(peerError)) {
			peers[it.Peer] = true
		} else {
			rooms[it.Room] = true
		}
		err = errors.Join(err, fmt.Errorf("post message %s: %w", it.ID, perr))
	}
	return posted, err
}

// record records what was posted now, and what could not be recorded before. In memory it
// counts at once; on disk, a crash before it only makes Post look for the lines again.
func (in *inbox) record(posted []done) (err error) {
	in.unrecorded = append(in.unrecorded, posted...)
	if len(in.unrecorded) > 0 {
		if err = in.journal.write(in.ledger, record{Done: in.unrecorded}); err == nil {
			in.unrecorded = nil
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ledger.finish(posted)
	return err
}

// nudge sends to a channel of capacity 1 in which one value stands for all.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// origin returns the message of which this bridge made a line of a room; nil if it made none.
func (in *inbox) origin(room string, l chat.Line) *Origin {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ledger.find(lineKey{room, l.Hash})
}
