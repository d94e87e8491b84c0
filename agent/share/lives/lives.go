// Package lives keeps lives as streams that several hosts of a home share: a life goes on at one host at a time.
//
// A life is a stream of segments (docs/share.md). The host that creates the next number holds it. It ships the log
// after its own sync and before anything outside rests on it, so lines that the store lacks had no effect. A host that was
// asleep finds its next number taken, and cannot act from then on.
//
//	c, err := l.Hold(ctx, id, store)   // brings the log up to date; *home.ElsewhereError: another host has it
//	err = c.Ship(ctx, texts)           // behind each append
//	err = l.Take(ctx, id, store, from) // has the life go on here
package lives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
)

// Lives are the lives of a home, on one of its hosts.
type Lives struct {
	Streams *streams.Streams
	Home    home.Home
	Host    streams.Host
	Log     *slog.Logger
	Most    int64                                 // bounds a workspace that is stored, in bytes; 0: no workspace is stored
	Shipped func(took time.Duration, turns int64) // called for each segment; may be nil
	// Lost is called for each text of a life that the store has lost, and the life goes on before it. If it is nil, a life
	// that lacks such a text here is not brought up to date.
	Lost func(id home.Identity, what error)
	// OnLoss is called for each loss of a life that goes on here, and that this host writes again; it may be nil.
	OnLoss func(id home.Identity, what error)
	// Erase ends an erasure of a life outside of the life, before the store knows that it has ended; it may be nil.
	Erase func(ctx context.Context, self string) error
	// OnTaken is called when a life has begun here, was taken, or is seen at another host, which may have died before
	// it said so.
	OnTaken func(id home.Identity, host streams.Host, custody int)
}

// Stream names the stream of a life.
func Stream(self string) string { return "lives/" + self }

// Tenure is the right of this host to go on with a life, while nobody has taken it.
type Tenure struct {
	*Lives
	id    home.Identity
	store *blobs.Store
	files files
	at    position
	come  map[string]File // that were read and are not placed yet
	fence bool            // its newest text was lost: who has the life is not known

	mu        sync.Mutex // held during changes of the stream
	workspace workspace
	stored    map[blobs.Hash]string // large texts in the store, and the files that have them; nil before Compare
	gone      error                 // another host took the life from a store that had lost its newest texts
	acked     time.Time             // when the store last said that this host has the life
	beside    sync.WaitGroup
	packing   atomic.Bool
	holed     atomic.Bool     // the store has lost a text, as packing found
	closed    context.Context // ends with Close
	close     context.CancelFunc
}

// position is the place where the log here and the stream cease to agree. Its file is a cache: without it the stream is
// read from its beginning.
type position struct {
	streams.At
	Mark    life.Mark             `json:"mark"`
	Host    streams.Host          `json:"host"` // has the life
	Custody int                   `json:"custody"`
	Nonce   string                `json:"nonce"`             // of segment N
	Opening bool                  `json:"opening,omitempty"` // as Segment has it
	Stopped bool                  `json:"stopped,omitempty"`
	Files   map[string]blobs.Hash `json:"files"`
	Packed  int                   `json:"packed,omitempty"`
	Stale   map[string]bool       `json:"stale,omitempty"`   // hashes and names in workspace.list before
	Unsaved []string              `json:"unsaved,omitempty"` // as Segment has it
	Missing []string              `json:"missing,omitempty"` // of Unsaved, when the life was taken
	Lacks   int                   `json:"lacks,omitempty"`   // the store has lost texts, up to this one at most
}

func positionFile(id home.Identity) string { return filepath.Join(id.Dir, "shared.json") }

