package index

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
)

// View is what the index holds at one moment.
type View struct {
	state          state
	postings, docs *sql.Stmt
}

// Next is the number of the segment that comes next; there is one less.
func (v *View) Next() int64 { return v.state.Next }

// Doc is an original that stands in the index.
type Doc struct {
	ID          int64 // its first segment
	Segments    int64
	Hash        blobs.Hash
	From, To    int // entries
	Size        int64
	First, Last time.Time
}

// Doc returns the original that a segment belongs to.
func (v *View) Doc(ctx context.Context, segment int64) (Doc, error) {
	var d Doc
	var hash []byte
	var first, last int64
	err := v.docs.QueryRowContext(ctx, segment).Scan(&d.ID, &hash, &d.From, &d.To, &d.Segments, &d.Size, &first, &last)
	if err == nil && len(hash) != len(d.Hash) || err == sql.ErrNoRows || err == nil && segment >= d.ID+d.Segments {
		err = fmt.Errorf("%w: segment %d", errDamaged, segment)
	}
	if err != nil {
		return d, fmt.Errorf("look up an original: %w", err)
	}
	copy(d.Hash[:], hash)
	d.First, d.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
	return d, nil
}

// Postings returns the newest segments before one that match, newest first, at most
// limit.
func (v *View) Postings(ctx context.Context, match string, before int64, limit int) ([]int64, error) {
	// FTS5 brings them in one text: handing over each would take twice as long.
	var list sql.NullString
	err := v.postings.QueryRowContext(ctx, match, before, limit).Scan(&list)
	var out []int64
	if err == nil {
		out, err = numbers(list.String, before)
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", match, err)
	}
	return out, nil
}

// numbers reads segments from a text with commas between them. Each is before a
// given one.
func numbers(list string, before int64) ([]int64, error) {
	if list == "" {
		return nil, nil
	}
	out := make([]int64, 0, strings.Count(list, ",")+1)
	for text := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 || id >= before {
			return nil, fmt.Errorf("%w: segment %s", errDamaged, text)
		}
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b int64) int { return cmp.Compare(b, a) }) // FTS5 brings them so, but promises nothing
	return out, nil
}

// quote makes a term one token to FTS5: nothing in it is syntax, and what the
// tokenizer would cut at is replaced. Only names in filters have any.
func quote(term string) string {
	return `"` + strings.Map(func(r rune) rune {
		letter := '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if r < utf8.RuneSelf && !letter && !strings.ContainsRune(tokenChars, r) {
			return '_'
		}
		return r
	}, term) + `"`
}

// Term matches the segments that have a term in a class.
func Term(term string, class int) string {
	return quote(term + classMark + string(rune('0'+class)))
}

// Filter matches the segments of originals that have a value: a room, a tool or a
// kind.
func Filter(key, value string) string { return quote(filterTerm(key, value)) }

// And matches what matches both; "" matches everything.
func And(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " AND " + b
}

// During matches the segments of originals with something said between two times,
// by days of UTC; zero is no bound.
func During(since, until time.Time) string {
	terms := dayTerms(since.UTC(), until.UTC())
	for i, t := range terms {
		terms[i] = quote(t)
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}
