package hosts

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lethe/internal/durable"
)

// Status is what the process that serves a home to other hosts says of it, in share/status.json: a view, for screens.
type Status struct {
	Renewed   time.Time     `json:"renewed"`        // when this host last said that it is there
	Synced    time.Time     `json:"synced"`         // when the rooms here were last what all hosts have
	Away      string        `json:"away,omitempty"` // why the store cannot be reached
	Commits   int64         `json:"commits"`        // segments of lives that were shipped
	CommitP50 time.Duration `json:"commit_p50_ns"`  // of the newest of them
	CommitP99 time.Duration `json:"commit_p99_ns"`
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
	took   []time.Duration // by the newest commits
}

// change changes what is told, and tells it.
func (c *counts) change(home string, f func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.status)
	if n := len(c.took); n > 0 {
		sorted := slices.Sorted(slices.Values(c.took))
		c.status.CommitP50, c.status.CommitP99 = sorted[n/2], sorted[n*99/100]
	}
	if text, err := json.Marshal(c.status); err == nil {
		_ = durable.Replace(statusFile(home), text, 0o600) // a view
	}
}

// commitsKept is how many commits the quantiles are of.
const commitsKept = 512

func (c *counts) committed(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Commits++
	c.took = append(c.took, took)
	c.took = c.took[max(0, len(c.took)-commitsKept):]
}
