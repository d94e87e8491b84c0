package life

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// Reading a file forwards and backwards, and opening it, agree about what is in it.
func FuzzScan(f *testing.F) {
	before, group := build(f, 3)
	f.Add([]byte(before+group), 0)
	f.Add([]byte(before+group[:50]), 0)
	f.Add([]byte(before+"\x00\x00\n"+group), 10)
	f.Add([]byte(strings.ReplaceAll(before, "\n", "\r\n")), 3)
	f.Add([]byte("\n\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, flip int) {
		if flip > 0 && flip <= len(data) {
			data[flip-1] ^= 1
		}
		path := filepath.Join(t.TempDir(), "LIFE.md")
		lethetest.Must(t, os.WriteFile(path, data, 0o600))
		var events []Event
		scanned := Scan(path, func(e Event, offset int64) error {
			if offset < 0 || offset >= int64(len(data)) {
				t.Fatalf("an event at byte %d of %d", offset, len(data))
			}
			events = append(events, e)
			return nil
		})
		l, err := Open(path)
		if err != nil {
			if scanned == nil && len(events) > 0 {
				t.Fatalf("%d events, but: %v", len(events), err)
			}
			return
		}
		defer l.Close()
		all, err := back(l.file, l.end.Offset, l.path, func(Event) bool { return false })
		if (err == nil) != (scanned == nil) || err == nil && !reflect.DeepEqual(all, events) {
			t.Fatalf("forwards %d events, %v; backwards %d, %v", len(events), scanned, len(all), err)
		}
	})
}

// What stands beside a log may be of any bytes, and so may a checkpoint that was kept elsewhere.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "LIFE.md")
	before, _ := build(f, 3)
	lethetest.Must(f, os.WriteFile(path, []byte(before), 0o600))
	erasure := EncodeErasure(0, Erasure{Before: Leaf("a"), Now: Leaf("b")})
	key, err := LoadKey(f.TempDir())
	lethetest.Must(f, err)
	checkpoint := key.Sign(strings.Repeat("ab", 32), 3, Leaf("a"), strings.Repeat("cd", 32)).String()
	lethetest.FuzzReaders(f, dir, lethetest.Reader{
		Name: "LIFE.erased", File: "LIFE.erased",
		Seeds: []string{erasure, erasure[:80], "-9 x y\n", erasure + strings.Repeat("1", 70_000) + "\n" + erasure},
		Read: func(testing.TB) error {
			if _, err := ReadErased(path); err != nil {
				return err
			}
			return Scan(path, func(Event, int64) error { return nil })
		},
	}, lethetest.Reader{
		Name: "tree", File: "tree",
		Seeds: []string{`{"size":3,"end":-1}`, `{"size":-1,"end":9223372036854775807}`, `{"size":3,"nodes":["AA"],"end":1}`},
		Read: func(t testing.TB) error {
			log, err := Open(path)
			lethetest.Must(t, err)
			defer log.Close()
			_, err = log.grown([]string{"a line\n"})
			return err
		},
	}, lethetest.Reader{
		Name: "key", File: "key",
		Seeds: []string{lethetest.Blocks(f, "check.md", "key")[0], "PRIVATE+KEY+lethe+00000000+AQ==", "PRIVATE+KEY+++"},
		Read: func(testing.TB) error {
			_, err := ReadKey(dir)
			return err
		},
	}, lethetest.Reader{
		Name: "checkpoint", File: "checkpoint",
		Seeds: []string{checkpoint, strings.Replace(checkpoint, "\n3\n", "\n-3\n", 1), lethetest.Blocks(f, "check.md", "checkpoint")[0]},
		Read: func(t testing.TB) error {
			c, err := ParseCheckpoint(lethetest.Read(t, filepath.Join(dir, "checkpoint")))
			if err != nil {
				return err
			}
			return c.Verify(key.Public())
		},
	})
}
