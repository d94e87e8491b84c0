package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
)

// peopleFile is people.json, which docs/bridges.md specifies.
type peopleFile struct {
	Version int      `json:"version"`
	Users   []Person `json:"users"`
	Chats   []Person `json:"chats"`
	// Earlier versions gave codes to strangers.
	Pending json.RawMessage `json:"pending,omitempty"`
	Wrong   json.RawMessage `json:"wrong,omitempty"`
	Blocked json.RawMessage `json:"blocked_until,omitempty"`
}

const (
	peopleVersion = 1
	// maxPeople bounds the file, in bytes: some ten thousand persons.
	maxPeople = 4 << 20
	// A file that was there and is missing is unreadable for awayFor, and then empty.
	awayFor = 2 * time.Second
)

// ErrPeople is in the error where people.json cannot be read or understood. Until a person
// mends it nobody may speak, and it is not changed.
var ErrPeople = errors.New("read who may speak")

func (p *Policy) path(name string) string { return filepath.Join(p.Dir, name) }

// read reads people.json. A missing file lists nobody. A file that was there a moment ago cannot be read: nobody
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
	var people peopleFile
	if err == nil {
		people, err = parsePeople(data)
	}
	if err != nil {
		return peopleFile{}, fmt.Errorf("%w from %s: %w", ErrPeople, path, err)
	}
	return people, nil
}

// parsePeople reads people.json. It is strict: half of the list is no list.
func parsePeople(data []byte) (peopleFile, error) {
	var people peopleFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&people)
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it is empty")
	case err != nil:
	case people.Version != peopleVersion:
		err = fmt.Errorf("it has version %d, and this program knows %d", people.Version, peopleVersion)
	case !errors.Is(dec.Decode(&struct{}{}), io.EOF):
		err = errors.New("something follows the object")
	default:
		err = people.check()
	}
	if err != nil {
		return peopleFile{}, err
	}
	people.Pending, people.Wrong, people.Blocked = nil, nil, nil
	return people, nil
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
	return nil
}

// ErrNotListed is in Revoke's error.
var ErrNotListed = errors.New("not listed")

// Allow lists a user, or with isChat a group or channel: "ID", or "ID NAME". It replaces the entry of the same ID. The
// room may be empty.
func (p *Policy) Allow(entry, room string, isChat bool) (who Person, err error) {
	who, err = parse(entry, isChat)
	if err != nil {
		return who, fmt.Errorf("allow: %w", err)
	}
	if room != "" && !chat.ValidRoom(room) {
		return who, fmt.Errorf("allow: %q is not the name of a room", room)
	}
	who.Room, who.At = room, time.Now().UTC().Truncate(time.Second)
	return who, p.change(func(people *peopleFile) error {
		list := &people.Users
		if isChat {
			list = &people.Chats
		} else if i := slices.IndexFunc(people.Users, who.rivals); i >= 0 {
			return fmt.Errorf("allow: user %s has the name %s already", people.Users[i].ID, who.Name)
		}
		*list = append(without(*list, who.ID), who)
		return nil
	})
}

// rivals reports whether another person has the same name.
func (p Person) rivals(other Person) bool {
	if p.Name == "" || p.ID == other.ID {
		return false
	}
	return strings.EqualFold(p.Name, other.Name)
}

// without returns a list without the person called id.
func without(list []Person, id string) []Person {
	return slices.DeleteFunc(list, func(p Person) bool { return p.ID == id })
}

// Revoke takes back what Allow gave to a user or chat.
func (p *Policy) Revoke(id string) error {
	err := p.change(func(f *peopleFile) error {
		before := len(f.Users) + len(f.Chats)
		f.Users, f.Chats = without(f.Users, id), without(f.Chats, id)
		if len(f.Users)+len(f.Chats) == before {
			return ErrNotListed
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("revoke %q: %w", id[:min(len(id), maxID)], err)
	}
	return nil
}

// Refresh brings people.json up to date where other hosts share the home.
func (p *Policy) Refresh() error {
	if p.Shared == nil {
		return nil
	}
	return p.Shared.Refresh()
}

// change lets do change the newest people.json, alone among all processes. When change
// returns nil, what do changed is durable, at all hosts that share the home; after an error of do nothing is saved.
func (p *Policy) change(do func(f *peopleFile) error) error {
	if err := durable.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	lock := durable.Lock(p.path("people.lock"))
	defer lock.Close()
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	changed := func() ([]byte, error) {
		people, err := p.read()
		if err == nil {
			err = do(&people)
		}
		if err != nil {
			return nil, err
		}
		return people.encode()
	}
	if p.Shared != nil {
		return p.Shared.Change(changed)
	}
	data, err := changed()
	if err != nil {
		return err
	}
	return durable.WriteFile(p.path("people.json"), data, 0o600)
}

func (f peopleFile) encode() ([]byte, error) {
	// Not null where they are empty.
	f.Users, f.Chats = append([]Person{}, f.Users...), append([]Person{}, f.Chats...)
	data, err := json.MarshalIndent(f, "", "  ")
	return append(data, '\n'), err
}
