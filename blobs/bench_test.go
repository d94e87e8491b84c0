package blobs

import (
	"fmt"
	"testing"
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
