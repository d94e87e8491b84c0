package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"lethe/life"
)

// version is that of the tables below and of what fills them: tokens, stems and
// classes. An index of another version is made anew.
const version = 4

// A row of terms is a segment, in the order of the log; a document has the number
// of its first segment. FTS5 keeps posting lists and nothing else: no text, no
// positions, no lengths.
const schema = `
CREATE VIRTUAL TABLE terms USING fts5(term, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '` + tokenChars + `'");
CREATE TABLE docs(
	id INTEGER PRIMARY KEY,
	key INTEGER NOT NULL,
	hash BLOB NOT NULL,
	entry_from INTEGER NOT NULL,
	entry_to INTEGER NOT NULL,
	segments INTEGER NOT NULL,
	size INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL
);
CREATE INDEX docs_key ON docs(key);
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), json TEXT NOT NULL);
INSERT INTO state VALUES (1, '{}');
INSERT INTO terms(terms, rank) VALUES ('hashsize', 2097152);
INSERT INTO terms(terms, rank) VALUES ('automerge', 8);
INSERT INTO terms(terms, rank) VALUES ('usermerge', 2);
`

// file is an open database: one connection that writes, and two that read beside
// it.
type file struct {
	path  string
	info  os.FileInfo // when it was opened
	write *sql.DB
	read  *sql.DB

	postings, docs *sql.Stmt // on read
}

// Memory is bounded by the caches: the system's own page cache does the rest.
const (
	writeCache = 3 << 10 // KB
	readCache  = 2 << 10
	readers    = 2
	busyTime   = 2 * time.Second // for a transaction of another program
)

func source(path string, cache int, more string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return fmt.Sprintf("%s?mode=rw&_pragma=busy_timeout(%d)&_pragma=cache_size(-%d)&_pragma=temp_store(memory)&_pragma=mmap_size(0)%s",
		u.String(), busyTime.Milliseconds(), cache, more)
}

// connect opens the connections to a file that is there.
func connect(path string) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, info: info}
	// NORMAL: a power loss can take the newest transactions, and nothing else.
	f.write, err = sql.Open("sqlite", source(path, writeCache, "&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(33554432)"))
	if err == nil {
		f.write.SetMaxOpenConns(1)
		f.read, err = sql.Open("sqlite", source(path, readCache, "&_query_only=1"))
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.read.SetMaxOpenConns(readers)
	f.read.SetMaxIdleConns(readers)
	return f, nil
}

// open opens an index that is there. An error is damaged if it cannot be used.
func open(path string) (*file, error) {
	f, err := connect(path)
	if err == nil {
		if err = f.check(); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, err
}

// check looks at the head of the file and prepares what is looked up.
func (f *file) check() error {
	var v int
	err := f.read.QueryRow("PRAGMA user_version").Scan(&v)
	if err == nil && v != version {
		err = fmt.Errorf("%w: it has version %d, not %d", ErrDamaged, v, version)
	}
	if err != nil {
		return err
	}
	// The sum keeps SQLite from planning anew for each limit.
	f.postings, err = f.read.Prepare("SELECT group_concat(id) FROM (SELECT rowid AS id FROM terms WHERE terms MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?+0)")
	if err == nil {
		f.docs, err = f.read.Prepare("SELECT id, hash, entry_from, entry_to, segments, size, first, last FROM docs WHERE id <= ? ORDER BY id DESC LIMIT 1")
	}
	return err
}

// create makes an empty index in place of whatever is at the path.
func create(path string) (*file, error) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	empty, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // its companions get its permissions
	if err != nil {
		return nil, err
	}
	empty.Close()
	f, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err = f.fill(); err == nil {
		err = f.check()
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *file) fill() error {
	tx, err := f.write.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(fmt.Sprintf("%s; PRAGMA user_version=%d", schema, version)); err != nil {
		return err
	}
	return tx.Commit()
}

func (f *file) close() error {
	var errs []error
	for _, db := range []*sql.DB{f.read, f.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// replaced reports whether the path no longer leads to the open file: somebody has
// removed it, or another process has made it anew.
func (f *file) replaced() bool {
	now, err := os.Stat(f.path)
	return err != nil || !os.SameFile(now, f.info)
}

// state is what the index knows of itself: one row, written in the transaction
// of the documents that it counts.
type state struct {
	life.Mark
	Docs int   `json:"docs"`
	Next int64 `json:"next"` // number of the next segment
	// First and Last bound the times of all content, in Unix microseconds.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

func load(ctx context.Context, tx *sql.Tx) (state, error) {
	s := state{Next: 1}
	var text string
	if err := tx.QueryRowContext(ctx, "SELECT json FROM state").Scan(&text); err != nil {
		if err == sql.ErrNoRows {
			err = fmt.Errorf("%w: no state", ErrDamaged)
		}
		return s, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read state: %w: %w", ErrDamaged, err)
	}
	if s.Docs < 0 || s.Next < 1 || int64(s.Docs) >= s.Next {
		return s, fmt.Errorf("read state: %w: %d documents in %d segments", ErrDamaged, s.Docs, s.Next-1)
	}
	return s, nil
}

func (s *state) save(ctx context.Context, tx *sql.Tx) error {
	text, err := json.Marshal(s)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE state SET json = ?", string(text))
	}
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// cover widens the bounds of all content, as far back as there were computers to
// write a tag: one that is older is nonsense, and would make all days countless.
func (s *state) cover(first, last time.Time) {
	f, l := max(0, first.UnixMicro()), max(0, last.UnixMicro())
	if s.Docs == 0 || f < s.First {
		s.First = f
	}
	if s.Docs == 0 || l > s.Last {
		s.Last = l
	}
}

// ErrDamaged is wrapped by errors about an index that contradicts itself.
var ErrDamaged = errors.New("the index cannot be used")

// damaged reports whether an error says that the file has to be made anew.
func damaged(err error) bool {
	if errors.Is(err, ErrDamaged) || errors.Is(err, life.ErrOtherLog) {
		return true
	}
	switch code := codeOf(err); code & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT,
		sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
		return true
	default:
		return code == sqlite3.SQLITE_IOERR_SHORT_READ
	}
}

// busy reports whether an error says that another program holds the file.
func busy(err error) bool {
	code := codeOf(err) & 0xff
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED || code == sqlite3.SQLITE_PROTOCOL
}

// codeOf is SQLite's extended code of an error, SQLITE_OK for none.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return sqlite3.SQLITE_OK
}