// Hold applies to the log of an identity, whose lock the caller has, all that other hosts shipped. It sets aside lines
// that are here alone, unless this host was the last to have the life: then Open ships them. The error is a
// *home.ElsewhereError where another host has the life.
func (l *Lives) Hold(ctx context.Context, id home.Identity, store *blobs.Store) (*Tenure, error) {
	c, err := l.catchUp(ctx, id, store)
	switch {
	case err != nil || c.at.N == 0:
	case !c.mine():
		c.onTaken()
		err = c.elsewhere(c.at.Host.Label)
		if id.Erasing() != nil && c.files.known[home.PlanFile].IsZero() {
			const what = "%w, which does not know of an erasure that was begun here: lethe take %s ends it; then erase again"
			err = fmt.Errorf(what, err, id.Name)
		}
	case c.fence: // whoever has written the newest text has lost the life
		err = c.begin(ctx, c.at.Custody+1)
	case id.Mirrored(): // it was taken, and the log does not say so yet
		if err = c.settle(ctx); err == nil {
			err = id.MarkMirror(-1)
		}
	}
	return c, err
}

// mine reports whether this host has the life, by the segments read so far.
func (c *Tenure) mine() bool { return c.at.Host.ID == c.Host.ID }

func (c *Tenure) stream() string { return Stream(c.id.Self) }

func (c *Tenure) elsewhere(host string) error {
	return &home.ElsewhereError{Identity: c.id, Host: host}
}

