package blobs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"lethe/internal/durable"
)

// ErrNotFound is wrapped by errors about a blob that is not in the store.
var ErrNotFound = errors.New("no such blob")

// ErrDigest is wrapped by errors about a blob whose bytes are not what its name says.
var ErrDigest = errors.New("digest mismatch")

// ErrAmbiguous is wrapped by errors about a short hash that fits several blobs.
var ErrAmbiguous = errors.New("ambiguous")

// MinPrefix is the shortest hash that Resolve takes: the width of a shard, so
// that one directory listing decides.
const MinPrefix = 3

// shortLen is how many digits a ref shows. Twelve collide too soon: 0.2 % at a
// million blobs, and tool output is chosen by others.
const shortLen = 16

// Store is a directory of blobs.
type Store struct {
	dir string
	// shards tells which shard directories are known to be durable: made, or
	// listed and synced, by this Store. Indexed by the first MinPrefix digits.
	shards [1 << (4 * MinPrefix)]atomic.Bool
	listed atomic.Bool // those that were there are in shards
}

// Open returns the store in dir, which is made if it is missing; the name of one that is
// there is durable since the home was opened. It reads nothing.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir}
	if s.there() != nil {
		if err := durable.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open blob store: %w", err)
		}
	}
	return s, nil
}

// Path returns where the blob h is or would be.
func (s *Store) Path(h Hash) string {
	name := h.String()
	return filepath.Join(s.dir, name[:MinPrefix], name[MinPrefix:])
}

// maxBlob bounds what is read of a blob, in bytes: far above what an identity hears or does.
const maxBlob = 1 << 30

// Put stores a blob and returns its address. When it returns nil the blob
// survives power loss. Putting bytes that are there already checks them and
// syncs them again before answering, since the process that wrote them
// first may have crashed before its own sync; bytes that are damaged are replaced.
//
// The Meta must have a year of four digits and a Life of one line. After an
// error the blob may be there or not; putting it again is always safe.
func (s *Store) Put(m Meta, body []byte) (Hash, error) { return s.PutLater(nil, m, body) }

// PutLater is Put with the syncs of the blob left to a set. Until the set's Wait returns nil, a power loss can
// leave a blob whose bytes are not what its name says, which every reader refuses. It is for who alone puts
// such a blob: the process that has the lock of the identity in Meta.
func (s *Store) PutLater(later *durable.Syncs, m Meta, body []byte) (Hash, error) {
	data := Encode(m, body)
	h := Sum(data)
	if err := s.put(later, h, data); err != nil {
		return h, fmt.Errorf("put blob %s: %w", h, err)
	}
	return h, nil
}

// Adopt stores the file of a blob that was written elsewhere, and leaves its syncs to a set. A tombstone takes the place
// of the text that it is for.
func (s *Store) Adopt(later *durable.Syncs, data []byte) (Hash, error) {
	h := Sum(data)
	b, err := Decode(data)
	if err == nil && b.Gone != nil {
		_, err = s.Bury(*b.Gone, b.Meta, b.Body)
		return b.Gone.Of, err
	}
	if _, is := s.Get(h); is == nil { // or its tombstone, which stays
		return h, later.Sync(s.Path(h))
	}
	if err == nil {
		err = s.put(later, h, data)
	}
	if err != nil {
		return h, fmt.Errorf("put blob %s: %w", h, err)
	}
	return h, nil
}

func (s *Store) put(later *durable.Syncs, h Hash, data []byte) error {
	path := s.Path(h)
	if known := &s.shards[shardOf(h)]; !known.Load() {
		var own durable.Syncs
		if err := cmp.Or(s.shard(cmp.Or(later, &own), filepath.Dir(path), known), own.Wait()); err != nil {
			return err
		}
	}
	old, err := durable.ReadWhole(path, maxBlob)
	there := err == nil && bytes.Equal(old, data)
	switch {
	case later == nil && there:
		return durable.Sync(path)
	case there:
		return later.Sync(path)
	case later != nil && errors.Is(err, fs.ErrNotExist):
		return durable.WriteFileLater(later, path, data, 0o400)
	}
	return durable.WriteFile(path, data, 0o400) // what is there and could not be read may yet be whole
}

// shard makes a shard where it is missing, and leaves the sync of its name to a set; the first time with those that are
// there, each of which may have been made by a process that died before its own sync.
func (s *Store) shard(later *durable.Syncs, dir string, known ...*atomic.Bool) error {
	if err := durable.MkdirLater(later, dir, 0o700); err != nil { // blobs/ is not made anew beside what was moved away
		return cmp.Or(s.there(), err)
	}
	if !s.listed.Load() {
		all, err := os.ReadDir(s.dir)
		if err != nil {
			return err
		}
		for _, shard := range all {
			if n, err := strconv.ParseUint(shard.Name(), 16, 4*MinPrefix); err == nil && len(shard.Name()) == MinPrefix {
				known = append(known, &s.shards[n])
			}
		}
	}
	later.Then(func() {
		for _, shard := range known {
			shard.Store(true)
		}
		s.listed.Store(true)
	})
	return nil
}

