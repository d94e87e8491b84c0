package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// outlet passes on what a daemon prints to a terminal or a pipe. A write to it never
// waits for the reader: a turn and a stop must not depend on one. Up to a bound,
// lines queue; then the oldest are left out, and a line in their place says so.
type outlet struct {
	w    io.Writer
	more *sync.Cond

	mu     sync.Mutex
	queue  [][]byte // one write each
	size   int      // of queue, in bytes
	lost   int      // writes left out before the first of queue
	taking bool     // one is being written
}

// Bounds of an outlet.
const (
	outletBytes = 1 << 20
	outletGrace = 300 * time.Millisecond // that the end of the process waits for readers
)

func newOutlet(w io.Writer) *outlet {
	o := &outlet{w: w}
	o.more = sync.NewCond(&o.mu)
	go o.pass() // ends with the process
	return o
}

// Write queues p. It never fails.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, append([]byte(nil), p...))
	o.size += len(p)
	for o.size > outletBytes && len(o.queue) > 1 {
		o.size -= len(o.queue[0])
		o.queue = o.queue[1:]
		o.lost++
	}
	o.more.Broadcast()
	return len(p), nil
}

func (o *outlet) pass() {
	for {
		o.mu.Lock()
		o.taking = false
		o.more.Broadcast()
		for len(o.queue) == 0 {
			o.more.Wait()
		}
		next := o.queue[0]
		o.queue, o.size, o.taking = o.queue[1:], o.size-len(next), true
		if o.lost > 0 {
			next = append(fmt.Appendf(nil, "(%d lines left out here: nobody read them in time)\n", o.lost), next...)
			o.lost = 0
		}
		o.mu.Unlock()
		_, _ = o.w.Write(next)
	}
}

// flush waits until all is passed on, and no longer than the grace.
func (o *outlet) flush() {
	late := false
	timer := time.AfterFunc(outletGrace, func() {
		o.mu.Lock()
		late = true
		o.more.Broadcast()
		o.mu.Unlock()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !late && (o.taking || len(o.queue) > 0) {
		o.more.Wait()
	}
}

// unhurried makes the streams of a program that stays outlets.
func (p *program) unhurried() {
	out, err := newOutlet(p.out), newOutlet(p.err)
	p.out, p.err, p.outlets = out, err, []*outlet{out, err}
}
