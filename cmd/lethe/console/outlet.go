package console

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// outlet passes on the output of a daemon to a terminal or a pipe. A write to it never
// waits for the reader: a turn and a stop must not depend on one. Where too many writes
// wait, the newest are left out, and a line in their place says so.
type outlet struct {
	w     io.Writer
	queue chan []byte // one write each; nil: flush waits for those before it
	done  chan struct{}
	lost  atomic.Int64 // writes left out
}

// Bounds of an outlet.
const (
	outletWrites = 1 << 10
	outletGrace  = 300 * time.Millisecond // that the end of the process waits for readers
)

func newOutlet(w io.Writer) *outlet {
	made := &outlet{w: w, queue: make(chan []byte, outletWrites), done: make(chan struct{})}
	go made.pass() // ends with the process
	return made
}

// Write queues p. It never fails.
func (o *outlet) Write(p []byte) (int, error) {
	select {
	case o.queue <- bytes.Clone(p):
	default:
		o.lost.Add(1)
	}
	return len(p), nil
}

func (o *outlet) pass() {
	for next := range o.queue {
		if next == nil {
			close(o.done)
			return
		}
		_, _ = o.w.Write(next)
		if n := o.lost.Swap(0); n > 0 {
			_, _ = fmt.Fprintf(o.w, "(%d lines left out: nobody read them in time)\n", n)
		}
	}
}

// flush ends the outlet when all is passed on, and waits no longer than the grace.
func (o *outlet) flush() {
	late := time.After(outletGrace)
	select {
	case o.queue <- nil:
	case <-late:
		return
	}
	select {
	case <-o.done:
	case <-late:
	}
}
