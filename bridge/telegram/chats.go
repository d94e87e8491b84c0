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

// facts is chats.json. Moved are the groups that became supergroups, new id to old. The old one
// stays the id in the keys of peers, in routes and in the policy.
type facts struct {
	Version int               `json:"version"`
	Moved   map[string]string `json:"moved,omitempty"`
}

const (
	factsVersion = 1
	maxFacts     = 4 << 20 // bytes
)

// chats knows under which ids a chat goes.
type chats struct {
	path string

	mu    sync.Mutex
	moved map[string]string // as in chats.json, and never changed
}

// openChats reads chats.json in dir. One that cannot be understood, or is larger than 4 MiB, is
// kept under another name, of a large one its beginning, and logged.
func openChats(dir string, log *slog.Logger) (*chats, error) {
	c := &chats{path: filepath.Join(dir, "chats.json")}
	data, large, err := durable.ReadRegular(c.path, maxFacts)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is known of chats: %w", err)
	}
	var f facts
	if err := json.Unmarshal(data, &f); err == nil && !large && f.Version == factsVersion {
		c.moved = f.Moved
		return c, nil
	}
	kept := c.path + ".damaged-" + time.Now().UTC().Format("20060102T150405Z")
	log.Warn("what was known of chats cannot be read and is begun anew", "kept", kept, "version", f.Version, "larger than 4 MiB", large)
	return c, errors.Join(durable.WriteFile(kept, data, 0o600), durable.Remove(c.path))
}

// canonical is the id by which a chat is known: its own, or that of the group it once was.
func (c *chats) canonical(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.moved[id]; ok {
		return old
	}
	return id
}

// current is the id by which a chat is reached now.
func (c *chats) current(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for now, old := range c.moved {
		if old == id {
			return now
		}
	}
	return id
}

// move notes that the group called old, now or once, is now a supergroup. When it returns nil,
// that survives power loss; after an error nothing has changed.
func (c *chats) move(old, now string) error {
	name := c.canonical(old)
	if name == now || c.canonical(now) == name {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := map[string]string{now: name}
	maps.Copy(moved, c.moved)
	maps.DeleteFunc(moved, func(id, of string) bool { return of == name && id != now }) // a group has one id at a time
	data, err := json.MarshalIndent(facts{factsVersion, moved}, "", "  ")
	if err == nil {
		err = durable.WriteFile(c.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write what is known of chats: %w", err)
	}
	c.moved = moved
	return nil
}
