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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"lethe/life"
)

// version is that of the tables below and of what fills them: tokens, stems and
// classes. An index of another version is made anew.
const version = 6

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

// file is an open database.
type file struct {
	path string
	info os.FileInfo // when it was opened
	db   *sql.DB

	postings, docs *sql.Stmt
}

// Memory is bounded by the caches: the system's own page cache does the rest. With
// synchronous(normal) a power loss can take the newest transactions, and nothing else.
const (
	connections = 3 // one that writes, and two that read beside it
	pragmas     = "?mode=rw&_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=cache_size(-3072)&_pragma=temp_store(memory)&_pragma=mmap_size(0)" +
		"&_pragma=synchronous(normal)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(33554432)"
	inWAL = "&_pragma=journal_mode(wal)" // a file stays in that mode
)

// open opens an index that is there, or fills one that create has made. An error is
// damaged if it cannot be used.
func open(path string, empty bool) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	source := u.String() + pragmas
	if empty {
		source += inWAL
	} else if info.Size() == 0 {
		return nil, fmt.Errorf("%w: it is empty", errDamaged)
	}
	f := &file{path: path, info: info}
	if f.db, err = sql.Open("sqlite", source); err != nil {
		return nil, err
	}
	f.db.SetMaxOpenConns(connections)
	f.db.SetMaxIdleConns(connections)
	if empty {
		err = f.fill()
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	return f, nil
}

// fill makes the tables of an empty file.
func (f *file) fill() error {
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(fmt.Sprintf("%s; PRAGMA user_version=%d", schema, version)); err != nil {
		return err
	}
	return tx.Commit()
}

// check looks at the head of the file and prepares what is looked up.
func (f *file) check() error {
	var v int
	err := f.db.QueryRow("PRAGMA user_version").Scan(&v)
	if err == nil && v != version {
		err = fmt.Errorf("%w: it has version %d, not %d", errDamaged, v, version)
	}
	if err != nil {
		return err
	}
	// The sum keeps SQLite from planning anew for each limit.
	f.postings, err = f.db.Prepare("SELECT group_concat(id) FROM (SELECT rowid AS id FROM terms WHERE terms MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?+0)")
	if err == nil {
		f.docs, err = f.db.Prepare("SELECT id, hash, entry_from, entry_to, segments, size, first, last FROM docs WHERE id <= ? ORDER BY id DESC LIMIT 1")
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
	return open(path, true)
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
	Next int64 `json:"next"` // number of the next segment
}

func load(ctx context.Context, tx *sql.Tx) (state, error) {
	s := state{Next: 1}
	var text string
	if err := tx.QueryRowContext(ctx, "SELECT json FROM state").Scan(&text); err != nil {
		if err == sql.ErrNoRows {
			err = fmt.Errorf("%w: no state", errDamaged)
		}
		return s, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read state: %w: %w", errDamaged, err)
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

// errDamaged is wrapped by errors about an index that contradicts itself.
var errDamaged = errors.New("the index cannot be used")

// damaged reports whether an error says that the file has to be made anew.
func damaged(err error) bool {
	if errors.Is(err, errDamaged) || errors.Is(err, life.ErrOtherLog) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT,
		sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
		return true
	}
	return e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ
}
