package index

import (
	"bufio"
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
	"lethe/recall/text"
)

// A run is a file that never changes: segments that follow each other, with
//
//	a record for each segment
//	an entry for each term in each class, in the order of their keys: the key, how many bytes follow, and its postings
//	for each beginning of a key, at which byte the entries that begin so do
//
// A posting is a uvarint: how many segments it lies behind the one before, or the beginning. So to
// look up a term is to read two numbers, and then about a kilobyte.
type run struct {
	File  string `json:"file"`  // what follows the index's path and a hyphen
	First int64  `json:"first"` // segment
	N     int64  `json:"n"`     // segments
	Size  int64  `json:"size"`  // bytes of the records and the entries
	Bits  int    `json:"bits"`  // of a key by which its entry is found

	file *os.File
}

// record says of a segment which original it belongs to.
type record struct {
	Hash        blobs.Hash
	Segment     int32 // of the original, from 0
	Segments    int32
	From, To    int32 // entries
	Size        int64
	First, Last int64 // microseconds
}

const (
	recordBytes = 72
	keyBits     = 48
	keyBytes    = keyBits / 8
	segmentBits = 64 - keyBits // of a posting, while it is collected
	bucketBytes = 1 << 10      // of entries whose keys begin alike, about
)

// keyOf is what a term is known by, with room for its class: a hash, of which one among a thousand indexes of
// a million terms has the same twice. A match that comes of it is none for stage two.
func keyOf(term string) uint64 { return hashOf(term) >> (64 - keyBits) &^ (Classes | About) }

