package rehearsal

import (
	"net/http"
	"slices"
	"sync"
)

// Recorded is a request as it came in.
type Recorded struct {
	Header  http.Header
	Body    []byte
	Refused string // why it was refused; "" when it was accepted
}

// Usage are totals in tokens; Input includes Cached, Output includes Reasoning.
type Usage struct {
	Calls     int // accepted requests that got as far as an answer
	Refused   int
	Input     int
	Cached    int
	Output    int
	Reasoning int
}

const (
	defaultRecord = 256
	maxRecorded   = 64 << 20 // bytes of bodies
)

type log struct {
	keep int // requests; 0: defaultRecord, negative: none

	mu    sync.Mutex
	kept  []Recorded // oldest first, at most keep, bodies at most maxRecorded in all
	bytes int        // of the bodies in kept
	usage Usage
}

func (l *log) record(r *http.Request, body []byte, ref *refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec := Recorded{Header: r.Header.Clone(), Body: body}
	if ref != nil {
		rec.Refused = ref.message
		l.usage.Refused++
	}
	if l.keep < 0 {
		return
	}
	l.kept = append(l.kept, rec)
	l.bytes += len(body)
	limit := l.keep
	if limit == 0 {
		limit = defaultRecord
	}
	for len(l.kept) > limit || l.bytes > maxRecorded && len(l.kept) > 1 {
		l.bytes -= len(l.kept[0].Body)
		l.kept = slices.Delete(l.kept, 0, 1)
	}
}

func (l *log) requests() []Recorded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kept)
}

func (l *log) count(u usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usage.Calls++
	l.usage.Input += u.Prompt
	l.usage.Cached += u.Hit
	l.usage.Output += u.Completion
	l.usage.Reasoning += u.Details.Reasoning
}

func (l *log) totals() Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usage
}
