package chat

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// As many subscribers as a directory has rooms, each of one room, as hired lives are.
func BenchmarkSubscribeToARoomEach(b *testing.B) {
	for _, n := range []int{250, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			for i := range n {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				w := NewWatcher(0, nil)
				ctx, cancel := context.WithCancel(b.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }() // ends with ctx
				time.Sleep(50 * time.Millisecond)   // until it gets events
				for i := range n {
					w.Subscribe(Scope{Dir: dir, Names: []string{fmt.Sprint(i)}})
				}
				cancel()
				<-ended
			}
		})
	}
}
