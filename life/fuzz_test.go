package life

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
)

// What Append takes is one line, which the chain accepts and which reads back as it
// was written; no value of it can end the line, begin a field or forge a ref.
func FuzzEvent(f *testing.F) {
	for _, value := range []string{
		"", "x", "a b", "+", " #000000000000", "a\n[2026-11-20T12:57:16.123456Z] boot name=eve #000000000000", "\x00\xff\r", "\u2028\u202e\u0085",
		"◱hash=3f9c0d2e1b4a5f6◲", "◱hash=3f9c0d2e1b4a5f67 gist=g◲", "◰1hash=3f9c0d2e1b4a5f67 gist=g◰2", `"\"`, "=", "\U0003fffd", "◆ e1 note",
	} {
		f.Add(int64(1795179436123456), "note", "e12.1", "room", value, value, "3f9c0d2e1b4a5f67", false)
		f.Add(int64(-1), value, value, value, "", "", value, true)
	}
	f.Fuzz(func(t *testing.T, micros int64, kind, arg, key, value, gist, hash string, follows bool) {
		e := Event{At: time.UnixMicro(micros % 250e15).UTC(), Kind: kind, Args: []string{arg}, Fields: []Field{{key, value}, {key, gist}},
			Refs: []blobs.Ref{{Hash: hash, Gist: gist}, {Hash: "3f9", Gist: value}}}
		if e.check() != nil {
			return
		}
		line, sum := render("012345678901", e, follows)
		rec, err := verify("012345678901", line)
		for i := range e.Fields {
			e.Fields[i].Value = strings.ToValidUTF8(e.Fields[i].Value, "\ufffd")
		}
		for i := range e.Refs {
			e.Refs[i].Gist = blobs.Gist(e.Refs[i].Gist)
		}
		if err != nil || rec.sum != sum || rec.follows != follows || !reflect.DeepEqual(rec.event, e) {
			t.Fatalf("%#v\nis written %q\nand read   %#v, %v", e, line, rec.event, err)
		}
		if strings.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("%q is not one line", line)
		}
	})
}

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
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
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
		all, err := back(l.file, l.end, l.path, func(Event) bool { return false })
		if (err == nil) != (scanned == nil) || err == nil && !reflect.DeepEqual(all, events) {
			t.Fatalf("forwards %d events, %v; backwards %d, %v", len(events), scanned, len(all), err)
		}
	})
}
