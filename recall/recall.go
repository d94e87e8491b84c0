// Package recall is a full-text index over everything a life has faded, so that
// what was forgotten can be found again.
//
//	index, err := recall.Open(filepath.Join(dir, "recall.db"), log)
//	added, err := index.Sync(ctx, store, lifePath, nil)
//	hits, err := index.Search(ctx, store, recall.Query{Text: "the retry backoff"})
//
// The index is a cache. What it says is read from LIFE.md and the blobs, a hit
// is made of a blob that was read and verified a moment ago, and an index that
// is absent, older, damaged or of another log is made anew: deleting the file
// loses nothing. Sync goes on where an earlier one stopped, however that one
// ended. Of several processes that call it one does it, and the others are told
// so. Searches go on meanwhile.
//
// FTS5 holds the posting lists. Words are cut, folded and stemmed here, the same
// for what is indexed, asked and ranked; docs/recall.md tells how a search works
// and what it costs.
package recall

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

	"lethe/blobs"
)

// ErrEmpty says that a query has no word to look for.
var ErrEmpty = errors.New("the query has no word to look for")

// ErrRebuilding says that the index turned out to be damaged, or that its file was
// removed. The next Sync makes it anew.
var ErrRebuilding = errors.New("the index was damaged and is being made anew")

// Query is what to look for.
type Query struct {
	// Text is plain words: nothing in it is syntax. What comes after the first
	// 4000 bytes is not read.
	Text  string
	Limit int // hits at most; 0 means 10, more than 50 means 50
	// Since and Until bound the time of the content, both included; zero is no
	// bound. The time is that of a line's tag, and where nothing has one, that of
	// the entry in the log.
	Since, Until time.Time
	Room         string       // only what was heard in this room
	Tool         string       // only what has a call of this tool
	Kind         string       // only what holds this: chat, reply, tool or note
	Now          time.Time    // what "last week" counts from; zero is the clock's
	Not          []blobs.Hash // never these
	// Lost, if not nil, is told of each original that may fit and cannot be read,
	// since its blob is missing or damaged. It is called by Search, one at a time.
	Lost func(h blobs.Hash, err error)

	asked *asked // the vector of Text, if an endpoint gave one
	self  string // the beginning of the life's address, by its log
}

// Hit is one faded original that fits a query.
type Hit struct {
	Hash       blobs.Hash
	From, To   int       // its entries, both included
	At         time.Time // when the last of it was said
	Gist       string
	Rooms      []string
	Tools      []string
	Kinds      []string
	Passage    string  // raw text, at most 300 characters on one to three lines
	Offset     int     // of the passage in the body, in characters, for UNCOMPACT
	Score      float64 // higher is better; comparable within one answer only
	Confidence float64 // 0 to 1: how likely it is what was asked for, by its words
}

// Stats says how large an index is.
type Stats struct {
	Originals int
	Segments  int   // that they are indexed in
	Bytes     int64 // of the files on disk
}

// Index is an open index. It is safe for concurrent use.
type Index struct {
	path string // where it is meant to be
	log  *slog.Logger

	syncing sync.Mutex // held by the one Sync that runs
	ahead   *ahead     // where the last Sync has read to, guarded by syncing
	sought  time.Time  // when missing originals were last looked for, guarded by syncing

	embedding *embedding // nil without an endpoint; set before use

	lookups chan struct{}          // has one for each that runs
	self    atomic.Pointer[string] // the beginning of the life's address, by its log
	told    told

	mu      sync.Mutex  // guards what follows
	db      *database   // nil after a fault, and while it cannot be opened
	file    os.FileInfo // of the database that was open last
	temp    string      // a directory of our own, when path cannot be used
	rebuilt string
	renewed []time.Time
	closed  bool
	// condemned is why the next Sync has to make the index anew; searches leave
	// that to it, since they wait for nobody.
	condemned string
}

// Open opens the index at path, or makes it: its content comes with Sync. One
// that is damaged or of another version is removed and made anew. Where nothing
// can be written, it is a temporary one. Open reads no more than the head of
// the file and writes nothing to one that is there; while another process makes
// it, Open waits some seconds, and then gives up with ErrBusy.
func Open(path string, log *slog.Logger) (*Index, error) {
	x := &Index{path: path, log: log, lookups: make(chan struct{}, mostLookups)}
	db, why, err := openDatabase(path)
	if err != nil && unusable(err) {
		db, why, err = x.openTemporary(err)
	}
	if err != nil {
		return nil, fmt.Errorf("open index %s: %w", path, err)
	}
	x.db, x.file = db, db.file
	x.tell(why)
	return x, nil
}

// openTemporary opens an index that lives as long as this one is open.
func (x *Index) openTemporary(cause error) (*database, string, error) {
	dir, file, err := temporary(x.path)
	if err != nil {
		return nil, "", errors.Join(cause, err)
	}
	db, _, err := openDatabase(file)
	if err != nil {
		return nil, "", errors.Join(cause, err, os.RemoveAll(dir))
	}
	if x.temp != "" {
		if err := os.RemoveAll(x.temp); err != nil {
			x.log.Debug("remove a temporary index", "error", err)
		}
	}
	x.temp = dir
	return db, fmt.Sprintf("it cannot be written (%s), so it is a temporary one", reason(cause)), nil
}

