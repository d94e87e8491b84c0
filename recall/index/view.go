package index

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"lethe/blobs"
)

// View is what the index holds at one moment.
type View struct {
	*state
	Only Filter // what lists and times are limited to

	passed map[string][]uint64 // by file of a run: its segments that pass Only
}

// Segments is how many segments there are, numbered from 1.
func (v *View) Segments() int { return int(v.next() - 1) }

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
		ID:       segment - int64(rec.Segment),
		Segments: int64(rec.Segments),
		Hash:     rec.Hash,
		From:     int(rec.From),
		To:       int(rec.To),
		Size:     rec.Size,
		First:    time.UnixMicro(rec.First).UTC(),
		Last:     time.UnixMicro(rec.Last).UTC(),
	}, nil
}

// Filter is a limit on segments; the zero Filter is none.
type Filter struct {
	Has          []string  // terms as Term makes them: a segment has all of them
	Since, Until time.Time // something of its original was said between them; zero is no bound
}

// passing has a bit for each segment of a run that passes a filter.
func (r *run) passing(f Filter) ([]uint64, error) {
	all, err := r.during(f.Since, f.Until)
	for _, term := range f.Has {
		segments, err := r.with(term)
		if err != nil {
			return nil, err
		}
		some := make([]uint64, len(all))
		for at := range segments {
			some[at/64] |= 1 << (at % 64)
		}
		for k := range all {
			all[k] &= some[k]
		}
	}
	return all, err
}

// during has a bit for each segment of a run whose original has something said between two times.
func (r *run) during(since, until time.Time) ([]uint64, error) {
	out := make([]uint64, (r.N+63)/64)
	if since.IsZero() && until.IsZero() {
		for k := range out {
			out[k] = ^uint64(0)
		}
		return out, nil
	}
	data, err := r.read(0, r.N*recordBytes)
	if err != nil {
		return nil, err
	}
	for at := range r.N {
		times := data[(at+1)*recordBytes-16:]
		first := int64(binary.LittleEndian.Uint64(times))
		last := int64(binary.LittleEndian.Uint64(times[8:]))
		if last >= since.UnixMicro() && (until.IsZero() || first <= until.UnixMicro()) {
			out[at/64] |= 1 << (at % 64)
		}
	}
	return out, nil
}

// During is v, limited to what was said between two times too.
func (v *View) During(since, until time.Time) *View {
	f := v.Only
	if since.After(f.Since) {
		f.Since = since
	}
	if f.Until.IsZero() || until.Before(f.Until) {
		f.Until = until
	}
	return &View{state: v.state, Only: f, passed: map[string][]uint64{}}
}

// List is where a term stands in a class: its postings in each run.
type List [][]byte

// Len counts the segments of a list, whatever a view is limited to.
func (l List) Len() (n int) {
	for _, list := range l {
		for _, c := range list {
			if c < 0x80 { // the last byte of a posting
				n++
			}
		}
	}
	return n
}

// Lists looks up a term in each class.
func (v *View) Lists(term string) (out [Classes + 1]List, err error) {
	for i := range v.Runs {
		lists, err := v.Runs[i].lists(keyOf(term))
		if err != nil {
			return out, err
		}
		for class, list := range lists {
			out[class] = append(out[class], list)
		}
	}
	return out, nil
}

// Newest returns the newest segments of a list, or of all with a nil one, at most n and as far as
// the view is limited to them.
func (v *View) Newest(list List, n int) (out []int64, err error) {
	for i, r := range slices.Backward(v.Runs) {
		passing := v.passed[r.File]
		if passing == nil {
			if passing, err = r.passing(v.Only); err != nil {
				return nil, err
			}
			v.passed[r.File] = passing
		}
		segments := r.all
		if list != nil {
			segments = r.each(list[i])
		}
		var here []int64
		for at := range segments {
			if passing[at/64]&(1<<(at%64)) != 0 {
				here = append(here, r.First+at)
			}
		}
		slices.Reverse(here)
		out = append(out, here[:min(len(here), n-len(out))]...)
	}
	return out, nil
}

// all yields the segments of a run, counted from its first.
func (r *run) all(yield func(int64) bool) {
	for at := int64(0); at < r.N && yield(at); at++ {
	}
}
