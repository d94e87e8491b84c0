package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

func TestOutletNeverWaits(t *testing.T) {
	r, w := io.Pipe() // a write to it waits for a reader
	o := newOutlet(w)
	line := strings.Repeat("x", 999)
	const lines = 3 * outletBytes / 1000
	for i := range lines {
		fmt.Fprintf(o, "%06d %s\n", i, line)
	}
	o.flush() // nobody reads, and it ends
	var got bytes.Buffer
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(&got, r) })
	fmt.Fprintln(o, "the last word")
	for !drained(o) {
		o.flush()
	}
	w.Close()
	read.Wait()
	text := got.String()
	if !strings.HasSuffix(text, "the last word\n") {
		t.Errorf("it ends %q", text[max(0, len(text)-20):])
	}
	var left, last int
	for l := range strings.Lines(text) {
		var n int
		if _, err := fmt.Sscanf(l, "(%d lines left out here", &n); err == nil {
			left += n
			continue
		}
		_, _ = fmt.Sscanf(l, "%d", &last)
	}
	if got := strings.Count(text, line); left == 0 || got+left != lines || last != lines-1 {
		t.Errorf("of %d lines %d were passed on, up to %d, and %d were said to be left out", lines, got, last, left)
	}
}

func drained(o *outlet) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.taking && len(o.queue) == 0
}
