package index

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"lethe/blobs"
)

// View is what the index holds at one moment.
type View struct {
	*state
	Only Filter // what postings are limited to; nil is no limit

	passed  map[string][]uint64 // by file of a run: its segments that pass
	scratch []int64
}

// Next is the number of the segment that comes next; there is one less.
func (v *View) Next() int64 { return v.next() }

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
func (v *View) Doc(segment int64) (Doc, error) {
	i := slices.IndexFunc(v.Runs, func(r run) bool { return segment < r.First+r.N })
	rec, err := v.Runs[i].record(segment)
	if err != nil || rec.Segment < 0 || rec.Segment >= rec.Segments {
		return Doc{}, fmt.Errorf("look up an original: %w: segment %d: %w", errDamaged, segment, err)
	}
	return Doc{
		ID: segment - int64(rec.Segment), Segments: int64(rec.Segments), Hash: rec.Hash, From: int(rec.From), To: int(rec.To), Size: rec.Size,
		First: time.UnixMicro(rec.First).UTC(), Last: time.UnixMicro(rec.Last).UTC(),
	}, nil
}

// Filter is a limit on segments: each has one of the terms of each group.
type Filter [][]string

// Has limits to originals that have a value: a room, a tool or a kind.
func Has(key, value string) []string { return []string{filterTerm(key, value)} }

// passing has a bit for each segment of a run that passes a filter.
func (r *run) passing(filter Filter) (all []uint64, err error) {
	for _, group := range filter {
		some := make([]uint64, (r.N+63)/64)
		for _, t := range group {
			list, err := r.postings(keyOf(t) | About)
			if err != nil {
				return nil, err
			}
			for at := range r.each(list) {
				some[at/64] |= 1 << (at % 64)
			}
		}
		for k := range all {
			some[k] &= all[k]
		}
		all = some
	}
	return all, nil
}

// Newest returns the newest segments that have one of some terms too, newest first, at most n.
func (v *View) Newest(terms []string, n int) (out []int64, err error) {
	for _, r := range slices.Backward(v.Runs) {
		passing, err := r.passing(append(v.Only[:len(v.Only):len(v.Only)], terms))
		if err != nil {
			return nil, err
		}
		for k, word := range slices.Backward(passing) {
			for ; word != 0 && len(out) < n; word &^= 1 << (bits.Len64(word) - 1) {
				out = append(out, r.First+int64(64*k+bits.Len64(word)-1))
			}
		}
	}
	return out, nil
}

// Postings returns the newest segments before one that have a term in a class, newest
// first, at most n.
func (v *View) Postings(ctx context.Context, term string, class int, before int64, n int) (out []int64, err error) {
	for _, r := range slices.Backward(v.Runs) {
		if len(out) == n || r.First >= before {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list, err := r.postings(keyOf(term) | uint64(class))
		if err != nil {
			return nil, err
		}
		passing := v.passed[r.File]
		if list != nil && v.Only != nil && passing == nil {
			if passing, err = r.passing(v.Only); err != nil {
				return nil, err
			}
			v.passed[r.File] = passing
		}
		v.scratch = v.scratch[:0]
		for at := range r.each(list) {
			if r.First+at < before && (passing == nil || passing[at/64]&(1<<(at%64)) != 0) {
				v.scratch = append(v.scratch, r.First+at)
			}
		}
		slices.Reverse(v.scratch)
		out = append(out, v.scratch[:min(len(v.scratch), n-len(out))]...)
	}
	return out, nil
}
