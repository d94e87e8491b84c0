package lethetest

import (
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// Reader reads a file that another hand may have written.
type Reader struct {
	Name  string
	File  string   // the path that it reads, below the directory that FuzzReaders was given
	Seeds []string // files that are whole, or nearly so
	Read  func(t testing.TB) error
}

// anyFile is tried with each reader: no bytes, and bytes that are no text or not closed.
var anyFile = []string{"", "\n", "\x00", "\xff\xfe", "null", "[]", "{}", "[null]", `{"`, "0", "-1 -1 -1\n", "a = ", "---\n---\n"}

// largeFile is tried once and not varied, which would take the time of all others. It is no variable, which each process
// that a test starts would make.
func largeFile() []string {
	return []string{
		strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000), "a = " + strings.Repeat("[", 20_000),
		strings.Repeat("x", 100_000), strings.Repeat("x\n", 50_000), strings.Repeat("\x00", 1<<20),
	}
}

// Bounds of one call of a reader: 64 MiB, a thousand times the file, a time that only a hang takes, bytes of an error.
const (
	readerBytes   = 64 << 20
	readerPerByte = 1000
	readerTime    = 30 * time.Second
	readerError   = 1000
)

// FuzzReaders gives files of any bytes to readers. Each returns a value, or an error that fits into a line of a
// terminal or two, which the command line makes one: it does not panic, hang or take memory that the length of the file
// does not bound.
func FuzzReaders(f *testing.F, dir string, readers ...Reader) {
	f.Helper()
	for n, reader := range readers {
		for _, data := range largeFile() {
			reader.try(f, dir, data)
		}
		for _, seed := range append(anyFile, reader.Seeds...) {
			f.Add(uint8(n), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		readers[int(n)%len(readers)].try(t, dir, string(data))
	})
}

func (r Reader) try(t testing.TB, dir, data string) {
	t.Helper()
	Write(t, filepath.Join(dir, r.File), data)
	hangs := time.AfterFunc(readerTime, func() {
		debug.SetTraceback("all")
		panic(r.Name + " hangs")
	})
	defer hangs.Stop()
	before := allocated()
	err := r.Read(t)
	if took := allocated() - before; took > readerBytes+readerPerByte*uint64(len(data)) {
		t.Fatalf("%s takes %d bytes of memory for a file of %d", r.Name, took, len(data))
	}
	if err != nil && len(err.Error()) > readerError {
		t.Fatalf("%s returns an error of %d bytes: %.200q", r.Name, len(err.Error()), err.Error())
	}
}

// allocated returns how many bytes this process has allocated, freed or not.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
