package share_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// stores are what a benchmark is run with, beside the floor: a write of 4 KB and its sync.
func stores(b *testing.B, run func(b *testing.B, url string)) {
	b.Run("directory", func(b *testing.B) { run(b, "file://"+b.TempDir()) })
	b.Run("bucket", func(b *testing.B) { run(b, sharetest.Bucket(b).URL("home")) })
	b.Run("nats", func(b *testing.B) { run(b, sharetest.NATS(b, 1, false).URL("home")) })
	b.Run("nats3", func(b *testing.B) { run(b, sharetest.NATS(b, 3, false).URL("home")) })
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

func timed(b *testing.B, do func(n int) error) {
	var took []time.Duration
	for n := 1; b.Loop(); n++ {
		began := time.Now()
		lethetest.Must(b, do(n))
		took = append(took, time.Since(began))
	}
	report(b, took)
}

func unlike(size int) []byte { return append([]byte(rand.Text()), bytes.Repeat([]byte("x"), size)...) }

// How long one text takes.
func BenchmarkCreate(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		lethetest.Must(b, err)
		defer f.Close()
		timed(b, func(int) error {
			_, err := f.Write(make([]byte, 4096))
			return errors.Join(err, f.Sync())
		})
	})
	stores(b, func(b *testing.B, url string) {
		s := sharetest.Open(b, url, time.Minute)
		lethetest.Must(b, s.Create(b.Context(), "first", 1, unlike(1)))
		timed(b, func(n int) error { return s.Create(b.Context(), "life", n, unlike(4096)) })
	})
}

// How many texts a second ten hosts create in one stream, for which they race, and in a hundred.
func BenchmarkTenHosts(b *testing.B) {
	for _, streams := range []int{1, 100} {
		b.Run(fmt.Sprint("streams", streams), func(b *testing.B) {
			stores(b, func(b *testing.B, url string) {
				var created atomic.Int64
				var all sync.WaitGroup
				first := sharetest.Open(b, url, time.Minute)
				lethetest.Must(b, first.Create(b.Context(), "first", 1, unlike(1)))
				began := time.Now()
				for i := range 10 {
					s := sharetest.Open(b, url, time.Minute)
					for k := i; k < max(streams, 10); k += 10 {
						all.Go(func() {
							for n := 0; time.Since(began) < 3*time.Second; {
								err := s.Create(b.Context(), fmt.Sprint("life", k%streams), n+1, unlike(300))
								if n++; errors.Is(err, share.ErrTaken) {
									n, err = s.Newest(b.Context(), fmt.Sprint("life", k%streams), 0)
									lethetest.Must(b, err)
									continue
								}
								lethetest.Must(b, err)
								created.Add(1)
							}
						})
					}
				}
				all.Wait()
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(created.Load())/time.Since(began).Seconds(), "texts/s")
			})
		})
	}
}

// How long it takes to find the newest of a stream that no pack holds.
func BenchmarkNewest(b *testing.B) {
	const texts = 3000
	stores(b, func(b *testing.B, url string) {
		s := sharetest.Open(b, url, time.Minute)
		for n := range texts {
			lethetest.Must(b, s.Create(b.Context(), "life", n+1, unlike(300)))
		}
		timed(b, func(int) error { _, err := s.Newest(b.Context(), "life", 0); return err })
	})
}
