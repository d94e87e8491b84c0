package hosts

import (
	"path/filepath"
	"sync"
	"time"

	"lethe/agent/share"
	"lethe/internal/buckets"
	"lethe/internal/durable"
)

// Status describes a home to screens: the process that serves it to other hosts writes share/status.json.
type Status struct {
	Renewed   time.Time     `json:"renewed"`        // when this host last said that it is there
	Synced    time.Time     `json:"synced"`         // when the rooms here were last as all hosts have them
	Away      string        `json:"away,omitempty"` // why the store cannot be reached
	Left      bool          `json:"left,omitempty"` // this host was drained
	Commits   int64         `json:"commits"`        // segments of lives that were shipped
	CommitSum time.Duration `json:"commit_sum_ns"`  // what they took
	Takeovers int64         `json:"takeovers"`
	Asked     buckets.Asked `json:"asked"`
}

func statusFile(home string) string { return filepath.Join(home, "share", "status.json") }

// ReadStatus reads the Status of a home; the zero Status where there is no sound one.
func ReadStatus(home string) (s Status) {
	_ = durable.ReadJSON(statusFile(home), 1<<12, &s)
	return s
}

// reached notes whether the store was reached, and if it was, the time in at.
func (s *Status) reached(err error, at *time.Time) {
	switch {
	case share.IsAway(err):
		s.Away = err.Error()
	case err == nil:
		s.Away, *at = "", time.Now().UTC()
	}
}

// counts are the numbers in the Status of a process.
type counts struct {
	file string

	mu     sync.Mutex
	status Status
}

// change changes the Status, and writes it.
func (counted *counts) change(f func(*Status)) {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	f(&counted.status)
	_ = durable.WriteJSON(durable.Replace, counted.file, counted.status) // a view
}

// asked returns what this process has asked of a store, with the turns that it shipped.
func (counted *counts) asked(store share.Store) buckets.Asked {
	now := share.Count(store)
	counted.mu.Lock()
	defer counted.mu.Unlock()
	now.Turns = counted.status.Asked.Turns
	counted.status.Asked = now
	return now
}

// committed counts a segment; the next change writes it.
func (counted *counts) committed(took time.Duration, turns int64) {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	counted.status.Commits++
	counted.status.Asked.Turns += turns
	counted.status.CommitSum += took
}
