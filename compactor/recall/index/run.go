package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/compactor/recall/text"
)

// A run is a file that never changes: segments that follow each other, with
//
//	a record for each segment, a Doc
//	an entry for each term in each class, in the order of their keys: the key and how many postings follow, in 8 bytes,
//	and the postings, the segments counted from the first of the run, in 2 bytes each
//	for each beginning of a key, at which byte the entries that begin so do
//
// So to look up a term is to read two numbers, and then about a kilobyte.
type run struct {
	File  string `json:"file"`  // what follows the index's path and a hyphen
	First int64  `json:"first"` // segment
	N     int64  `json:"n"`     // segments
	Size  int64  `json:"size"`  // bytes of the records and the entries
	Bits  int    `json:"bits"`  // at the beginning of a key; the table finds entries by them

	file *os.File
}

const (
	recordBytes = 64
	keyBits     = 48
	segmentBits = 64 - keyBits // of a posting, while it is collected
	bucketBytes = 1 << 10      // of entries whose keys begin alike, about
)

// keyOf returns the key of a term, with room for its class: a hash. One among a thousand indexes of a million terms has
// the same key twice. A match by such a key is dropped in stage two.
func keyOf(term string) uint64 { return hashOf(term) >> (64 - keyBits) &^ (Classes | About) }

// hashOf is FNV-1a, mixed.
func hashOf(term string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(term) {
		hash = (hash ^ uint64(term[i])) * 1099511628211
	}
	hash = (hash ^ hash>>29) * 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}

// open opens the file of a run that begins with a segment.
func (r *run) open(path string, first int64) (err error) {
	outside := strings.ContainsRune(r.File, filepath.Separator)
	hasBits := r.Bits >= 0 && r.Bits <= 32
	hasNumber := r.N > 0 && r.N <= 1<<segmentBits
	hasSize := r.Size >= r.N*recordBytes
	switch {
	case outside, r.First != first, !hasBits, !hasNumber, !hasSize:
		return fmt.Errorf("%w: run %s", errDamaged, r.File)
	}
	if r.file, err = os.Open(path + "-" + r.File); errors.Is(err, fs.ErrNotExist) {
		return errRunGone
	}
	if err != nil {
		return err
	}
	fi, err := r.file.Stat()
	if err == nil && fi.Size() != r.Size+4<<r.Bits+4 {
		err = fmt.Errorf("%w: run %s has %d bytes", errDamaged, r.File, fi.Size())
	}
	return err
}

// read returns n bytes of the file.
func (r *run) read(at, n int64) ([]byte, error) {
	data := make([]byte, n)
	_, err := r.file.ReadAt(data, at)
	if err == io.EOF {
		err = fmt.Errorf("%w: run %s ends", errDamaged, r.File)
	}
	return data, err
}

// doc reads the record of a segment.
func (r *run) doc(segment int64) (d Doc, err error) {
	data, err := r.read((segment-r.First)*recordBytes, recordBytes)
	if err == nil {
		_, err = binary.Decode(data, binary.LittleEndian, &d)
	}
	return d, err
}

// lists returns the postings of a key in each class, or nil.
func (r *run) lists(key uint64) (out [Classes + 1][]byte, err error) {
	data, err := r.bucket(key >> (keyBits - r.Bits))
	for k, list, rest := entry(data); k != end; k, list, rest = entry(rest) {
		if k >= key && k <= key|Classes {
			out[k-key] = list
		}
	}
	return out, err
}

// with yields the segments with a filter's term, counted from the run's first segment.
func (r *run) with(term string) (iter.Seq[int64], error) {
	lists, err := r.lists(keyOf(term))
	return r.segments(lists[About]), err
}

// bucket reads the entries whose keys begin alike.
func (r *run) bucket(prefix uint64) ([]byte, error) {
	ends, err := r.read(r.Size+4*int64(prefix), 8)
	if err != nil {
		return nil, err
	}
	from := int64(binary.LittleEndian.Uint32(ends))
	to := int64(binary.LittleEndian.Uint32(ends[4:]))
	if from > to || r.N*recordBytes+to > r.Size {
		return nil, fmt.Errorf("%w: run %s", errDamaged, r.File)
	}
	return r.read(r.N*recordBytes+from, to-from)
}

// segments yields the postings of a list, the newest first.
func (r *run) segments(list []byte) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := len(list) - 2; i >= 0; i -= 2 {
			at := int64(binary.LittleEndian.Uint16(list[i:]))
			if at < r.N && !yield(at) {
				return
			}
		}
	}
}

// end stands for the key of an entry behind the last one.
const end = ^uint64(0)

