package agent

import (
	"cmp"
	"sync"
	"time"
)

// quietAfter is for how long nothing may come of an answer before people are told.
const quietAfter = 20 * time.Second

// quiet knows whether pieces of the model's answer come. What keeps a connection
// alive is none.
type quiet struct {
	after   time.Duration
	changed chan struct{} // it has become quiet, or no longer is

	mu    sync.Mutex
	timer *time.Timer // nil while no model is asked
	since time.Time   // of the last piece, or of the call
	told  bool        // that it is quiet
}

func newQuiet(after time.Duration) *quiet {
	return &quiet{after: cmp.Or(after, quietAfter), changed: make(chan struct{}, 1)}
}

// begin expects an answer, until end.
func (q *quiet) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since = time.Now()
	q.timer = time.AfterFunc(q.after, func() { q.tell(true) })
}

func (q *quiet) end() {
	q.mu.Lock()
	q.timer.Stop()
	q.timer = nil
	q.mu.Unlock()
	q.tell(false)
}

// piece is called for each piece of the answer.
func (q *quiet) piece() {
	q.mu.Lock()
	q.since = time.Now()
	q.timer.Reset(q.after)
	q.mu.Unlock()
	q.tell(false)
}

func (q *quiet) tell(is bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if is = is && q.timer != nil && time.Since(q.since) >= q.after; is == q.told {
		return
	}
	q.told = is
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// silentSince returns since when nothing has come, and zero before people are told.
func (q *quiet) silentSince() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.told {
		return time.Time{}
	}
	return q.since.UTC()
}
