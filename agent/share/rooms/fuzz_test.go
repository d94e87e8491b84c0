package rooms

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// What this host keeps of rooms that it shares, and the rooms, may be of any bytes.
func FuzzFiles(f *testing.F) {
	shared := func(t testing.TB) *Rooms {
		a := newHost(t, memstore.New(), "a")
		a.echo(t, "dev", "one\ntwo\n")
		a.sync(t)
		return a
	}
	step := lethetest.Read(f, shared(f).Dir+"/share/rooms.json")
	dir := f.TempDir()
	reads := func(file string) func(testing.TB) error {
		return func(t testing.TB) error {
			a := shared(t)
			lethetest.Write(t, filepath.Join(a.Dir, file), lethetest.Read(t, filepath.Join(dir, file)))
			a.looks, a.done = nil, 0 // as another process begins
			return a.Sync(context.Background())
		}
	}
	lethetest.FuzzReaders(f, dir, lethetest.Reader{
		Name: "rooms.json", File: "share/rooms.json", Read: reads("share/rooms.json"),
		Seeds: []string{
			step, `{"host":"a"}`, `{"host":"a","n":1}`, `{"host":"a","n":-1}`, `{"host":"a","n":1,"rooms":{"dev":null}}`,
			`{"host":"a","n":1,"sizes":{"dev":8},"rooms":{"dev":{"at":-1,"lines":"eA=="}}}`, `{"host":"a","n":1,"sizes":{"dev":-8}}`,
			`{"host":"a","n":1,"sizes":{"dev":8},"late":{"x":-1},"rooms":{"../x":{"at":0,"lines":"eA=="}}}`,
			`{"host":"a","n":1,"sizes":{"dev":8},"rooms":{"dev":{"at":8,"lines":"dHdvCg==","mine":"dHdvCg==","waits":"eA=="}}}`,
		},
	}, lethetest.Reader{
		Name: "a room in share", File: "share/rooms/dev.md", Read: reads("share/rooms/dev.md"),
		Seeds: []string{"one\ntwo\n", "one\n", "two\none\n"},
	}, lethetest.Reader{
		Name: "a room", File: "chats/dev.md", Read: reads("chats/dev.md"),
		Seeds: []string{"one\ntwo\nthree\n", "two\none\n", "one\r\ntwo", "\nhash=0123456789ab\n"},
	}, lethetest.Reader{
		Name: "a replaced file", File: "share/late/dev.3.x", Read: reads("share/late/dev.3.x"), Seeds: []string{"one\ntwo\n", "x"},
	})
}

// An entry of a store that is not sealed may be of any bytes: it is refused, or brought into the rooms that it names.
func FuzzEntry(f *testing.F) {
	whole := entry{Lethe: version, Host: streams.Host{ID: "a"}, At: time.Unix(0, 0), Items: []item{
		{Room: "dev", Here: true, lines: []byte("one\n")}, {Room: ".lives", From: "../x", Upto: -1, lines: []byte("{}\n")},
	}}
	f.Add(string(whole.encode()))
	for _, change := range [][2]string{
		{`"dev"`, `"../dev"`}, {`"dev"`, `"..dev"`}, {`"erased":`, `"x":`}, {`"lethe":1`, `"lethe":2`},
		{`"upto":-1`, `"upto":9223372036854775807`},
		{`"nonce":""`, `"erased":-1`}, {`"nonce":""`, `"erased":9`}, {`"host":{"id":"a"`, `"host":{"id":"b"`}, {"one\n", "one"},
		{`"items":[`, `"items":[{"room":"ops","large":"` + strings.Repeat("ab", 32) + `"},`},
	} {
		f.Add(strings.Replace(string(whole.encode()), change[0], change[1], 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := decode([]byte(text))
		if err != nil {
			return
		}
		again, err := decode(e.encode())
		if err != nil || len(again.Items) != len(e.Items) {
			t.Fatalf("%q is %+v and then %+v, %v", text, e, again, err)
		}
		a := newHost(t, memstore.New(), "a")
		lethetest.Must(t, a.Streams.Create(t.Context(), Stream, 1, []byte(text)))
		if err := a.Sync(t.Context()); err != nil {
			return
		}
		for _, i := range e.Items {
			said, _ := os.ReadFile(Path(a.Dir, i.Room)) // none, of no bytes
			if !bytes.Contains(said, i.lines) {
				t.Fatalf("%q is not in room %s: %q", i.lines, i.Room, said)
			}
		}
		entries, err := os.ReadDir(filepath.Dir(a.Dir))
		lethetest.Must(t, err)
		if len(entries) != 1 {
			t.Fatalf("%q makes %v beside the home", text, entries)
		}
		lethetest.Must(t, os.RemoveAll(chat.Dir(a.Dir)))
	})
}
