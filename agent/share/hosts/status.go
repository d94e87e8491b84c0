package hosts

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"lethe/agent/share"
	"lethe/internal/durable"
)

// Status is what the process that serves a home to other hosts says of it, in share/status.json: a view, for screens.
type Status struct {
	Renewed   time.Time     `json:"renewed"`        // when this host last said that it is there
	Synced    time.Time     `json:"synced"`         // when the rooms here were last what all hosts have
	Away      string        `json:"away,omitempty"` // why the store cannot be reached
	Left      bool          `json:"left,omitempty"` // this host was drained
	Commits   int64         `json:"commits"`        // segments of lives that were shipped
	CommitSum time.Duration `json:"commit_sum_ns"`  // what they took
	Takeovers int64         `json:"takeovers"`
}

func statusFile(home string) string { return filepath.Join(home, "share", "status.json") }

// ReadStatus reads it; the zero Status where there is none.
func ReadStatus(home string) (s Status) {
	text, _, _ := durable.ReadRegular(statusFile(home), 1<<12)
	_ = json.Unmarshal(text, &s) // of what is none, nothing is known
	return s
}

// counts are what a process tells in its Status.
type counts struct {
	mu     sync.Mutex
	status Status
}

// reached notes whether the store was, and then sets a time.
func (s *Status) reached(err error, at *time.Time) {
	switch {
	case errors.Is(err, share.ErrAway):
		s.Away = err.Error()
	case err == nil:
		s.Away, *at = "", time.Now().UTC()
	}
}

// change changes what is told, and tells it.
func (c *counts) change(home string, f func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.status)
	if text, err := json.Marshal(c.status); err == nil {
		_ = durable.Replace(statusFile(home), text, 0o600) // a view
	}
}

func (c *counts) committed(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Commits++
	c.status.CommitSum += took
}
