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
