package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lethe/internal/durable"
)

// facts are what the bridge has learned of chats, in chats.json.
type facts struct {
	Version int `json:"version"`
	// Asked are the chats that were given a code, by id, and when: those that can
	// be told that they were let in.
	Asked map[string]time.Time `json:"asked,omitempty"`
	// Moved are the groups that became supergroups: new id to old. The old one
	// stays the name of the peer, in routes and in the policy.
	Moved map[string]string `json:"moved,omitempty"`
	// Threads are the topics of a peer that the newest answer went to, for what is
	// said there without being asked.
	Threads map[string]int `json:"threads,omitempty"`
}

const (
	factsVersion = 1
	maxFacts     = 4 << 20 // bytes
	maxAsked     = 1000
	// askedFor is how long a chat without permission stays in Asked; its code is
	// good for an hour.
	askedFor = 24 * time.Hour
)

// memory is facts on disk. Every change is durable when the method that makes it
// returns nil.
type memory struct {
	path string

	mu sync.Mutex
	f  facts
}

// openMemory reads chats.json in dir. One that cannot be understood is kept
// beside, and reported: what it held are conveniences, and the way to groups that
// became supergroups.
func openMemory(dir string, log *slog.Logger) (*memory, error) {
	m := &memory{path: filepath.Join(dir, "chats.json"), f: facts{Version: factsVersion}}
	data, cut, err := durable.ReadRegular(m.path, maxFacts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return nil, fmt.Errorf("read what is known of chats: %w", err)
	}
	var f facts
	if cut {
		err = fmt.Errorf("it is larger than %d bytes", maxFacts)
	} else if err = json.Unmarshal(data, &f); err == nil && f.Version != factsVersion {
		err = fmt.Errorf("it has version %d, and this program knows %d", f.Version, factsVersion)
	}
	if err != nil {
		kept, kerr := m.beginAnew(data, cut)
		if kerr != nil {
			return nil, fmt.Errorf("keep the damaged %s: %w", m.path, kerr)
		}
		log.Warn("what was known of chats cannot be read and is begun anew", "kept", kept, "error", err)
		return m, nil
	}
	m.f = f
	return m, nil
}

// beginAnew gives the file another name, and puts an empty one in its place: it is
// kept whole, and once, however large it is and however often the bridge starts. data
// is what was read of it, cut or all.
func (m *memory) beginAnew(data []byte, cut bool) (kept string, err error) {
	kept = m.path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000Z")
	if err = os.Link(m.path, kept); err == nil {
		err = durable.SyncDir(filepath.Dir(m.path))
	} else if !cut { // a filesystem without links
		err = durable.WriteFile(kept, data, 0o600)
	}
	if err != nil {
		return "", err
	}
	return kept, m.change(func(*facts) bool { return true })
}

// change lets do change the facts, and saves them if do says that it did. After
// an error the facts are what they were.
func (m *memory) change(do func(f *facts) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := facts{
		Version: factsVersion, Asked: clone(m.f.Asked), Moved: clone(m.f.Moved), Threads: clone(m.f.Threads),
	}
	if !do(&f) {
		return nil
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	if err := durable.WriteFile(m.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write what is known of chats: %w", err)
	}
	m.f = f
	return nil
}

func clone[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// canonical is the id by which a chat is known: its own, or that of the group it
// once was.
func (m *memory) canonical(chat string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.f.Moved[chat]; ok {
		return old
	}
	return chat
}

// current is the id by which a chat is reached now.
func (m *memory) current(chat string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for now, old := range m.f.Moved {
		if old == chat {
			return now
		}
	}
	return chat
}

// move notes that the group called old, now or once, is now a supergroup.
func (m *memory) move(old, now string) error {
	name := m.canonical(old)
	return m.change(func(f *facts) bool {
		if name == now || f.Moved[now] == name {
			return false
		}
		for id, of := range f.Moved { // a group has one id at a time
			if of == name {
				delete(f.Moved, id)
			}
		}
		f.Moved[now] = name
		return true
	})
}

// asked notes that a chat was given a code.
func (m *memory) asked(chat string, now time.Time) error {
	return m.change(func(f *facts) bool {
		for id, at := range f.Asked {
			if now.Sub(at) > askedFor {
				delete(f.Asked, id)
			}
		}
		if len(f.Asked) >= maxAsked {
			return false
		}
		f.Asked[chat] = now
		return true
	})
}

// hasAsked says whether a chat was given a code lately.
func (m *memory) hasAsked(chat string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.f.Asked[chat]
	return ok
}

// admitted forgets that a chat has asked, and says whether it had.
func (m *memory) admitted(chat string) (had bool, err error) {
	err = m.change(func(f *facts) bool {
		_, had = f.Asked[chat]
		delete(f.Asked, chat)
		return had
	})
	return had, err
}

// thread is the topic that the newest answer to a peer went to.
func (m *memory) thread(peer string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.f.Threads[peer]
}

func (m *memory) setThread(peer string, thread int) error {
	return m.change(func(f *facts) bool {
		if f.Threads[peer] == thread {
			return false
		}
		f.Threads[peer] = thread
		if thread == 0 {
			delete(f.Threads, peer)
		}
		return true
	})
}
