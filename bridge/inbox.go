package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"lethe/chat"
	"lethe/internal/secret"
)

const (
	// maxWaiting and maxWaitingBytes bound the lines that wait in an inbox. They are
	// far above what one person types: a full inbox stops everybody, since place is
	// one number and what comes after it cannot be acknowledged.
	maxWaiting      = 10_000
	maxWaitingBytes = 64 << 20
)

// inbox is the way in. Its order of writing: the messages as lines, with inode
// and size of their rooms → the lines in their rooms → that they are there.
type inbox struct {
	home string
	log  *slog.Logger
	// most and mostBytes are maxWaiting and maxWaitingBytes, which tests lower.
	most, mostBytes int

	accepting chan struct{} // capacity 1: one Accept after the other
	kick      chan struct{} // capacity 1: Run has something new to wait for

	// io is held over every write of the journal and of rooms, and is taken before mu.
	io      sync.Mutex
	journal *journal
	unsaid  []done  // posted or dropped, and not yet recorded as such
	denied  denials // whose lines were dropped
	closed  bool

	// mu guards what follows. It is held for instants.
	mu     sync.Mutex
	ledger *ledger
	flow   *flow
	ready  []*item         // passed the limits, and not yet posted
	bytes  int             // of the waiting lines
	space  chan struct{}   // closed and made anew when lines were posted
	holds  map[string]hold // rooms that could not be written, peers, and the journal
	// settled is when the holds were looked at last.
	settled time.Time
}

func openInbox(home, path string, limits Flood, log *slog.Logger) (*inbox, error) {
	j, l, err := openJournal(path, log)
	if err != nil {
		return nil, err
	}
	in := &inbox{
		home: home, log: log, most: maxWaiting, mostBytes: maxWaitingBytes, journal: j, ledger: l, flow: newFlow(limits),
		accepting: make(chan struct{}, 1), kick: make(chan struct{}, 1), space: make(chan struct{}),
		holds: map[string]hold{}, denied: denials{},
	}
	now := time.Now()
	for _, it := range l.waiting {
		it.unknown = true
		in.bytes += len(it.Line)
		in.flow.add(now, it)
	}
	return in, nil
}

// Place is what the newest successful Accept was given, also after a restart;
// empty at first.
func (b *Bridge) Place() string {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	return b.inbox.ledger.place
}

