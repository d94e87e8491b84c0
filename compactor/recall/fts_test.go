package recall

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"lethe/internal/test/lethetest"
)

// beside asks SQLite's FTS5 what the scale test asks, of the same texts, and compares the ranks; 0 is none among ten.
func beside(t *testing.T, path string, n int, queries []string, wanted, ours []int) {
	db, err := sql.Open("sqlite", path)
	lethetest.Must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	v, batch := newVocabulary(scaleWords), (*sql.Tx)(nil)
	if _, err := db.Exec("CREATE VIRTUAL TABLE said USING fts5(body, tokenize='porter unicode61')"); err == nil { // else it is there
		batch, err = db.Begin()
		lethetest.Must(t, err)
		for i := range n {
			text, _ := original(scaleRand(i), v, i, scaleBoot.Add(time.Duration(i+1)*time.Minute))
			_, err := batch.Exec("INSERT INTO said(rowid, body) VALUES (?, ?)", i+1, text)
			lethetest.Must(t, err)
		}
		lethetest.Must(t, batch.Commit())
	}
	before, theirs := usage().cpu, make([]int, len(queries))
	for k, query := range queries {
		words := strings.FieldsFunc(query, func(r rune) bool { return !strings.ContainsRune(letters, r) })
		rows, err := db.Query("SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT 10", `"`+strings.Join(words, `" OR "`)+`"`)
		lethetest.Must(t, err)
		for place := 1; rows.Next(); place++ {
			var id int
			lethetest.Must(t, rows.Scan(&id))
			if id == wanted[k]+1 {
				theirs[k] = place
			}
		}
		lethetest.Must(t, rows.Err())
	}
	t.Logf("FTS5: processor %v for %d searches", usage().cpu-before, len(queries))
	for _, most := range []int{1, 10} {
		found := func(ranks []int, k int) float64 {
			if ranks[k] > 0 && ranks[k] <= most {
				return 100 / float64(len(queries))
			}
			return 0
		}
		a, b, differences := 0.0, 0.0, []float64(nil)
		for range 2000 { // a paired bootstrap
			sum := 0.0
			for range queries {
				k := rand.IntN(len(queries))
				sum += found(ours, k) - found(theirs, k)
			}
			differences = append(differences, sum)
		}
		for k := range queries {
			a, b = a+found(ours, k), b+found(theirs, k)
		}
		slices.Sort(differences)
		t.Logf("among %d: recall %.1f, FTS5 %.1f, difference %+.1f (95 %%: %+.1f to %+.1f)", most, a, b, a-b, differences[50], differences[1949])
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
