package buckets

import (
	"net/http"
	"sync"
	"time"
)

// Asked is what was asked of a bucket, or of another store, since a moment.
type Asked struct {
	Since   time.Time `json:"since"`
	Puts    int64     `json:"put"`
	Gets    int64     `json:"get"`
	Lists   int64     `json:"list"`
	Deletes int64     `json:"delete,omitempty"` // which nobody bills

	Messages  int64 `json:"messages,omitempty"`  // that were sent to NATS
	Conflicts int64 `json:"conflicts,omitempty"` // numbers that another host had taken
	Turns     int64 `json:"turns,omitempty"`     // of identities, that were stored
}

// Meter counts requests as they leave: each page of a listing, and each attempt. It is safe for concurrent use.
type Meter struct {
	next http.RoundTripper

	mu    sync.Mutex
	asked Asked
}

// NewMeter returns a Meter of what goes through a transport from now on.
func NewMeter(next http.RoundTripper) *Meter {
	return &Meter{next: next, asked: Asked{Since: time.Now().UTC()}}
}

// Asked returns the counts.
func (m *Meter) Asked() Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// RoundTrip is http.RoundTripper's.
func (m *Meter) RoundTrip(r *http.Request) (*http.Response, error) {
	m.count(r)
	return m.next.RoundTrip(r)
}

func (m *Meter) count(r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case r.Context().Err() != nil: // it does not leave
	case r.Method == http.MethodPut:
		m.asked.Puts++
	case r.URL.Query().Has("list-type"):
		m.asked.Lists++
	case r.Method == http.MethodDelete:
		m.asked.Deletes++
	default:
		m.asked.Gets++
	}
}