// Accept takes messages in, each ID once: those taken before, blank ones and
// repetitions in msgs are passed over. When it returns nil, all of them are
// durable: in their rooms, or in the inbox where a flood limit delays them or
// their room or their peer's file cannot be read or written, from where Run posts them in order. Only
// then may the transport acknowledge them. place is the transport's own word for how
// far it has acknowledged, stored in the same write; see Place.
//
// After an error none of msgs may be acknowledged; taking them again is always
// right. Only malformed ones are refused: without ID, or with a Room, Peer or Note
// that is not valid.
//
// delayed has an item for each user and room whose lines began to be held back in
// this call. The inbox holds 10,000 waiting lines, and 64 MiB of them; a full one
// makes Accept wait for room, or for the end of ctx. A peer that is new is made known
// at its room's end before the message, so that its Deliver can start later and misses
// no answer; if the room cannot be read, when it can be and the message is posted.
//
// The caller has just made sure that who wrote msgs may speak. A message that is not in
// its room a second later is held against Config.Allowed once more.
//
// Several Accepts at once are carried out one after the other.
func (b *Bridge) Accept(ctx context.Context, place string, msgs ...Message) (delayed []Delayed, err error) {
	for _, m := range msgs {
		if err := m.check(); err != nil {
			return nil, err
		}
	}
	in, judged := b.inbox, time.Now()
	select {
	case in.accepting <- struct{}{}:
		defer func() { <-in.accepting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		n, err := b.fits(ctx, msgs)
		if err != nil {
			return delayed, err
		}
		var last *string
		if n == len(msgs) {
			last = &place
		}
		more, err := b.take(last, judged, msgs[:n])
		delayed = append(delayed, more...)
		if err != nil || last != nil {
			return delayed, err
		}
		msgs = msgs[n:]
	}
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

// fits waits until the inbox has room and returns how many of msgs it takes. One
// is taken whatever its size when nothing waits.
func (b *Bridge) fits(ctx context.Context, msgs []Message) (n int, err error) {
	in := b.inbox
	waited := false
	defer func() {
		if waited {
			b.vital.roomy(time.Now())
		}
	}()
	for {
		in.mu.Lock()
		lines, size, space := len(in.ledger.waiting), in.bytes, in.space
		in.mu.Unlock()
		for n = 0; n < len(msgs) && lines+n < in.most; n++ {
			size += len(msgs[n].Text)
			if size > in.mostBytes && lines+n > 0 {
				break
			}
		}
		if n > 0 || len(msgs) == 0 {
			return n, nil
		}
		if !waited {
			waited = true
			b.vital.fill(time.Now(), lines, in.busiest())
		}
		select {
		case <-space:
		case <-ctx.Done():
			return 0, fmt.Errorf("accept %d messages: the inbox is full: %w", len(msgs), context.Cause(ctx))
		}
	}
}

// busiest is the key of whoever has most lines in the inbox.
func (in *inbox) busiest() (key string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	count := map[string]int{}
	for _, it := range in.ledger.waiting {
		if count[it.Key]++; count[it.Key] > count[key] {
			key = it.Key
		}
	}
	return key
}

// take is Accept for as many messages as the inbox takes at once; place is nil
// when more follow. judged is when Accept was called.
func (b *Bridge) take(place *string, judged time.Time, msgs []Message) ([]Delayed, error) {
	in := b.inbox
	in.io.Lock()
	defer in.io.Unlock()
	if in.closed {
		return nil, fmt.Errorf("accept messages: %w", errClosed)
	}
	if err := b.owns(); err != nil {
		return nil, fmt.Errorf("accept messages: %w", err)
	}
	r, err := in.intent(msgs)
	if err != nil {
		return nil, fmt.Errorf("accept messages: %w", err)
	}
	unknown := map[string]bool{}
	for _, t := range r.Take {
		// The message waits for its room, or for its peer's file, and nobody else does.
		// post tries again, and reports it.
		unknown[t.ID] = b.know(t.Peer, t.Room) != nil
	}
	if place != nil && *place != in.ledger.place {
		r.Place = place
	}
	if len(r.Take) == 0 && r.Place == nil {
		return nil, nil
	}
	if err := in.journal.write(in.ledger, r); err != nil {
		return nil, fmt.Errorf("accept messages: %w", err)
	}
	held := in.commit(r, judged, unknown)
	b.settle(time.Now())
	nudge(in.kick) // something may wait for Run
	return in.delayed(held), nil
}

// intent makes the record of those of msgs that were not taken before.
func (in *inbox) intent(msgs []Message) (r record, err error) {
	batch := map[string]bool{}
	lines := map[place]bool{}
	ends := map[string]taken{}
	for _, m := range msgs {
		if in.ledger.has(m.ID) || batch[m.ID] {
			continue
		}
		if strings.TrimSpace(m.Text) == "" {
			in.log.Debug("a blank message is passed over", "id", m.ID, "room", m.Room)
			continue
		}
		batch[m.ID] = true
		end, known := ends[m.Room]
		if !known {
			// Of a room that cannot be looked at, all is searched before the line is
			// posted.
			end.Inode, end.From, _ = chat.End(chat.Path(in.home, m.Room))
			ends[m.Room] = end
		}
		t := taken{about: about{
			ID: m.ID, Peer: m.Peer, Room: m.Room, User: chat.CleanName(m.User), Key: strings.ToValidUTF8(m.Key, "\uFFFD"), At: tagTime(m.At), Note: m.Note,
		}, Inode: end.Inode, From: end.From}
		// chat.Post takes two equal lines for one, so none that it could meet may
		// equal another: the tag of the later is a second on.
		for at := t.At; ; at = at.Add(time.Second) {
			line, err := chat.Format(false, t.User, at, secret.Text(m.Text))
			if err != nil {
				return record{}, err
			}
			t.Line = string(line[:len(line)-1])
			here := place{m.Room, chat.Hash(line)}
			if !lines[here] && in.ledger.find(here) == nil {
				lines[here] = true
				break
			}
		}
		if !t.At.After(in.ledger.recheck) {
			t.Inode, t.From = 0, 0
		}
		r.Take = append(r.Take, t)
	}
	return r, nil
}

// tagTime is at, or now for a time that no tag can hold.
func tagTime(at time.Time) time.Time {
	if at.IsZero() || at.UTC().Year() < 1 || at.UTC().Year() > 9998 {
		at = time.Now()
	}
	return at.UTC().Round(0)
}

// commit folds a durable record in; unknown are the messages whose peer is not
// known yet. held is whose lines were held back before.
func (in *inbox) commit(r record, judged time.Time, unknown map[string]bool) (held map[[2]string]bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	held = map[[2]string]bool{}
	for _, it := range in.ledger.waiting {
		held[[2]string{it.Key, it.Room}] = true
	}
	now := time.Now()
	for _, it := range in.ledger.apply(r) {
		it.unknown, it.judged = unknown[it.ID], judged
		in.bytes += len(it.Line)
		in.flow.add(now, it)
	}
	return held
}

// delayed lists whose lines are held back by a limit and were not before.
func (in *inbox) delayed(held map[[2]string]bool) (all []Delayed) {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := time.Now()
	index := map[[2]string]int{}
	for _, it := range in.ledger.waiting {
		who := [2]string{it.Key, it.Room}
		if held[who] || slices.Contains(in.ready, it) {
			continue
		}
		i, ok := index[who]
		if !ok {
			i = len(all)
			index[who] = i
			all = append(all, Delayed{Key: it.Key, Room: it.Room, Next: in.flow.until(now, it.Key, it.Room)})
		}
		all[i].Peer = it.Peer
		all[i].Waiting++
	}
	return all
}

// nudge sends to a channel of capacity 1 in which one value stands for all.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// origin returns who said a line of a room, if this bridge did.
func (in *inbox) origin(room string, l chat.Line) *Origin {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ledger.find(place{room, chat.Hash(l.Raw)})
}
