package chat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

func bigRoom(b *testing.B) (path string, size int64) {
	b.Helper()
	var s strings.Builder
	for i := 0; s.Len() < 10<<20; i++ {
		fmt.Fprintf(&s, "[USER:ada 2026-11-20T12:57:16Z] message %d %s\n", i, strings.Repeat("word ", i%40))
	}
	path = filepath.Join(b.TempDir(), "dev.md")
	if err := os.WriteFile(path, []byte(s.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return path, int64(s.Len())
}

// Read when there is nothing new: what a signal for nothing costs.
func BenchmarkReadNothing(b *testing.B) {
	path, _ := bigRoom(b)
	_, _, c, err := chat.Tail(path, 0)
	lethetest.Must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if batch, err := chat.Read(path, c, 1<<20); err != nil || batch.Realigned {
			b.Fatal(err)
		}
	}
}

func BenchmarkAlign10MB(b *testing.B) {
	path, size := bigRoom(b)
	_, _, c, err := chat.Tail(path, 0)
	lethetest.Must(b, err)
	c.Before = "changed"
	b.SetBytes(size)
	for b.Loop() {
		if batch, err := chat.Read(path, c, 1<<20); err != nil || !batch.Realigned {
			b.Fatal(err)
		}
	}
}
