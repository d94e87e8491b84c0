package recall

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
)

func BenchmarkRead(b *testing.B) {
	text, _ := original(scaleRand(1), newVocabulary(50_000), 1, time.Now())
	blob := blobs.Blob{Body: []byte(text)}
	r := newReader()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.read(blob, 1, 3, time.Time{}, time.Time{})
	}
}

func BenchmarkScan(b *testing.B) {
	text, _ := original(scaleRand(1), newVocabulary(50_000), 1, time.Now())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for range scan(text) {
		}
	}
}

// What FTS5 does by itself, and what is done with its posting lists here: the
// same life, the same queries. LETHE_RECALL_BLOBS sets its size.
func BenchmarkStageOne(b *testing.B) {
	n := fewBlobs
	if s := os.Getenv(blobsEnv); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	if err := generate(dir, n); err != nil {
		b.Fatal(err)
	}
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		b.Fatal(err)
	}
	x, err := Open(filepath.Join(dir, "recall.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	ctx := context.Background()
	if _, err := x.Sync(ctx, store, filepath.Join(dir, "LIFE.md"), nil); err != nil {
		b.Fatal(err)
	}
	v := newVocabulary(scaleWords)
	var asked []string
	for i := range 50 {
		r := scaleRand(-1 - i)
		_, subject := original(scaleRand(r.IntN(n)), v, 0, time.Now())
		text := subject[0] + " " + subject[1]
		for range 4 {
			text += " " + word(20+v.draw(r))
		}
		asked = append(asked, text)
	}
	b.Run("lists", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if _, err := x.stageOne(ctx, asked[i%len(asked)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	plain, err := sql.Open("sqlite", filepath.Join(dir, "plain.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	plain.SetMaxOpenConns(1)
	if err := fillPlain(plain, v, n); err != nil {
		b.Fatal(err)
	}
	b.Run("bm25", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			match := `"` + strings.ReplaceAll(asked[i%len(asked)], " ", `" OR "`) + `"`
			var found int
			if err := plain.QueryRow("SELECT count(*) FROM (SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?)", match, mostBodies).Scan(&found); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// stageOne looks a text up without reading bodies.
func (x *Index) stageOne(ctx context.Context, text string) (*shelf, error) {
	db, err := x.current()
	if err != nil {
		return nil, err
	}
	tx, err := db.read.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	s := newStage(ctx, db, tx)
	if s.state, err = db.load(ctx, tx); err != nil {
		return nil, err
	}
	return s.run(ctx, analyse(text, time.Now()), nil)
}

// fillPlain indexes the same originals as FTS5 does it by itself.
func fillPlain(db *sql.DB, v *vocabulary, n int) error {
	if _, err := db.Exec(`PRAGMA synchronous=off; CREATE VIRTUAL TABLE plain USING fts5(body, content='', tokenize="porter unicode61 remove_diacritics 2")`); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for i := range n {
		text, _ := original(scaleRand(i), v, i, time.Now())
		if _, err := tx.Exec("INSERT INTO plain(rowid, body) VALUES (?, ?)", i+1, text); err != nil {
			return err
		}
	}
	return tx.Commit()
}