// tell notes why the index was made anew, and logs it.
func (x *Index) tell(why string) {
	if why == "" {
		return
	}
	x.rebuilt = why
	x.log.Warn("the index of what has faded is made anew", "file", x.path, "why", why)
}

// Rebuilt says why the index was made anew, the last time since Open; it is
// empty if it was not, or was not there before.
func (x *Index) Rebuilt() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rebuilt
}

// claim takes the lock that a Sync needs. Nobody else knows a temporary index.
func (x *Index) claim(ctx context.Context) (release func(), err error) {
	x.mu.Lock()
	temp := x.temp != ""
	x.mu.Unlock()
	if temp {
		return func() {}, nil
	}
	lock, err := claim(ctx, x.path, claimTime)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := lock.Close(); err != nil {
			x.log.Debug("release the index", "error", err)
		}
	}, nil
}

// current returns the open database. One that is damaged, and one whose file
// somebody has removed, is opened again first. The caller holds the lock.
func (x *Index) current() (*database, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	x.inspect()
	if x.db != nil && x.condemned == "" && !x.db.replaced() {
		return x.db, nil
	}
	return x.reopen(x.condemned)
}

// look is current for a search: it opens nothing. ErrRebuilding says that a Sync
// has to come first.
func (x *Index) look() (*database, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	x.inspect()
	if x.db == nil || x.condemned != "" || x.db.replaced() {
		return nil, ErrRebuilding
	}
	return x.db, nil
}

// inspect looks for what would bring about a fault, in whatever uses the database
// or closes it.
func (x *Index) inspect() {
	if x.db == nil || x.db.replaced() || !x.db.cut() {
		return
	}
	x.condemned = whyCut
	if err := x.db.mend(); err != nil {
		x.log.Debug("mend the index", "error", err)
		x.db = nil
	}
}

// condemn says that bad is damaged, for the next Sync.
func (x *Index) condemn(bad *database, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == bad {
		x.condemned = why
	}
}

// guarded makes an error of a panic, and logs where it was: an index is not worth
// a process. A database with a fault is given up without being closed: SQLite
// stopped in the middle of something.
func (x *Index) guarded(do func() error) error {
	x.mu.Lock()
	used := x.db
	x.mu.Unlock()
	err := protect(do)
	var p *panicError
	if !errors.As(err, &p) {
		return err
	}
	x.log.Error("the index of what has faded failed", "error", err, "stack", string(p.stack))
	x.mu.Lock()
	defer x.mu.Unlock()
	if faulty(err) && x.db == used && used != nil {
		x.db, x.condemned = nil, reason(err)
	}
	return err
}

var errClosed = errors.New("the index is closed")

// renew makes the index anew unless that has been done since bad was opened. The
// caller holds the lock.
func (x *Index) renew(bad *database, why string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.db != bad {
		return nil
	}
	_, err := x.reopen(why)
	return err
}

// A disk that damages what is written to it must not keep a processor busy.
const (
	mostRenewals = 4
	renewalTime  = 10 * time.Minute
)

// reopen replaces the open database by the one at its path. With why, that one
// is removed first, unless another process was faster.
func (x *Index) reopen(why string) (*database, error) {
	now := time.Now()
	for len(x.renewed) > 0 && now.Sub(x.renewed[0]) > renewalTime {
		x.renewed = x.renewed[1:]
	}
	if len(x.renewed) >= mostRenewals {
		return nil, errors.New("the index is damaged again and again, and is left alone for some minutes")
	}
	path := x.path
	if x.temp != "" {
		path = filepath.Join(x.temp, filepath.Base(x.path))
	}
	if x.db != nil {
		if err := protect(x.db.close); err != nil {
			x.log.Debug("close index", "file", path, "error", err)
		}
		x.db, x.condemned = nil, why
	}
	db, made, err := makeDatabase(path, x.file, why)
	if gone := x.temp != "" && errors.Is(err, fs.ErrNotExist); err != nil && (gone || unusable(err)) {
		db, made, err = x.openTemporary(err)
	}
	if err != nil {
		return nil, fmt.Errorf("open index %s: %w", path, err)
	}
	x.db, x.file, x.condemned = db, db.file, ""
	x.renewed = append(x.renewed, now)
	if made == "" && db.fresh {
		made = "its file was removed or emptied"
	}
	x.tell(made)
	return db, nil
}

// Stats returns how large the index is.
func (x *Index) Stats(ctx context.Context) (Stats, error) {
	db, err := x.look()
	if err != nil {
		return Stats{}, fmt.Errorf("measure index: %w", err)
	}
	st, err := db.load(ctx, db.read)
	if err != nil {
		return Stats{}, fmt.Errorf("measure index: %w", err)
	}
	s := Stats{Originals: st.Docs, Segments: int(st.Next - 1)}
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(db.path + suffix); err == nil {
			s.Bytes += fi.Size()
		}
	}
	return s, nil
}

// Close closes the index. A Sync or a search that is under way ends with an
// error.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	if x.embedding != nil {
		x.embedding.client.CloseIdleConnections()
	}
	var err error
	if x.inspect(); x.db != nil {
		err = protect(x.db.close)
	}
	if x.temp != "" {
		err = errors.Join(err, os.RemoveAll(x.temp))
	}
	if err != nil {
		return fmt.Errorf("close index %s: %w", x.path, err)
	}
	return nil
}