// entry returns the key and the postings of the first entry of data, and what follows it. A damaged one ends data, and
// follows.
func entry(data []byte) (key uint64, list, rest []byte) {
	if len(data) < 8 {
		return end, nil, data
	}
	head := binary.LittleEndian.Uint64(data)
	size := 8 + 2*int(head&(1<<segmentBits-1))
	if size > len(data) {
		return end, nil, data
	}
	return head >> segmentBits, data[8:size], data[size:]
}

// batch collects segments for a run.
type batch struct {
	first    int64
	records  []byte
	postings []uint64            // each a key, and a segment counted from first
	entries  []byte              // made of the postings
	hashes   map[blobs.Hash]bool // of originals
}

const mostPostings = 1 << 20 // of a batch: 8 MB

func (b *batch) segments() int { return len(b.records) / recordBytes }

// full reports whether there is enough for a run, or the segments of another original may be too many.
func (b *batch) full() bool {
	return len(b.postings) >= mostPostings || b.segments() >= 1<<segmentBits-text.MaxSegments
}

// take adds an original.
func (blob *batch) take(doc document) (err error) {
	for i, keys := range doc.rows {
		for _, key := range keys {
			blob.postings = append(blob.postings, key<<segmentBits|uint64(blob.segments()))
		}
		doc.Segment = int64(i)
		if blob.records, err = binary.Append(blob.records, binary.LittleEndian, doc.Doc); err != nil {
			return err
		}
	}
	blob.hashes[doc.Hash] = true
	return nil
}

// encode makes entries of the postings.
func (b *batch) encode() {
	slices.Sort(b.postings)
	b.postings = slices.Compact(b.postings) // what is written about an original says some words twice
	for from, to := 0, 0; from < len(b.postings); from = to {
		key := b.postings[from] >> segmentBits
		for to < len(b.postings) && b.postings[to]>>segmentBits == key {
			to++
		}
		b.entries = binary.LittleEndian.AppendUint64(b.entries, key<<segmentBits|uint64(to-from))
		for _, p := range b.postings[from:to] {
			b.entries = binary.LittleEndian.AppendUint16(b.entries, uint16(p))
		}
	}
	b.postings = nil
}

// join puts the segments of the run before into an encoded batch, too. Both have their entries in order, so none is
// taken apart: that would need four times the memory. Of a damaged run nothing is taken, which would hide the damage.
func (b *batch) join(run run) error {
	data, err := run.read(0, run.Size)
	if err != nil {
		return err
	}
	records := data[:run.N*recordBytes]
	joined := make([]byte, 0, len(data)+len(b.entries))
	old, oldList, older := entry(data[len(records):])
	own, ownList, newer := entry(b.entries)
	isWhole := true
	for key := min(old, own); key != end; key = min(old, own) {
		var before, later []byte
		if old == key {
			before = oldList
			old, oldList, older = entry(older)
			isWhole = isWhole && old > key
		}
		next := 0
		for i := 0; i < len(before); i += 2 {
			at := int(binary.LittleEndian.Uint16(before[i:]))
			isWhole, next = isWhole && at >= next, at+1
		}
		isWhole = isWhole && next <= int(run.N)
		if own == key {
			later = ownList
			own, ownList, newer = entry(newer)
		}
		for i := 0; i < len(later); i += 2 {
			binary.LittleEndian.PutUint16(later[i:], binary.LittleEndian.Uint16(later[i:])+uint16(run.N))
		}
		joined = binary.LittleEndian.AppendUint64(joined, key<<segmentBits|uint64(len(before)+len(later))/2)
		joined = append(append(joined, before...), later...)
	}
	if !isWhole || len(older) > 0 {
		return errDamaged
	}
	b.entries = joined
	b.records = slices.Concat(records, b.records)
	b.first = run.First
	return nil
}

// write writes the run of an encoded batch beside the index at a path, and makes it durable.
func (b *batch) write(path string) (written run, err error) {
	written = run{First: b.first, N: int64(b.segments()), Bits: bits.Len(uint(len(b.entries) / bucketBytes))}
	written.Size = int64(len(b.records) + len(b.entries))
	at, starts := 0, []byte(nil)
	start := func(prefix uint64) { // the entries up to a beginning of a key do not begin before here
		for len(starts) <= 4*int(prefix) {
			starts = binary.LittleEndian.AppendUint32(starts, uint32(at))
		}
	}
	for key, list, rest := entry(b.entries); key != end; key, list, rest = entry(rest) {
		start(key >> (keyBits - written.Bits))
		at += 8 + len(list)
	}
	start(1 << written.Bits)
	if written.file, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-"); err != nil {
		return written, err
	}
	written.File = strings.TrimPrefix(filepath.Base(written.file.Name()), filepath.Base(path)+"-")
	for _, part := range [][]byte{b.records, b.entries, starts} {
		if err == nil {
			_, err = written.file.Write(part)
		}
	}
	return written, errors.Join(err, written.file.Sync())
}
