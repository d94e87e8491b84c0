package access

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
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

// current is people.json as it is now, read only if it may have changed, and the
// rules with it. The answer is shared and must not be changed.
func (p *Policy) current() (peopleFile, Rules, error) {
	path := p.path("people.json")
	p.mu.Lock()
	defer p.mu.Unlock()
	// The stamp comes first: a file that replaces this one between the two calls is
	// read now, and once more at the next call.
	stamp, err := stampFile(path)
	if err == nil && (stamp != p.stamp || !stamp.settled) {
		var f peopleFile
		f, err = readPeople(path)
		if errors.Is(err, fs.ErrNotExist) {
			stamp, err = fileStamp{}, p.away()
		} else {
			p.listed, p.missed = true, time.Time{}
		}
		p.stamp, p.people, p.rules = stamp, f, nil
	}
	if err != nil {
		p.stamp, p.people, p.rules = fileStamp{}, peopleFile{}, nil
		return peopleFile{}, Rules{}, &PeopleError{path, err}
	}
	if p.rules == nil {
		r := newRules(p.lists, p.fixed, p.people.directory)
		p.rules = &r
	}
	return p.people, *p.rules, nil
}

// listAway is how long a list that was there may be missing before it counts as
// empty.
const listAway = 2 * time.Second

// ErrAway says that people.json is missing and was there just now: editors move a file
// away for a moment. It is in a *PeopleError, and is over within two seconds.
var ErrAway = errors.New("it is missing; unless it is back in a moment, it lists nobody")

// away is ErrAway while a list that is missing may come back. The caller holds mu.
func (p *Policy) away() error {
	if p.missed.IsZero() {
		p.missed = time.Now()
		// Codes were made with the key for somebody whom a list held.
		_, err := os.Lstat(p.path("people.key"))
		p.listed = p.listed || err == nil
	}
	if p.listed && time.Since(p.missed) < cmp.Or(p.lists.Away, listAway) {
		return ErrAway
	}
	return nil
}

// await is current, once it is settled whether a list that is missing is gone.
func (p *Policy) await() (peopleFile, Rules, error) {
	for {
		f, rules, err := p.current()
		if !errors.Is(err, ErrAway) {
			return f, rules, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// readPeople reads and checks the file. What it returns along with an error is an
// empty list.
func readPeople(path string) (peopleFile, error) {
	f := peopleFile{Version: peopleVersion}
	data, cut, err := durable.ReadRegular(path, maxPeople)
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

// change lets do change the newest people.json, alone among all processes; one that
// an editor has moved away is waited for. What do changed is durable when change
// returns, unless do asked not to save it or the error says otherwise; do's own error
// is passed on.
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

	now, _, err := p.await()
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

// ForeignError is the refusal of a change by root to a list that another user's
// bridge reads: root's file would shut that out, and so everybody.
type ForeignError struct {
	Path string
	UID  int    // whose it is
	User string // the same by name; empty: not known
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("change %s: it belongs to user %s, who could not read what root writes", e.Path, cmp.Or(e.User, strconv.Itoa(e.UID)))
}

// Hint says what to do about it.
func (e *ForeignError) Hint() string {
	return fmt.Sprintf("run this as that user: sudo -u %s …", cmp.Or(e.User, "#"+strconv.Itoa(e.UID)))
}

// ours refuses root the list of another user. It is for those changes that the command
// line makes; a bridge owns what it writes.
func (p *Policy) ours() error {
	if p.uid != 0 {
		return nil // what is not ours cannot be written
	}
	for _, path := range []string{p.path("people.json"), p.dir} {
		fi, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			e := &ForeignError{Path: path, UID: int(st.Uid)}
			if u, err := user.LookupId(strconv.Itoa(e.UID)); err == nil {
				e.User = u.Username
			}
			return e
		}
		return nil
	}
	return nil
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
