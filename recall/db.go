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

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schemaVersion is that of the tables below and of what fills them: the tokens,
// the stems, the classes. An index of another version is made anew.
const schemaVersion = 1

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
	opened INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX docs_key ON docs(key);
CREATE INDEX docs_entry ON docs(entry_from);
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), json TEXT NOT NULL);
INSERT INTO state VALUES (1, '{}');
INSERT INTO terms(terms, rank) VALUES ('hashsize', 2097152);
INSERT INTO terms(terms, rank) VALUES ('automerge', 8);
INSERT INTO terms(terms, rank) VALUES ('usermerge', 2);
`

// database is an open file with its connections: one that writes, and two that
// read beside it.
type database struct {
	path     string
	file     os.FileInfo // as it was when it was opened
	fresh    bool        // the tables were made by this opening
	write    *sql.DB
	read     *sql.DB
	postings *sql.Stmt // on read
}

// openDatabase opens the index at path, or makes it. An index that is damaged,
// and one that is still the file old while why is not empty, is removed first;
// removed then says for what reason.
func openDatabase(path string, old os.FileInfo, why string) (db *database, removed string, err error) {
	lock := flock.New(path+"-lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), busyTime)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, "", err
	}
	defer lock.Close()
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = ""
	case err != nil:
		return nil, "", err
	case !fi.Mode().IsRegular():
		why = "it is not a file"
	case old != nil && !os.SameFile(fi, old):
		why = "" // another process was faster
	}
	if why == "" {
		if db, why, err = connect(path); err != nil || why == "" {
			return db, "", err
		}
	}
	if err := removeDatabase(path); err != nil {
		return nil, "", err
	}
	db, again, err := connect(path)
	if err == nil && again != "" {
		err = errors.New(again)
	}
	return db, why, err
}

// removeDatabase removes an index. The caller holds the lock: between two of
// these names another process must not make a new one. A directory with something
// in it is somebody's, and stays.
func removeDatabase(path string) error {
	var errs []error
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// busyTime is how long one process waits for another one's transaction.
const busyTime = 10 * time.Second

// Memory is bounded by the caches: the page cache of the system does the rest.
const (
	writeCache = 3 << 10 // KB
	readCache  = 2 << 10
	readers    = 2
)

func source(path string, cache int, more string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return fmt.Sprintf("%s?_pragma=busy_timeout(%d)&_pragma=cache_size(-%d)&_pragma=temp_store(memory)&_pragma=mmap_size(0)%s",
		u.String(), busyTime.Milliseconds(), cache, more)
}

// connect opens the file and looks at its head. damage says why it cannot be
// used.
func connect(path string) (db *database, damage string, err error) {
	if err := touch(path); err != nil {
		return nil, "", err
	}
	db = &database{path: path}
	// NORMAL: a power loss can take the newest transactions, and nothing else.
	db.write, err = sql.Open("sqlite", source(path, writeCache, "&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(33554432)"))
	if err != nil {
		return nil, "", err
	}
	db.write.SetMaxOpenConns(1)
	if db.read, err = sql.Open("sqlite", source(path, readCache, "&_query_only=1")); err == nil {
		db.read.SetMaxOpenConns(readers)
		db.read.SetMaxIdleConns(readers)
		damage, err = db.prepare()
	}
	if err == nil && damage == "" {
		return db, "", nil
	}
	db.close()
	if err != nil && damaged(err) {
		return nil, err.Error(), nil
	}
	return nil, damage, err
}

// touch makes the file with the permissions that it and its companions are to
// have.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// prepare checks the version and makes the tables of a new file.
func (db *database) prepare() (damage string, err error) {
	tx, err := db.write.Begin()
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	var id, version, tables int
	row := tx.QueryRow("SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)")
	if err := row.Scan(&id, &version, &tables); err != nil {
		return "", err
	}
	switch {
	case tables == 0:
		if _, err := tx.Exec(fmt.Sprintf("%s; PRAGMA application_id=%d; PRAGMA user_version=%d", schema, applicationID, schemaVersion)); err != nil {
			return "", err
		}
		db.fresh = true
	case id != applicationID:
		return "it is no index", nil
	case version != schemaVersion:
		return fmt.Sprintf("it has version %d, not %d", version, schemaVersion), nil
	}
	if err := tx.Commit(); err != nil {
		return "", err
	}
	if db.file, err = os.Stat(db.path); err != nil {
		return "", err
	}
	// The sum keeps SQLite from planning anew for each limit.
	db.postings, err = db.read.Prepare("SELECT group_concat(id) FROM (SELECT rowid AS id FROM terms WHERE terms MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?+0)")
	return "", err
}

func (db *database) close() error {
	var errs []error
	if db.postings != nil {
		errs = append(errs, db.postings.Close())
	}
	if db.read != nil {
		errs = append(errs, db.read.Close())
	}
	return errors.Join(append(errs, db.write.Close())...)
}

// replaced reports whether the name no longer leads to the open file: somebody
// has removed it, or another process has made it anew.
func (db *database) replaced() bool {
	fi, err := os.Stat(db.path)
	return err != nil || !os.SameFile(fi, db.file)
}

// errDamaged is wrapped by errors about an index that contradicts itself.
var errDamaged = errors.New("the index contradicts itself")

// damaged reports whether an error says that the file cannot be used, whatever
// is tried.
func damaged(err error) bool {
	if errors.Is(err, errDamaged) {
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

// unusable reports whether an error says that nothing can be written here.
func unusable(err error) bool {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTEMPTY) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return true
	}
	return false
}

// temporary returns where an index goes that has no other place.
func temporary(path string) (dir, file string, err error) {
	dir, err = os.MkdirTemp("", "lethe-recall-")
	return dir, filepath.Join(dir, cmp.Or(filepath.Base(path), "recall.db")), err
}
