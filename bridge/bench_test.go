package bridge

import (
	"fmt"
	"testing"

	"lethe/internal/durable"
)

// What one Accept costs: in time, which is mostly the disk's, and in syncs.
func BenchmarkAccept(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			home := b.TempDir()
			bridge := start(b, home)
			bridge.accept(b, message("first", "ada", "hello"))
			syncs := 0
			during(b, func(stage durable.Stage, op, _ string) error {
				if stage == durable.After && (op == "sync" || op == "syncdir") {
					syncs++
				}
				return nil
			})
			n := 0
			for b.Loop() {
				batch := make([]Message, size)
				for i := range batch {
					n++
					batch[i] = message(fmt.Sprint(n), "ada", fmt.Sprint("line ", n))
				}
				bridge.accept(b, batch...)
			}
			b.ReportMetric(float64(syncs)/float64(n), "syncs/msg")
		})
	}
}
