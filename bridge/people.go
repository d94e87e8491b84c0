package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"lethe/internal/durable"
)

// peopleFile is people.json, which docs/bridges.md specifies.
type peopleFile struct {
	Version int `json:"version"`
	directory
	Pending []request `json:"pending,omitempty"`
	// Wrong is when the newest wrong codes were given, and Blocked until when no
	// code is taken after too many.
	Wrong   []time.Time `json:"wrong,omitempty"`
	Blocked time.Time   `json:"blocked_until,omitzero"`
}

const (
	peopleVersion = 1
	// maxPeople bounds the file, in bytes: who lists more than some ten thousand
	// persons does not do it by pairing.
	maxPeople = 4 << 20
	// lockPatience is how long a change waits for another process. Changes hold the
	// lock for a few syncs, which a slow disk can make seconds.
	lockPatience = 15 * time.Second
)

// PeopleError is a people.json that cannot be read or understood. Until a person
// mends it nobody may speak, and it is not changed.
type PeopleError struct {
	Path string
	Err  error
}

func (e *PeopleError) Error() string {
	return fmt.Sprintf("read who may speak from %s: %v", e.Path, e.Err)
}

func (e *PeopleError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *PeopleError) Hint() string {
	return "until it is mended nobody may speak; put it back from a copy, or move it away and pair anew"
}

func (p *Policy) path(name string) string { return filepath.Join(p.dir, name) }

// fileStamp tells one file from another without reading it.
type fileStamp struct {
	inode uint64
	size  int64
	mtime time.Time
	// settled says that the file was old enough when it was read for its times to
	// show a later change. Younger ones are read again each time.
	settled bool
}

// settling is more than the coarsest clock of a filesystem: two seconds, FAT's.
const settling = 3 * time.Second

func stampFile(path string) (fileStamp, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileStamp{}, nil
	}
	if err != nil {
		return fileStamp{}, err
	}
	s := fileStamp{size: fi.Size(), mtime: fi.ModTime(), settled: time.Since(fi.ModTime()) > settling}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s, nil
}

// current is people.json as it is now, read only if it may have changed. The
// answer is shared and must not be changed.
func (p *Policy) current() (peopleFile, error) {
	path := p.path("people.json")
	p.mu.Lock()
	defer p.mu.Unlock()
	// The stamp comes first: a file that replaces this one between the two calls is
	// read now, and once more at the next call.
	stamp, err := stampFile(path)
	if err == nil && stamp == p.stamp && stamp.settled {
		return p.people, nil
	}
	var f peopleFile
	if err == nil {
		f, err = readPeople(path)
	}
	if err != nil {
		p.stamp, p.people = fileStamp{}, peopleFile{}
		return peopleFile{}, &PeopleError{path, err}
	}
	p.stamp, p.people = stamp, f
	return f, nil
}

// readPeople reads and checks the file; a missing one lists nobody.
func readPeople(path string) (peopleFile, error) {
	f := peopleFile{Version: peopleVersion}
	data, cut, err := durable.ReadRegular(path, maxPeople)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if cut {
		return f, fmt.Errorf("it is larger than %d bytes", maxPeople)
	}
	return parsePeople(data)
}

// parsePeople reads people.json. It is strict: half of a list of who may speak is
// not a list of who may speak.
func parsePeople(data []byte) (peopleFile, error) {
	var f peopleFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	if err == nil && f.Version != peopleVersion {
		err = fmt.Errorf("it has version %d, and this program knows %d", f.Version, peopleVersion)
	}
	if err == nil && !errors.Is(dec.Decode(&struct{}{}), io.EOF) {
		err = errors.New("something follows the object")
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return peopleFile{}, err
	}
	return f, nil
}

func (f peopleFile) check() error {
	for _, list := range [][]Person{f.Users, f.Chats} {
		for i, person := range list {
			if !validID(person.ID) {
				return fmt.Errorf("%q is not an id", person.ID)
			}
			if find(list[:i], person.ID) != nil {
				return fmt.Errorf("id %s is listed twice", person.ID)
			}
		}
	}
	for _, r := range f.Pending {
		if id, _ := r.subject(); !validID(id) {
			return fmt.Errorf("%q, who asks, is not an id", id)
		}
	}
	return nil
}

// clone is a copy that may be changed.
func (f peopleFile) clone() peopleFile {
	f.Users, f.Chats = slices.Clone(f.Users), slices.Clone(f.Chats)
	f.Pending, f.Wrong = slices.Clone(f.Pending), slices.Clone(f.Wrong)
	return f
}

// change lets do change the newest people.json, alone among all processes. What do
// changed is durable when change returns, unless do asked not to save it or the
// error says otherwise; do's own error is passed on.
func (p *Policy) change(do func(f *peopleFile) (save bool, err error)) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if err := durable.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	_, err := p.lock.TryLockContext(patience, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("lock %s: another process has held it for %v", p.lock.Path(), lockPatience)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", p.lock.Path(), err)
	}
	defer p.lock.Unlock()

	now, err := p.current()
	if err != nil {
		return err
	}
	f := now.clone()
	save, err := do(&f)
	if !save {
		return err
	}
	return errors.Join(err, p.save(f))
}

func (p *Policy) save(f peopleFile) error {
	f.prune(p.now())
	if f.Users == nil {
		f.Users = []Person{}
	}
	if f.Chats == nil {
		f.Chats = []Person{}
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(p.path("people.json"), append(data, '\n'), 0o600)
}
