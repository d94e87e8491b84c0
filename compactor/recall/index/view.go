package index

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"lethe/blobs"
)

// View is the content of the index at one moment.
type View struct {
	*state
	Only Filter // limits lists and times

	passed map[string][]bool // by file of a run: its segments that pass Only
}

// Segments returns the number of segments. They are numbered from 1.
func (v *View) Segments() int { return int(v.next() - 1) }

// Doc is an original that stands in the index, and one segment of it.
type Doc struct {
	Hash        blobs.Hash
	Segment     int64 // from 0
	Size        int64 // of the original, in bytes
	First, Last int64 // microseconds
}

// Doc returns the original that a segment belongs to.
func (v *View) Doc(segment int64) (Doc, error) {
	i := slices.IndexFunc(v.Runs, func(r run) bool { return segment < r.First+r.N })
	doc, err := v.Runs[i].doc(segment)
	if err != nil {
		err = fmt.Errorf("look up segment %d: %w", segment, err)
	}
	return doc, err
}

// Filter is a limit on segments. The zero Filter passes all.
type Filter struct {
	Has          []string  // terms as Term makes them: a segment has each
	Since, Until time.Time // something of its original was said between them; zero is no bound
}

// passing reports which segments of a run pass the view's filter; nil means all.
func (v *View) passing(run *run) ([]bool, error) {
	filter := v.Only
	out, known := v.passed[run.File]
	anyTime := filter.Since.IsZero() && filter.Until.IsZero()
	passAll := anyTime && len(filter.Has) == 0
	if known || passAll {
		return out, nil
	}
	data, err := run.read(0, run.N*recordBytes)
	if err != nil {
		return nil, err
	}
	out = make([]bool, run.N)
	for at := range out {
		times := data[(at+1)*recordBytes-16:]
		first := int64(binary.LittleEndian.Uint64(times))
		last := int64(binary.LittleEndian.Uint64(times[8:]))
		tooLate := !filter.Until.IsZero() && first > filter.Until.UnixMicro()
		out[at] = !tooLate && last >= filter.Since.UnixMicro()
	}
	for _, term := range filter.Has {
		segments, err := run.with(term)
		if err != nil {
			return nil, err
		}
		some := make([]bool, run.N)
		for at := range segments {
			some[at] = out[at]
		}
		out = some
	}
	v.passed[run.File] = out
	return out, nil
}

// During returns the newest segments of a time that pass the view's filter, at most most.
func (v *View) During(since, until time.Time, most int) (out []int64, err error) {
	then := &View{state: v.state, Only: v.Only, passed: map[string][]bool{}}
	if since.After(v.Only.Since) {
		then.Only.Since = since
	}
	if v.Only.Until.IsZero() || until.Before(v.Only.Until) {
		then.Only.Until = until
	}
	for _, run := range slices.Backward(v.Runs) {
		passing, err := then.passing(&run)
		if err != nil {
			return nil, err
		}
		for at, passes := range slices.Backward(passing) {
			if passes && len(out) < most {
				out = append(out, run.First+int64(at))
			}
		}
	}
	return out, nil
}

// List holds the postings of a term in one class, for each run.
type List [][]byte

// Len counts the segments of a list, whatever a view is limited to.
func (l List) Len() (n int) {
	for _, list := range l {
		n += len(list) / 2
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

// Newest returns the newest segments of a list that pass the view's filter, at most most.
func (v *View) Newest(list List, most int) (out []int64, err error) {
	for i, run := range slices.Backward(v.Runs) {
		passing, err := v.passing(&run)
		if err != nil {
			return nil, err
		}
		for at := range run.segments(list[i]) {
			if len(out) == most {
				return out, nil
			}
			if passing == nil || passing[at] {
				out = append(out, run.First+at)
			}
		}
	}
	return out, nil
}
