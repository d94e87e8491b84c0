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

// ErrDigest is wrapped by errors about a blob whose bytes do not hash to its name.
var ErrDigest = errors.New("digest mismatch")

// ErrAmbiguous is wrapped by errors about a short hash that fits several blobs.
var ErrAmbiguous = errors.New("ambiguous")

// MinPrefix is the shortest hash that Resolve takes: the width of a shard, so
// that one directory listing decides.
const MinPrefix = 3

// shortLen is the number of digits that a ref shows. Twelve would collide too soon: 0.2 % at a
// million blobs, and others choose the output of tools.
const shortLen = 16

// Store is a directory of blobs.
type Store struct {
	dir string
	// shards[n] is true once the name of a shard directory is durable: this Store made it, or
	// listed and synced it. n is the number that the first MinPrefix digits spell.
	shards [1 << (4 * MinPrefix)]atomic.Bool
	// listed is true once shards also covers the directories that were there before this Store.
	listed atomic.Bool
}

// Open returns the store in dir. It makes dir if it is missing, and durably; it does not sync the name of a dir that
// exists, since opening the home has done so. It reads no blob.
func Open(dir string) (*Store, error) {
	store := &Store{dir: dir}
	if store.there() != nil {
		if err := durable.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open blob store: %w", err)
		}
	}
	return store, nil
}

// Path returns the path of the blob h, whether the store has it or not.
func (s *Store) Path(h Hash) string {
	name := h.String()
	return filepath.Join(s.dir, name[:MinPrefix], name[MinPrefix:])
}

// maxBlob is the largest blob that the store reads, in bytes. Blobs of real lives are far smaller.
const maxBlob = 1 << 30

// Put stores a blob and returns its address. When it returns nil the blob
// survives power loss. Put of a blob that the store has checks its bytes and
// syncs them again, since the process that wrote them first may have crashed
// before its own sync; Put replaces damaged bytes.
//
// The Meta must have a year of four digits and a Life of one line. After an
// error the blob may be there or not; putting it again is always safe.
func (s *Store) Put(m Meta, body []byte) (Hash, error) { return s.PutLater(nil, m, body) }

// PutLater is Put with its syncs left to a set. Until the set's Wait returns nil, a power loss can leave a blob with
// other bytes than its name says, which every reader refuses. Only the process that holds the lock of the identity
// in m.Life may call it.
func (s *Store) PutLater(later *durable.Syncs, m Meta, body []byte) (Hash, error) {
	data := Encode(m, body)
	h := Sum(data)
	if err := s.put(later, h, data); err != nil {
		return h, fmt.Errorf("put blob %s: %w", h, err)
	}
	return h, nil
}

// Adopt stores the file of a blob that another store wrote, and returns its address. It leaves the syncs to a set.
// A tombstone replaces the blob that it stands for at once and durably, and Adopt returns that blob's address.
func (s *Store) Adopt(later *durable.Syncs, data []byte) (Hash, error) {
	hash := Sum(data)
	blob, err := Decode(data)
	if err == nil && blob.Gone != nil {
		_, err = s.Bury(*blob.Gone, blob.Meta, blob.Body)
		return blob.Gone.Of, err
	}
	if _, err := s.Get(hash); err == nil { // the store has the blob, or its tombstone, which stays
		return hash, later.Sync(s.Path(hash))
	}
	if err == nil {
		err = s.put(later, hash, data)
	}
	if err != nil {
		return hash, fmt.Errorf("put blob %s: %w", hash, err)
	}
	return hash, nil
}