// Bury puts a tombstone in the place of a blob, and returns the BLAKE3 of its file. The bytes that
// stand there are overwritten first, so that they are not left on the disk under no name, as far as
// the disk and its file system write in place. When it returns nil, that is durable; done again
// after a crash it ends the same.
func (s *Store) Bury(t Tombstone, m Meta, body []byte) (Hash, error) {
	data, path := EncodeTombstone(t, m, body), s.Path(t.Of)
	sum := Sum(data)
	err := durable.MkdirAll(filepath.Dir(path), 0o700)
	if old, rerr := durable.ReadWhole(path, maxBlob); err == nil && rerr == nil && !bytes.Equal(old, data) {
		err = durable.Patch(path, durable.Piece{Data: make([]byte, len(old))})
	}
	if err == nil {
		err = durable.WriteFile(path, data, 0o400)
	}
	if err != nil {
		return sum, fmt.Errorf("bury blob %s: %w", t.Of, err)
	}
	return sum, nil
}

// there returns an error if the directory of the store was moved away. Its blobs are
// not lost, so that error does not wrap ErrNotFound.
func (s *Store) there() error {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing; move it back", s.dir)
	}
	return nil
}

// shardOf is the number that the first MinPrefix digits of h are.
func shardOf(h Hash) int { return int(h[0])<<4 | int(h[1]>>4) }

// Get reads and verifies a blob. The error wraps ErrNotFound or ErrDigest where
// it is one of these.
func (s *Store) Get(h Hash) (Blob, error) {
	var b Blob
	data, err := durable.ReadWhole(s.Path(h), maxBlob)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = cmp.Or(s.there(), ErrNotFound)
	case errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrTooLarge):
		err = fmt.Errorf("%w: %w", ErrDigest, err)
	case err == nil:
		if b, err = Decode(data); Sum(data) == h {
			b.Gone = nil
		} else if b.Gone == nil || b.Gone.Of != h {
			err = ErrDigest
		}
	}
	if err != nil {
		return Blob{}, fmt.Errorf("read blob %s: %w", h, err)
	}
	b.Hash = h
	return b, nil
}

// Has reports whether a blob of that name is there, without reading it.
func (s *Store) Has(h Hash) bool {
	_, err := os.Stat(s.Path(h))
	return err == nil
}

// Resolve finds the blob whose address begins with prefix: at least MinPrefix
// hex digits in lower case. The error wraps ErrNotFound, or ErrAmbiguous and
// lists the candidates, at most 16.
func (s *Store) Resolve(prefix string) (Hash, error) {
	found, err := s.candidates(prefix)
	switch {
	case err != nil:
		return Hash{}, fmt.Errorf("resolve %q: %w", prefix, err)
	case len(found) == 0:
		return Hash{}, fmt.Errorf("resolve %q: %w", prefix, cmp.Or(s.there(), ErrNotFound))
	case len(found) > 1:
		names := strings.Trim(fmt.Sprint(found[:min(len(found), 16)]), "[]")
		return Hash{}, fmt.Errorf("resolve %q: %w: it may be %s", prefix, ErrAmbiguous, names)
	}
	return found[0], nil
}

func (s *Store) candidates(prefix string) ([]Hash, error) {
	if len(prefix) < MinPrefix || len(prefix) > 64 || !isHex(prefix) {
		return nil, fmt.Errorf("want %d to 64 hex digits in lower case", MinPrefix)
	}
	if h, err := ParseHash(prefix); err == nil { // whole: no listing needed
		if s.Has(h) {
			return []Hash{h}, nil
		}
		return nil, nil
	}
	shard := prefix[:MinPrefix]
	names, err := os.ReadDir(filepath.Join(s.dir, shard)) // in order
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []Hash
	for _, name := range names {
		h, err := ParseHash(shard + name.Name())
		if err == nil && strings.HasPrefix(name.Name(), prefix[MinPrefix:]) { // and no temporary file
			found = append(found, h)
		}
	}
	return found, nil
}

// Find reads the blob that Resolve finds. Of one that cannot be read, there is the Hash.
func (s *Store) Find(prefix string) (Blob, error) {
	h, err := s.Resolve(prefix)
	if err != nil {
		return Blob{}, err
	}
	b, err := s.Get(h)
	b.Hash = h
	return b, err
}

// Short returns the beginning of h that a ref shows: 16 digits, or as many more
// as it takes to be told from every other blob in the store.
func (s *Store) Short(h Hash) string {
	full, n := h.String(), shortLen
	found, err := s.candidates(full[:n])
	if err != nil {
		return full
	}
	for _, other := range found {
		for other != h && strings.HasPrefix(other.String(), full[:n]) {
			n++
		}
	}
	return full[:n]
}

// Each calls f for every blob's address, in no order, and stops at its first
// error. Files that are no blobs are passed over. It lists the whole store: for
// checks, never for a running identity.
func (s *Store) Each(f func(Hash) error) error {
	names, err := fs.Glob(os.DirFS(s.dir), "???/*")
	for _, name := range names {
		if h, perr := ParseHash(strings.Replace(name, "/", "", 1)); perr == nil && err == nil { // no stranger
			err = f(h)
		}
	}
	return err
}