// hashOf is FNV-1a, mixed.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h = (h ^ h>>29) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// open opens the file of a run that begins with a segment.
func (r *run) open(path string, first int64) (err error) {
	outside := strings.ContainsRune(r.File, filepath.Separator)
	if outside || r.First != first || r.N <= 0 || r.Bits < 0 || r.Bits > 32 || r.Size < r.N*recordBytes {
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

// record reads the record of a segment.
func (r *run) record(segment int64) (rec record, err error) {
	data, err := r.read((segment-r.First)*recordBytes, recordBytes)
	if err == nil {
		_, err = binary.Decode(data, binary.LittleEndian, &rec)
	}
	return rec, err
}

// lists returns the postings of a key in each class, nil where there are none.
func (r *run) lists(key uint64) (out [Classes + 1][]byte, err error) {
	data, err := r.bucket(key >> (keyBits - r.Bits))
	if err != nil {
		return out, err
	}
	for e := (entries{rest: data}); e.next() && e.key <= key|Classes; {
		if e.key >= key {
			out[e.key-key] = e.list
		}
	}
	return out, nil
}

// with yields the segments with a filter's term, counted from the run's first segment.
func (r *run) with(term string) (iter.Seq[int64], error) {
	lists, err := r.lists(keyOf(term))
	return r.each(lists[About]), err
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

// each yields the postings of a list in order, counted from the run's first segment.
func (r *run) each(list []byte) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for at := uint64(0); len(list) > 0; {
			v, n := binary.Uvarint(list)
			at += v
			if n <= 0 || at >= uint64(r.N) || !yield(int64(at)) {
				return
			}
			list = list[n:]
		}
	}
}

// entries reads entries one after the other; none where they are damaged.
type entries struct {
	rest, list []byte
	key        uint64
}

func (e *entries) next() bool {
	if len(e.rest) <= keyBytes {
		e.key = 1 << keyBits // behind all others
		return false
	}
	e.key = uint64(binary.BigEndian.Uint16(e.rest))<<32 | uint64(binary.BigEndian.Uint32(e.rest[2:]))
	size, n := binary.Uvarint(e.rest[keyBytes:])
	if n <= 0 || size > uint64(len(e.rest)-keyBytes-n) {
		e.rest = nil
		return e.next()
	}
	e.rest = e.rest[keyBytes+n:]
	e.list, e.rest = e.rest[:size:size], e.rest[size:]
	return true
}

// runWriter writes a run. Its methods do nothing after an error, which finish returns.
type runWriter struct {
	run
	out    *bufio.Writer
	starts []byte // what stands behind the entries
	at     int    // bytes of entries
	head   []byte
}

// newRun begins a run beside the index at a path, with entries of some size or less.
func newRun(path string, first, n, size int64) (*runWriter, error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-")
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(filepath.Base(file.Name()), filepath.Base(path)+"-")
	r := run{File: name, First: first, N: n, Bits: bits.Len64(uint64(size / bucketBytes)), file: file}
	return &runWriter{run: r, out: bufio.NewWriterSize(file, 1<<16)}, nil
}

func (w *runWriter) add(key uint64, list []byte) {
	w.start(key >> (keyBits - w.Bits))
	w.head = binary.BigEndian.AppendUint16(w.head[:0], uint16(key>>32))
	w.head = binary.AppendUvarint(binary.BigEndian.AppendUint32(w.head, uint32(key)), uint64(len(list)))
	w.out.Write(w.head)
	w.out.Write(list)
	w.at += len(w.head) + len(list)
}

// start says that the entries up to a beginning of a key do not begin before here.
func (w *runWriter) start(prefix uint64) {
	for len(w.starts) <= 4*int(prefix) {
		w.starts = binary.LittleEndian.AppendUint32(w.starts, uint32(w.at))
	}
}

// finish makes the run durable.
func (w *runWriter) finish() (run, error) {
	w.Size = w.N*recordBytes + int64(w.at)
	w.start(1 << w.Bits)
	w.out.Write(w.starts)
	return w.run, errors.Join(w.out.Flush(), w.file.Sync())
}

// batch collects segments for a run.
type batch struct {
	first    int64
	records  []byte
	postings []uint64 // each a key, and a segment counted from first
	hashes   map[blobs.Hash]bool
	added    int // originals
}

const mostPostings = 1 << 20 // of a batch: 8 MB

func (b *batch) segments() int { return len(b.records) / recordBytes }

// full reports whether there is enough for a run, or the segments of another original may be too many.
func (b *batch) full() bool {
	return len(b.postings) >= mostPostings || b.segments() >= 1<<segmentBits-text.MaxSegments
}

// take adds an original.
func (b *batch) take(d document) error {
	for i, keys := range d.rows {
		for _, key := range keys {
			b.postings = append(b.postings, key<<segmentBits|uint64(b.segments()))
		}
		var err error
		b.records, err = binary.Append(b.records, binary.LittleEndian, record{
			Hash:     d.Hash,
			Segment:  int32(i),
			Segments: int32(len(d.rows)),
			From:     int32(d.From),
			To:       int32(d.To),
			Size:     d.Size,
			First:    d.First.UnixMicro(),
			Last:     d.Last.UnixMicro(),
		})
		if err != nil {
			return err
		}
	}
	b.hashes[d.Hash] = true
	b.added++
	return nil
}

// join puts the segments of the run before into the batch, too.
func (b *batch) join(r run) error {
	data, err := r.read(0, r.Size)
	if err != nil {
		return err
	}
	for i := range b.postings {
		b.postings[i] += uint64(r.N)
	}
	records := data[:r.N*recordBytes]
	for e := (entries{rest: data[len(records):]}); e.next(); {
		for at := range r.each(e.list) {
			b.postings = append(b.postings, e.key<<segmentBits|uint64(at))
		}
	}
	b.records = slices.Concat(records, b.records)
	b.first = r.First
	return nil
}

// write writes the run of a batch.
func (b *batch) write(path string) (run, error) {
	slices.Sort(b.postings)
	b.postings = slices.Compact(b.postings) // what is written about an original says some words twice
	w, err := newRun(path, b.first, int64(b.segments()), int64(3*len(b.postings)))
	if err != nil {
		return run{}, err
	}
	w.out.Write(b.records)
	var list []byte
	last := uint64(0)
	for i, p := range b.postings {
		key, at := p>>segmentBits, p&(1<<segmentBits-1)
		list, last = binary.AppendUvarint(list, at-last), at
		if i+1 == len(b.postings) || b.postings[i+1]>>segmentBits != key {
			w.add(key, list)
			list, last = list[:0], 0
		}
	}
	return w.finish()
}