func (s *Store) put(later *durable.Syncs, h Hash, data []byte) error {
	path := s.Path(h)
	if known := &s.shards[shardOf(h)]; !known.Load() {
		var own durable.Syncs
		if err := s.shard(cmp.Or(later, &own), filepath.Dir(path), known); err != nil {
			return err
		}
		if err := own.Wait(); err != nil {
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
	return durable.WriteFile(path, data, 0o400) // atomic: a blob that could not be read now may yet be whole
}

// shard makes the shard directory dir if it is missing, and leaves the sync of its name to a set. Once the set is
// durable, it marks known. The first call also covers the shards that exist, since the process that made one may
// have died before its own sync.
func (s *Store) shard(later *durable.Syncs, dir string, known ...*atomic.Bool) error {
	if err := durable.MkdirLater(later, dir, 0o700); err != nil { // it makes no new blobs/ if somebody moved it away
		if moved := s.there(); moved != nil {
			return moved
		}
		return err
	}
	if !s.listed.Load() {
		all, err := os.ReadDir(s.dir)
		if err != nil {
			return err
		}
		for _, shard := range all {
			number, err := strconv.ParseUint(shard.Name(), 16, 4*MinPrefix)
			if err == nil && len(shard.Name()) == MinPrefix {
				known = append(known, &s.shards[number])
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

// Bury durably replaces the blob t.Of by a tombstone, and returns the BLAKE3 of the tombstone's file. It first
// overwrites the blob's bytes with zeros, so that the disk does not keep them under no name; on a disk or file
// system that does not write in place, they may stay. After a crash, Bury can be done again.
func (s *Store) Bury(grave Tombstone, left Meta, body []byte) (Hash, error) {
	data := EncodeTombstone(grave, left, body)
	sum := Sum(data)
	if err := s.replaceOverwritten(s.Path(grave.Of), data); err != nil {
		return sum, fmt.Errorf("bury blob %s: %w", grave.Of, err)
	}
	return sum, nil
}

// replaceOverwritten overwrites the file at path with zeros, if it has other bytes than data, and then replaces it.
func (s *Store) replaceOverwritten(path string, data []byte) error {
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	old, err := durable.ReadWhole(path, maxBlob)
	if err == nil && !bytes.Equal(old, data) {
		if err := durable.Patch(path, durable.Piece{Data: make([]byte, len(old))}); err != nil {
			return err
		}
	}
	return durable.WriteFile(path, data, 0o400)
}

// there returns an error if the directory of the store was moved away. Its blobs are
// not lost, so that error does not wrap ErrNotFound.
func (s *Store) there() error {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing; move it back", s.dir)
	}
	return nil
}

// notFound returns the error for a blob that is not in the store: ErrNotFound, unless the store itself is missing.
func (s *Store) notFound() error {
	if err := s.there(); err != nil {
		return err
	}
	return ErrNotFound
}

// shardOf returns the number that the first MinPrefix digits of h spell.
func shardOf(h Hash) int { return int(h[0])<<4 | int(h[1]>>4) }

// Get reads and verifies a blob. The error wraps ErrNotFound if the store has no such file, and ErrDigest if its
// bytes are neither the blob's nor a tombstone for it. An error of reading wraps neither.
func (s *Store) Get(hash Hash) (Blob, error) {
	var blob Blob
	data, err := durable.ReadWhole(s.Path(hash), maxBlob)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = s.notFound()
	case errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrTooLarge):
		err = fmt.Errorf("%w: %w", ErrDigest, err)
	case err == nil:
		if blob, err = Decode(data); Sum(data) == hash {
			blob.Gone = nil
		} else if blob.Gone == nil || blob.Gone.Of != hash {
			err = ErrDigest
		}
	}
	if err != nil {
		return Blob{}, fmt.Errorf("read blob %s: %w", hash, err)
	}
	blob.Hash = hash
	return blob, nil
}

// Has reports whether the store has a file for h. It does not read it.
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
		return Hash{}, fmt.Errorf("resolve %q: %w", prefix, s.notFound())
	case len(found) > 1:
		names := strings.Trim(fmt.Sprint(found[:min(len(found), 16)]), "[]")
		return Hash{}, fmt.Errorf("resolve %q: %w: it may be %s", prefix, ErrAmbiguous, names)
	}
	return found[0], nil
}

func (s *Store) candidates(prefix string) ([]Hash, error) {
	fits := len(prefix) >= MinPrefix && len(prefix) <= 64
	if !fits || !isHex(prefix) {
		return nil, fmt.Errorf("want %d to 64 hex digits in lower case", MinPrefix)
	}
	if h, err := ParseHash(prefix); err == nil { // all 64 digits need no listing
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
		if err == nil && strings.HasPrefix(name.Name(), prefix[MinPrefix:]) { // err skips temporary files
			found = append(found, h)
		}
	}
	return found, nil
}

// Find reads the blob that Resolve finds. If Resolve finds one and Get cannot read it, the Blob has only its Hash.
func (s *Store) Find(prefix string) (Blob, error) {
	hash, err := s.Resolve(prefix)
	if err != nil {
		return Blob{}, err
	}
	blob, err := s.Get(hash)
	blob.Hash = hash
	return blob, err
}

// Short returns the beginning of hash that a ref shows: 16 digits, or more if another blob in the store begins with
// the same 16.
func (s *Store) Short(hash Hash) string {
	full, digits := hash.String(), shortLen
	found, err := s.candidates(full[:digits])
	if err != nil {
		return full
	}
	for _, other := range found {
		for other != hash && strings.HasPrefix(other.String(), full[:digits]) {
			digits++
		}
	}
	return full[:digits]
}

// Each calls visit for every blob's address, in no order, and returns visit's first
// error. It skips files that are not named like blobs. It lists the whole store: for
// checks, never for a running identity.
func (s *Store) Each(visit func(Hash) error) error {
	names, err := fs.Glob(os.DirFS(s.dir), "???/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		h, err := ParseHash(strings.Replace(name, "/", "", 1))
		if err != nil {
			continue
		}
		if err := visit(h); err != nil {
			return err
		}
	}
	return nil
}
