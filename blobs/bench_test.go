package blobs

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

func BenchmarkPut(b *testing.B) {
	s := open(b)
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

// A text of 4 KB is put durably, and beside it the same bytes are written by a loop of system calls that does no more than
// it must; %raw is what part of its speed is reached. Run it with TMPDIR on the disk in question.
func BenchmarkPutAgainstRaw(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := open(b)
			for shard := range s.shards { // no put makes one
				lethetest.Must(b, os.Mkdir(fmt.Sprintf("%s/%03x", s.dir, shard), 0o700))
			}
			put(b, s, "")
			body := func(i, w int) []byte { return fmt.Appendf(nil, "%4000d", i*writers+w) }
			took := func(put func(w int)) float64 {
				begin := time.Now()
				var wg sync.WaitGroup
				for w := range writers {
					wg.Go(func() { put(w) })
				}
				wg.Wait()
				return float64(time.Since(begin))
			}
			var raw, own []float64
			for i := 0; b.Loop(); i++ {
				do := []func(){func() {
					raw = append(raw, took(func(w int) { lethetest.Must(b, putRaw(s.dir, Encode(Meta{At: at, Gist: "raw"}, body(i, w)))) }))
				}, func() {
					own = append(own, took(func(w int) { put(b, s, string(body(i, w))) }))
				}}
				do[i%2]()
				do[1-i%2]()
			}
			slices.Sort(raw)
			slices.Sort(own)
			b.ReportMetric(100*raw[len(raw)/2]/own[len(own)/2], "%raw")
			b.ReportMetric(own[len(own)/2]/1e6/float64(writers), "ms/put")
		})
	}
}

// putRaw writes data as a store must, and nothing beside it.
func putRaw(dir string, data []byte) error {
	h := Sum(data)
	name := h.String()
	dir += "/" + name[:MinPrefix]
	tmp, path := dir+"/.tmp-"+name, dir+"/"+name[MinPrefix:]
	f, err := syscall.Open(tmp, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o400)
	if err != nil {
		return err
	}
	if _, err := syscall.Write(f, data); err != nil {
		return err
	}
	if err := syscall.Fsync(f); err != nil {
		return err
	}
	if err := syscall.Close(f); err != nil {
		return err
	}
	if err := syscall.Rename(tmp, path); err != nil {
		return err
	}
	d, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := syscall.Fsync(d); err != nil {
		return err
	}
	return syscall.Close(d)
}

func BenchmarkGet(b *testing.B) {
	s := open(b)
	h := put(b, s, fmt.Sprintf("%4000d", 1))
	for b.Loop() {
		if _, err := s.Get(h); err != nil {
			b.Fatal(err)
		}
	}
}

// Of each shard as many as a million blobs have.
func BenchmarkShort(b *testing.B) {
	s := open(b)
	h := plant(b, s, digits, "")
	for i := range 1 << 20 >> 12 {
		plant(b, s, fmt.Sprintf("3f9%03x%s", i, digits[6:]), "")
	}
	for b.Loop() {
		s.Short(h)
	}
}