func (l *Lives) tenure(ctx context.Context, id home.Identity, store *blobs.Store) *Tenure {
	c := &Tenure{
		Lives: l, id: id, store: store, files: files{id: id}, come: map[string]File{},
		workspace: workspace{dir: filepath.Join(id.Dir, "workspace"), most: l.Most},
	}
	c.closed, c.close = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// catchUp applies segments that the log here lacks.
func (l *Lives) catchUp(ctx context.Context, id home.Identity, store *blobs.Store) (*Tenure, error) {
	c := l.tenure(ctx, id, store)
	c.load()
	if c.files.known = c.at.Files; c.at.Files == nil {
		c.files.known = map[string]blobs.Hash{}
	}
	err := c.readOn(ctx)
	for errors.Is(err, streams.ErrAnew) {
		_, last, unread := c.newest(ctx, id.Self)
		if err = unread; share.IsAway(err) {
			break
		}
		isTaken := err == nil && last.Host.ID != c.Host.ID
		wasHere := !isTaken && (id.Erasing() != nil || c.mine() && c.at.Lacks > 0)
		if wasHere { // this host has made the packs anew
			c.at.Gen++
		} else if err = c.wipe(); err != nil {
			break
		}
		err = c.readOn(ctx)
	}
	if err = c.removed(ctx, err); err != nil {
		return c, fmt.Errorf("read the life of %s from the store: %w", id.Name, err)
	}
	return c, nil
}

func (c *Tenure) readOn(ctx context.Context) (err error) {
	stream, asked := c.stream(), time.Now()
	if err := c.found(ctx); err != nil {
		return err
	}
	var lost error // before the next segment that shows that its lines are here
	var losses []error
	had := int64(0)
	if fi, err := os.Stat(c.id.LIFE()); err == nil {
		had = fi.Size()
	}
	c.at.At, err = c.Streams.Each(ctx, stream, c.at.At, func(n int, text []byte, err error) error {
		if c.fence = err != nil; c.fence {
			lost, losses = err, append(losses, err)
			c.lack(n)
			return nil
		}
		segment, err := decode(text)
		if err == nil && segment.Self != c.id.Self {
			err = errors.New("it is of another life")
		}
		if err == nil {
			err = c.apply(ctx, segment)
		}
		switch {
		case lost != nil && errors.Is(err, life.ErrOtherLog):
			err = lost
		case err == nil && len(segment.Lines) > 0:
			lost = nil
		}
		if err != nil {
			err = fmt.Errorf("segment %d: %w", n, err)
		}
		return err
	})
	mayLack := c.mine() || c.Lost != nil
	if err == nil && !mayLack {
		err = lost
	}
	if err == nil {
		c.lose(losses...)
		err = c.placeFiles(had)
	}
	if err != nil || c.at.N == 0 {
		return err
	}
	c.acked = asked
	if err := c.endLog(); err != nil {
		return err
	}
	return c.save()
}

// lose tells of texts that the store has lost.
func (c *Tenure) lose(texts ...error) {
	for _, what := range texts {
		if c.Lost != nil {
			c.Lost(c.id, what)
			continue
		}
		c.Log.Warn("the store has lost a text of the life", "identity", c.id.Name, "error", what)
		if c.OnLoss != nil {
			c.OnLoss(c.id, what)
		}
	}
}

// found returns streams.ErrLess if another store was read last, or one that has lost texts of a life of another host.
func (c *Tenure) found(ctx context.Context) error {
	if c.at.N == 0 {
		return nil
	}
	stream := c.stream()
	segment, err := c.segment(ctx, c.id.Self, c.at.N)
	isOther := err == nil && segment.Nonce != c.at.Nonce
	if share.IsMissing(err) {
		err = c.Streams.Holds(ctx, stream, c.at.N)
	}
	if err == nil { // a bucket may have a rule that expires old texts
		err = c.Streams.Holds(ctx, stream, 1)
	}
	if streams.Unreadable(err) && !isOther && c.mine() {
		return c.goesOn(ctx, err)
	}
	if isOther {
		err = streams.ErrLess
	}
	if errors.Is(err, streams.ErrLess) {
		const anew = "%w; to share the life anew, empty the store or name another one, and remove %s"
		err = fmt.Errorf(anew, err, positionFile(c.id))
	}
	return err
}

// goesOn returns nil if this host still has a life although the store has lost a text of it, and else that loss.
func (c *Tenure) goesOn(ctx context.Context, loss error) error {
	n, last, err := c.newest(ctx, c.id.Self)
	isOurs := err == nil && last.Host.ID == c.Host.ID && last.Custody == c.at.Custody
	switch {
	case n == 0 && err == nil:
		return fmt.Errorf("%w; to share the life anew, remove %s", streams.ErrLess, positionFile(c.id))
	case err != nil && !streams.Unreadable(err):
		return err
	case n > c.at.N: // the texts behind it tell the holder
	case isOurs && n < c.at.N:
		c.cutTo(n, last)
		return nil
	case isOurs:
	case n < c.at.N || err == nil:
		return loss
	}
	c.lack(1)
	c.lose(loss)
	return nil
}

// lack notes that the store has lost a text, up to a number at most.
func (c *Tenure) lack(upto int) { c.at.Lacks = max(c.at.Lacks, upto) }

// cutTo notes that the store has lost the texts behind a segment of this host: the next one has their first number.
func (c *Tenure) cutTo(n int, last Segment) {
	c.lose(fmt.Errorf("its newest segments are gone: %d", c.at.N-n))
	c.lack(c.at.N)
	c.at.N, c.at.Nonce = n, last.Nonce
}

// endLog sets aside lines of the log that the stream lacks, if another host has the life: nobody has acted upon them.
func (c *Tenure) endLog() error {
	log, err := life.Open(c.id.LIFE())
	if errors.Is(err, fs.ErrNotExist) && c.at.Mark.Offset == 0 {
		return nil
	}
	if err != nil {
		return c.id.Unread(err)
	}
	defer log.Close()
	end := log.End().Offset
	if end < c.at.Mark.Offset { // a restored disk: the stream is read again
		c.at = position{}
		if err := c.save(); err != nil {
			return err
		}
		return fmt.Errorf("open %s: its log is shorter than it was; open it again", c.id.Name)
	}
	toShip := c.mine() || c.at.Opening
	if end == c.at.Mark.Offset || toShip {
		return nil
	}
	err = log.EndAt(c.at.Mark)
	c.Log.Warn("what was recorded here and did not reach the store was set aside", "file", log.Torn)
	return err
}

// load reads the position.
func (c *Tenure) load() {
	if err := durable.ReadJSON(positionFile(c.id), maxFile, &c.at); err != nil {
		c.at = position{}
	}
}

// save writes the position.
func (c *Tenure) save() error {
	c.at.Files = c.files.known
	return durable.WriteJSON(durable.Replace, positionFile(c.id), c.at)
}
