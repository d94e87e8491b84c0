package console

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
	const lines = 3 * outletWrites
	for i := range lines {
		fmt.Fprintf(o, "line %d\n", i)
	}
	o.flush() // nobody reads, and it ends
	var got bytes.Buffer
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(&got, r) })
	o.flush()
	<-o.done
	w.Close()
	read.Wait()
	text, left := got.String(), 0
	if _, said, ok := strings.Cut(text, "\n("); ok {
		_, _ = fmt.Sscanf(said, "%d lines left out", &left)
	}
	if got := strings.Count(text, "line "); left == 0 || got+left != lines {
		t.Errorf("of %d lines %d were passed on, and %d were said to be left out", lines, got, left)
	}
}
