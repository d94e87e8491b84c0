package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"lethe/internal/durable"
)

// facts are what the bridge has learned of chats: chats.json.
type facts struct {
	Version int `json:"version"`
	// Asked is when chats were given a code: they are told when they are let in.
	Asked map[string]time.Time `json:"asked,omitempty"`
	// Moved are the groups that became supergroups, new id to old. The old one stays the id in
	// the keys of peers, in routes and in the policy.
	Moved map[string]string `json:"moved,omitempty"`
	// Threads are the topics that the newest answers to peers went to, for what is said there
	// without being asked.
	Threads map[string]int `json:"threads,omitempty"`
}

const (
	factsVersion = 1
	maxFacts     = 4 << 20 // bytes
	maxAsked     = 1000
	askedFor     = 24 * time.Hour
)

// chats are the facts on disk. Every change is durable when the method that makes it returns nil.
type chats struct {
	path string

	mu sync.Mutex
	f  facts
}

// openChats reads chats.json in dir. One that cannot be understood is kept beside, and logged.
func openChats(dir string, log *slog.Logger) (*chats, error) {
	c := &chats{path: filepath.Join(dir, "chats.json")}
	data, err := durable.ReadWhole(c.path, maxFacts)
	if err == nil {
		var f facts
		if err := json.Unmarshal(data, &f); err != nil || f.Version != factsVersion {
			kept := c.path + ".damaged-" + time.Now().UTC().Format("20060102T150405Z")
			log.Warn("what was known of chats cannot be read and is begun anew", "kept", kept, "version", f.Version, "error", err)
			return c, errors.Join(durable.WriteFile(kept, data, 0o600), c.change(func(*facts) {}))
		}
		c.f = f
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what is known of chats: %w", err)
	}
	return c, nil
}

// change changes the facts and saves them. After an error they are what they were.
func (c *chats) change(do func(f *facts)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := facts{factsVersion, copied(c.f.Asked), copied(c.f.Moved), copied(c.f.Threads)}
	do(&f)
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = durable.WriteFile(c.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write what is known of chats: %w", err)
	}
	c.f = f
	return nil
}

func copied[V any](m map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, m)
	return out
}

// canonical is the id by which a chat is known: its own, or that of the group it once was.
func (c *chats) canonical(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.f.Moved[id]; ok {
		return old
	}
	return id
}

// current is the id by which a chat is reached now.
func (c *chats) current(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for now, old := range c.f.Moved {
		if old == id {
			return now
		}
	}
	return id
}

// move notes that the group called old, now or once, is now a supergroup.
func (c *chats) move(old, now string) error {
	name := c.canonical(old)
	if name == now || c.canonical(now) == name {
		return nil
	}
	return c.change(func(f *facts) {
		maps.DeleteFunc(f.Moved, func(_, of string) bool { return of == name }) // a group has one id at a time
		f.Moved[now] = name
	})
}

// ask notes that a chat was given a code.
func (c *chats) ask(id string, now time.Time) error {
	return c.change(func(f *facts) {
		maps.DeleteFunc(f.Asked, func(_ string, at time.Time) bool { return now.Sub(at) > askedFor })
		if len(f.Asked) < maxAsked {
			f.Asked[id] = now
		}
	})
}

// hasAsked says whether a chat was given a code and was not let in since.
func (c *chats) hasAsked(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.f.Asked[id]
	return ok
}

// admit forgets that a chat has asked.
func (c *chats) admit(id string) error {
	return c.change(func(f *facts) { delete(f.Asked, id) })
}

// thread is the topic that the newest answer to a peer went to; 0: none.
func (c *chats) thread(peer string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.f.Threads[peer]
}

func (c *chats) setThread(peer string, thread int) error {
	if c.thread(peer) == thread {
		return nil
	}
	return c.change(func(f *facts) {
		if f.Threads[peer] = thread; thread == 0 {
			delete(f.Threads, peer)
		}
	})
}
