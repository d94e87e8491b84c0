package blobs

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// crowd is a store of many blobs, made once and only for benchmarks.
var crowd struct {
	once  sync.Once
	dir   string
	store *Store
	real  []Hash
	err   error
}

const crowdSize = 120_000

func crowded(b *testing.B) (*Store, []Hash) {
	b.Helper()
	crowd.once.Do(func() { crowd.err = fillCrowd() })
	if crowd.err != nil {
		b.Fatal(crowd.err)
	}
	return crowd.store, crowd.real
}

// fillCrowd writes the files without syncing each: 120,000 names, of which a few
// hundred are whole blobs.
func fillCrowd() error {
	dir, err := os.MkdirTemp("", "lethe-blobs-bench-")
	if err != nil {
		return err
	}
	crowd.dir = dir
	if crowd.store, err = Open(filepath.Join(dir, "blobs")); err != nil {
		return err
	}
	for i := range 4096 {
		if err := os.Mkdir(filepath.Join(crowd.store.dir, fmt.Sprintf("%03x", i)), 0o700); err != nil {
			return err
		}
	}
	for i := range crowdSize {
		data := fmt.Appendf(nil, "blob %d", i)
		h := Sum(data)
		if i%400 == 0 {
			data = Encode(Meta{At: at, Gist: "g"}, fmt.Appendf(nil, "%8d%4000d", i, i))
			h = Sum(data)
			crowd.real = append(crowd.real, h)
		}
		if err := os.WriteFile(crowd.store.Path(h), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func removeCrowd() {
	if crowd.dir != "" {
		os.RemoveAll(crowd.dir)
	}
}

// Compare BenchmarkOpen/blobs=0 and /blobs=120000: they must cost the same.
func BenchmarkOpen(b *testing.B) {
	full, _ := crowded(b)
	for n, dir := range map[int]string{0: b.TempDir(), crowdSize: full.dir} {
		b.Run(fmt.Sprintf("blobs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	s, _ := crowded(b)
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			body := make([]byte, size)
			i := 0
			for b.Loop() {
				i++
				copy(body, fmt.Sprintf("%s %d %d", b.Name(), b.N, i))
				if _, err := s.Put(Meta{At: at, Gist: "g"}, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s, real := crowded(b)
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Get(real[i%len(real)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	s, real := crowded(b)
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Resolve(hex.EncodeToString(real[i%len(real)][:8])); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkShort(b *testing.B) {
	s, real := crowded(b)
	i := 0
	for b.Loop() {
		i++
		s.Short(real[i%len(real)])
	}
}
