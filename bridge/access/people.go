package access

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

	"github.com/gofrs/flock"

	"lethe/internal/durable"
)

// peopleFile is people.json, which docs/bridge-files.md specifies.
type peopleFile struct {
	Version int       `json:"version"`
	Users   []Person  `json:"users"`
	Chats   []Person  `json:"chats"`
	Pending []request `json:"pending,omitempty"`
	// Earlier versions noted wrong codes.
	Wrong   json.RawMessage `json:"wrong,omitempty"`
	Blocked json.RawMessage `json:"blocked_until,omitempty"`
}

const (
	peopleVersion = 1
	// maxPeople bounds the file, in bytes: some ten thousand persons.
	maxPeople = 4 << 20
	// A file that was there and is missing is unreadable for awayFor, and then empty.
	awayFor = 2 * time.Second
	// lockPatience bounds the wait of a change for another process.
	lockPatience = 15 * time.Second
)

// ErrPeople is in the error where people.json cannot be read or understood. Until a person
// mends it nobody may speak, and it is not changed.
var ErrPeople = errors.New("read who may speak")

func (p *Policy) path(name string) string { return filepath.Join(p.dir, name) }

// read reads people.json; one that is missing lists nobody. One that was there a moment ago cannot be read: nobody
// becomes a stranger while an editor has moved it away.
func (p *Policy) read() (peopleFile, error) {
	path := p.path("people.json")
	p.mu.Lock()
	defer p.mu.Unlock()
	data, cut, err := durable.ReadRegular(path, maxPeople)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case !missing:
		p.listed, p.gone = true, time.Time{}
	case p.listed && p.gone.IsZero():
		p.gone = time.Now()
	case time.Since(p.gone) > awayFor:
		p.listed = false
		return peopleFile{Version: peopleVersion}, nil
	}
	if err == nil && cut {
		err = fmt.Errorf("it is larger than %d bytes", maxPeople)
	}
	var f peopleFile
	if err == nil {
		f, err = parsePeople(data)
	}
	if err != nil {
		return peopleFile{}, fmt.Errorf("%w from %s: %w", ErrPeople, path, err)
	}
	return f, nil
}

// parsePeople reads people.json. It is strict: half of a list of who may speak is
// not a list of who may speak.
func parsePeople(data []byte) (peopleFile, error) {
	var f peopleFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it is empty")
	case err != nil:
	case f.Version != peopleVersion:
		err = fmt.Errorf("it has version %d, and this program knows %d", f.Version, peopleVersion)
	case !errors.Is(dec.Decode(&struct{}{}), io.EOF):
		err = errors.New("something follows the object")
	default:
		err = f.check()
	}
	if err != nil {
		return peopleFile{}, err
	}
	f.Wrong, f.Blocked = nil, nil
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

// change lets do change the newest people.json, alone among all processes. When change
// returns nil, what do changed is durable; after an error of do nothing is saved.
func (p *Policy) change(do func(f *peopleFile) error) error {
	if err := durable.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	// A lock of its own for each change: it keeps out the others of this process, too.
	flags := os.O_CREATE | os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	lock := flock.New(p.path("people.lock"), flock.SetPermissions(0o600), flock.SetFlag(flags))
	defer lock.Close()
	_, err := lock.TryLockContext(patience, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("lock %s: another process has held it for %v", lock.Path(), lockPatience)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	f, err := p.read()
	if err == nil {
		err = do(&f)
	}
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.save(f)
}

// errUnchanged is the error of a change that had nothing to do.
var errUnchanged = errors.New("unchanged")

func (p *Policy) save(f peopleFile) error {
	f.Pending = slices.DeleteFunc(f.Pending, func(r request) bool { return !r.live(time.Now()) })
	// Not null where there are none.
	f.Users, f.Chats = append([]Person{}, f.Users...), append([]Person{}, f.Chats...)
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(p.path("people.json"), append(data, '\n'), 0o600)
}
