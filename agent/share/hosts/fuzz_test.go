package hosts

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/share/streams"
	"lethe/internal/test/lethetest"
)

// What this host keeps of the others, and what stands in their rooms, may be of any bytes.
func FuzzFiles(f *testing.F) {
	a := first(f)
	lethetest.Must(f, a.Sync(f.Context()))
	ctx := context.Background()
	name, err := filepath.Glob(filepath.Join(a.home.Dir, "share", "host-*"))
	lethetest.Must(f, err)
	own := "share/" + filepath.Base(name[0])
	self := strings.Repeat("ab", 32)
	life := `{"self":"` + self + `","name":"ada","custody":1,"host":{"id":"b","label":"b"}}` + "\n"
	lethetest.FuzzReaders(f, a.home.Dir, lethetest.Reader{
		Name: "status.json", File: "share/status.json", Seeds: []string{`{"left":true,"commit_sum_ns":-1}`, `{"renewed":"9999-99-99T00:00:00Z"}`},
		Read: func(testing.TB) error {
			ReadStatus(a.home.Dir)
			return nil
		},
	}, lethetest.Reader{
		Name: "how far this host has obeyed", File: "share/asked", Seeds: []string{"7", "-7", "99999999999999999999", "9223372036854775807"},
		Read: func(testing.TB) error { return a.reread(ctx) },
	}, lethetest.Reader{
		Name: "the name of this host", File: own, Seeds: []string{"x", "../../x", "a/b\n", strings.Repeat("x", 300)},
		Read: func(testing.TB) error {
			_, err := thisHost(a.home.Dir)
			return err
		},
	}, lethetest.Reader{
		Name: "what hosts ask", File: "share/rooms/" + askedRoom + ".md",
		Seeds: []string{`{"came":"b"}` + "\n" + `{"drain":"a"}` + "\n", `{"reread":"` + self + `","from":"b"}` + "\n",
			`{"reread":"../x"}` + "\n"},
		Read: func(t testing.TB) error {
			lethetest.Must(t, os.RemoveAll(a.askedFile()))
			if _, err := a.known(); err != nil {
				return err
			}
			a.drains = 0
			if err := a.drained(); err != nil {
				return err
			}
			return a.reread(ctx)
		},
	}, lethetest.Reader{
		Name: "where lives are", File: "share/rooms/" + rosterRoom + ".md",
		Seeds: []string{life, life + life, strings.Replace(life, `"ada"`, `"../x"`, 1), strings.Replace(life, ":1", ":-1", 1),
			`{"gone":true}` + "\n"},
		Read: func(testing.TB) error {
			a.roster = roster{}
			if _, err := a.news(); err != nil {
				return err
			}
			a.Elsewhere()
			for _, l := range a.roster.order {
				if err := a.leave(l); err != nil {
					return err
				}
			}
			return nil
		},
	}, lethetest.Reader{
		Name: "where the book of a bridge was read to", File: "share/bridge-telegram", Seeds: []string{`{"n":1,"whole":1}`, `{"n":-1}`},
		Read: func(testing.TB) error {
			return a.Bridge(ctx, "telegram").book().Pull(ctx, a.Bridge(ctx, "telegram").apply)
		},
	})
}

// What other hosts say in a store that is not sealed may be of any bytes.
func FuzzTexts(f *testing.F) {
	a := first(f)
	lethetest.Must(f, a.connect())
	bridge := a.Bridge(context.Background(), "telegram")
	f.Add([]byte(`{"label":"b","at":"2026-11-20T12:57:16Z","every_ns":10000000000}`))
	f.Add([]byte(`{"every_ns":9223372036854775807,"left":true}`))
	f.Add([]byte(`{"every_ns":-9223372036854775808}`))
	for _, head := range []written{
		{Files: []string{"inbox.jsonl"}}, {Files: []string{"../x"}}, {Files: []string{"peers/../../../x"}},
		{Files: []string{"inbox.jsonl"}, At: -1},
		{Files: []string{"inbox.jsonl"}, At: 1 << 62}, {Files: []string{"."}}, {Files: []string{"peers"}}, {},
	} {
		f.Add(streams.Join(head, []byte("text")))
	}
	lethetest.Must(f, os.MkdirAll(bridge.dir(), 0o700))
	f.Fuzz(func(t *testing.T, text []byte) {
		host := "b" + streams.Nonce()
		if err := a.streams.Create(context.Background(), leaseStream(host), 1, text); err != nil {
			return // it is too long
		}
		if now, err := a.sighted(context.Background(), host, sighting{}); err == nil && now.patience() < silentFor {
			t.Fatalf("%q is waited for %v", text, now.patience())
		}
		lethetest.Must(t, a.streams.Drop(context.Background(), leaseStream(host)))
		before, err := os.ReadDir(a.home.Dir)
		lethetest.Must(t, err)
		_ = bridge.apply(text, true)
		after, err := os.ReadDir(a.home.Dir)
		lethetest.Must(t, err)
		if len(after) != len(before) {
			t.Fatalf("%q makes files in the home", text)
		}
	})
}
