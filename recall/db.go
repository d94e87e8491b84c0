package recall

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schemaVersion is that of the tables below and of what fills them: the tokens,
// the stems, the classes. An index of another version is made anew.
const schemaVersion = 2

// applicationID marks the file as an index of ours ("LeRc").
const applicationID = 0x4c655263

// The ids of terms are those of segments, in the order of the log; a document's
// id is that of its first segment. FTS5 keeps lists of segments and nothing
// else: no text, no positions, no lengths.
const schema = `
CREATE VIRTUAL TABLE terms USING fts5(term, content='', columnsize=0, detail=none, tokenize="ascii tokenchars '` + tokenChars + `'");
CREATE TABLE docs(
	id INTEGER PRIMARY KEY,
	key INTEGER NOT NULL,
	hash BLOB NOT NULL,
	entry_from INTEGER NOT NULL,
	entry_to INTEGER NOT NULL,
	segments INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	gist TEXT NOT NULL,
	rooms TEXT NOT NULL,
	tools TEXT NOT NULL,
	kinds TEXT NOT NULL,
	tells TEXT NOT NULL,
	opened INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX docs_key ON docs(key);
CREATE INDEX docs_entry ON docs(entry_from);
CREATE TABLE missing(id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, entry_from INTEGER NOT NULL, entry_to INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), json TEXT NOT NULL);
INSERT INTO state VALUES (1, '{}');
INSERT INTO terms(terms, rank) VALUES ('hashsize', 2097152);
INSERT INTO terms(terms, rank) VALUES ('automerge', 8);
INSERT INTO terms(terms, rank) VALUES ('usermerge', 2);
`

// database is an open file with its connections: one that writes, and two that
// read beside it.
type database struct {
	path string
	// head is the same file once more, to look at its first bytes. It is closed
	// after SQLite's own: closing it takes this process's locks from the file.
	head     *os.File
	file     os.FileInfo // of head
	fresh    bool        // the tables were made by this opening
	write    *sql.DB
	read     *sql.DB
	postings *sql.Stmt // on read
}

// busyTime is how long one process waits for another one's transaction where
// nothing else can be done.
const busyTime = 10 * time.Second

// Memory is bounded by the caches: the page cache of the system does the rest.
const (
	writeCache = 3 << 10 // KB
	readCache  = 2 << 10
	readers    = 2
)

func source(path string, cache int, busy time.Duration, more string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return fmt.Sprintf("%s?_pragma=busy_timeout(%d)&_pragma=cache_size(-%d)&_pragma=temp_store(memory)&_pragma=mmap_size(0)%s",
		u.String(), busy.Milliseconds(), cache, more)
}

// check looks at the head: whether it is an index, and of this version.
func (db *database) check() error {
	var id, version, tables int
	row := db.read.QueryRow("SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)")
	if err := row.Scan(&id, &version, &tables); err != nil {
		return err
	}
	switch {
	case tables == 0:
		return &unfitError{} // it is empty, or another process is making it
	case id != applicationID:
		return &unfitError{"it is no index"}
	case version != schemaVersion:
		return &unfitError{fmt.Sprintf("it has version %d, not %d", version, schemaVersion)}
	}
	// The sum keeps SQLite from planning anew for each limit.
	var err error
	db.postings, err = db.read.Prepare("SELECT group_concat(id) FROM (SELECT rowid AS id FROM terms WHERE terms MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?+0)")
	return err
}

// fill makes the tables of a new file.
func (db *database) fill() error {
	tx, err := db.begin(context.Background(), busyTime)
	if err != nil {
		return err
	}
	defer rollback(tx)
	if _, err := tx.Exec(fmt.Sprintf("%s; PRAGMA application_id=%d; PRAGMA user_version=%d", schema, applicationID, schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

// begin begins a transaction that writes. While another process writes, it is
// tried again until ctx ends or the time is up, which is ErrBusy.
func (db *database) begin(ctx context.Context, most time.Duration) (*sql.Tx, error) {
	for began := time.Now(); ; {
		tx, err := db.write.BeginTx(ctx, nil)
		if !busy(err) {
			return tx, err
		}
		if time.Since(began) > most {
			return nil, fmt.Errorf("%w: %w", ErrBusy, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollTime):
		}
	}
}

func (db *database) close() error {
	var errs []error
	if db.postings != nil {
		errs = append(errs, db.postings.Close())
	}
	if db.read != nil {
		errs = append(errs, db.read.Close())
	}
	if db.write != nil {
		errs = append(errs, db.write.Close())
	}
	return errors.Join(append(errs, db.head.Close())...)
}

const magic = "SQLite format 3\x00" // how a database begins

// replaced reports whether the path no longer leads to the open file, or that is
// no database any more: somebody has removed, emptied or overwritten it, or
// another process has made it anew.
func (db *database) replaced() bool {
	fi, err := os.Lstat(db.path)
	if err != nil || !os.SameFile(fi, db.file) {
		return true
	}
	var head [len(magic)]byte
	_, err = db.head.ReadAt(head[:], 0)
	return err != nil || string(head[:]) != magic
}

const whyCut = "its -shm file was cut short"

// SQLite maps recall.db-shm in pieces of this size, and never so many.
const (
	shmSize = 32 << 10
	mostShm = 2048 * shmSize
)

// cut reports whether somebody has cut recall.db-shm short. Whoever has it open
// gets a fault when it is looked at.
func (db *database) cut() bool {
	fi, err := os.Stat(db.path + "-shm")
	return err == nil && fi.Size() < shmSize
}

// mend gives it zeros instead, which SQLite can read, so that the database can be
// closed.
func (db *database) mend() error { return os.Truncate(db.path+"-shm", mostShm) }

// rollback ends a transaction that was not committed. After a fault it must not
// be called: database/sql would wait for the statement that never came back.
func rollback(tx *sql.Tx) {
	p := recover()
	if !fault(p) {
		tx.Rollback()
	}
	if p != nil {
		panic(p)
	}
}

// errDamaged is wrapped by errors about an index that contradicts itself.
var errDamaged = errors.New("the index contradicts itself")

// codeOf is SQLite's extended code of an error, 0 for none.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return sqlite3.SQLITE_OK
}

// damaged reports whether an error says that the file cannot be used, whatever
// is tried.
func damaged(err error) bool {
	if errors.Is(err, errDamaged) || errors.As(err, new(*unfitError)) || faulty(err) {
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

// reason says in words what is wrong with an index.
func reason(err error) string {
	var unfit *unfitError
	switch code := codeOf(err); {
	case errors.As(err, &unfit):
		return unfit.why
	case faulty(err):
		return whyCut
	case code == sqlite3.SQLITE_IOERR_SHORT_READ:
		return "it was cut short"
	case code&0xff == sqlite3.SQLITE_NOTADB:
		return "it is no database"
	case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_SHMSIZE, errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case code&0xff == sqlite3.SQLITE_CORRUPT:
		return "its content is damaged"
	}
	return err.Error()
}

// busy reports whether an error says that another process holds the file, or
// holds up who wants to look at it.
func busy(err error) bool {
	code := codeOf(err) & 0xff
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED || code == sqlite3.SQLITE_PROTOCOL
}

// unusable reports whether an error says that nothing can be written here.
func unusable(err error) bool {
	for _, e := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTEMPTY, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, e) {
			return true
		}
	}
	switch codeOf(err) & 0xff {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

// temporary returns where an index goes that has no other place.
func temporary(path string) (dir, file string, err error) {
	dir, err = os.MkdirTemp("", "lethe-recall-")
	return dir, filepath.Join(dir, cmp.Or(filepath.Base(path), "recall.db")), err
}
