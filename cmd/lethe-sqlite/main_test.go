package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// made makes a file in WAL mode with two rows, and leaves it open.
func made(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	lethetest.Must(t, err)
	for _, statement := range []string{
		"pragma journal_mode=wal", "create table t(id integer, said text, at timestamp, packed blob, none text)",
		"insert into t values (1, 'hello <◆>', '2026-03-04T10:12:00Z', x'28b52ffd', null), (2, 'again', null, null, 'x')",
	} {
		_, err := db.Exec(statement)
		lethetest.Must(t, err)
	}
	return db
}

func rowsOf(t *testing.T, path, query string) string {
	t.Helper()
	var out bytes.Buffer
	lethetest.Must(t, run(t.Context(), &out, path, query))
	return out.String()
}

const want = `{"at":"2026-03-04T10:12:00Z","id":1,"none":null,"packed":"KLUv/Q==","said":"hello <◆>"}
{"at":null,"id":2,"none":"x","packed":null,"said":"again"}
`

// A file that was closed has no log beside it; one that somebody writes has its newest rows there. Neither changes, and
// nothing is made beside them.
func TestWAL(t *testing.T) {
	dir := lethetest.Dir(t)
	path := filepath.Join(dir, "a # b?.db")
	db := made(t, filepath.Join(dir, "plain.db"))
	lethetest.Must(t, db.Close())
	lethetest.Must(t, os.Rename(filepath.Join(dir, "plain.db"), path))
	lethetest.Must(t, os.Chmod(dir, 0o500))
	lethetest.Equal(t, "a closed file", rowsOf(t, path, "select * from t order by id"), want)
	lethetest.Must(t, os.Chmod(dir, 0o700))
	live := filepath.Join(dir, "live.db")
	writer := made(t, live)
	defer writer.Close()
	before := listed(t, dir)
	lethetest.Equal(t, "a file with a log", rowsOf(t, live, "select * from t order by id"), want)
	lethetest.Equal(t, "the directory", listed(t, dir), before)
}

func listed(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	lethetest.Must(t, err)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		lethetest.Must(t, err)
		if !strings.HasSuffix(entry.Name(), "-shm") {
			all.WriteString(entry.Name() + string(text))
		}
	}
	return all.String()
}

// What is no SQLite file is refused, and a missing one is not made; no query writes.
func TestRefused(t *testing.T) {
	dir := lethetest.Dir(t)
	text, missing, good := filepath.Join(dir, "text.db"), filepath.Join(dir, "missing.db"), filepath.Join(dir, "good.db")
	lethetest.Write(t, text, "no database")
	lethetest.Must(t, made(t, good).Close())
	for _, c := range []struct{ path, query, want string }{
		{text, "select 1", "no SQLite file"},
		{missing, "select 1", "no such file"},
		{dir, "select 1", "no regular file"},
		{good, "select * from sheep", "no such table: sheep"},
		{good, "delete from t returning id", "readonly"},
	} {
		err := run(context.Background(), new(bytes.Buffer), c.path, c.query)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.query, c.path, err, c.want)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("it has made the missing file")
	}
}
