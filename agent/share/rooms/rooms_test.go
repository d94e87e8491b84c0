package rooms

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for linkname

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// freshFor is of package streams: an erasure waits for it.
//
//go:linkname freshFor lethe/agent/share/streams.freshFor
var freshFor time.Duration

func TestMain(m *testing.M) {
	freshFor = 50 * time.Millisecond
	os.Exit(m.Run())
}

// two returns a store and its hosts.
func two(t testing.TB) (store *memstore.Store, a, b *Rooms) {
	t.Helper()
	store = memstore.New()
	return store, newHost(t, store, "a"), newHost(t, store, "b")
}

func newHost(t testing.TB, store share.Store, name string) *Rooms {
	t.Helper()
	dir := filepath.Join(lethetest.Dir(t), name)
	lethetest.Must(t, os.MkdirAll(chat.Dir(dir), 0o700))
	texts, err := blobs.Open(filepath.Join(dir, "blobs"))
	lethetest.Must(t, err)
	return &Rooms{
		Streams: &streams.Streams{Store: store}, Dir: dir, Host: streams.Host{ID: name, Label: name}, Store: texts,
		Log: slog.New(slog.DiscardHandler),
	}
}

func (r *Rooms) echo(t testing.TB, room, text string) {
	t.Helper()
	f, err := os.OpenFile(chat.Path(r.Dir, room), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	lethetest.Must(t, err)
	_, err = f.WriteString(text)
	lethetest.Must(t, err)
	lethetest.Must(t, f.Close())
}

func (r *Rooms) sync(t testing.TB) {
	t.Helper()
	lethetest.Must(t, r.Sync(context.Background()))
}

func (r *Rooms) holds(t testing.TB, room, want string) {
	t.Helper()
	for _, path := range []string{chat.Path(r.Dir, room), Path(r.Dir, room)} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s of %s:\n%s\nwant:\n%s", path, r.Host.ID, got, want)
		}
	}
}

// Lines of a room that not everybody may read come with its readers: another host closes the room before they stand
// there, and where both name readers, those may read whom both name. So does one that reads the stream anew.
func TestReadersGoAlong(t *testing.T) {
	_, a, b := two(t)
	lethetest.Must(t, chat.About{Readers: []string{"ann"}}.Write(a.Dir, "ann"))
	lethetest.Must(t, chat.About{Readers: []string{"ann", "ben"}}.Write(a.Dir, "house"))
	lethetest.Must(t, chat.About{Title: "The house", Readers: []string{"*"}}.Write(b.Dir, "house"))
	lethetest.Write(t, chat.AboutPath(a.Dir, "odd"), "readers = 7\n")
	for _, room := range []string{"ann", "house", "dev", "odd"} {
		a.echo(t, room, "one\n")
	}
	a.sync(t)
	says := func(r *Rooms, room string, want ...string) {
		t.Helper()
		about, err := chat.ReadAbout(r.Dir, room)
		if lethetest.Must(t, err); !slices.Equal(about.Readers, want) {
			t.Errorf("at %s %s is read by %q, want %q", r.Host.ID, room, about.Readers, want)
		}
	}
	b.sync(t)
	says(b, "ann", "ann")
	says(b, "house", "ann", "ben")
	about, err := chat.ReadAbout(b.Dir, "house")
	if lethetest.Must(t, err); about.Title != "The house" {
		t.Errorf("the title is %q", about.Title)
	}
	says(b, "dev")
	if about, err := chat.ReadAbout(b.Dir, "odd"); err != nil || about.Readers == nil {
		t.Errorf("a room whose settings make no sense is open: %v", err)
	}
	lethetest.Must(t, os.RemoveAll(filepath.Join(b.Dir, "share")))
	lethetest.Must(t, os.Remove(chat.AboutPath(b.Dir, "ann")))
	lethetest.Must(t, os.Remove(chat.AboutPath(b.Dir, ".ann")))
	b.sync(t)
	says(b, "ann", "ann")
	_, _, err = a.Post(t.Context(), "ann", []byte("two\n"), chat.Mark{})
	lethetest.Must(t, err)
	lethetest.Must(t, os.Remove(chat.AboutPath(b.Dir, "ann")))
	b.sync(t)
	says(b, "ann", "ann")
}

// A change of readers travels without a line, also behind settings that make no sense at a host. Of two changes at once
// those may read whom both name, at each host. Nothing old comes back where the stream is read anew.
func TestReadersChange(t *testing.T) {
	_, a, b := two(t)
	name := func(r *Rooms, names ...string) {
		t.Helper()
		lethetest.Must(t, chat.About{Readers: names}.Write(r.Dir, "ann"))
	}
	says := func(want ...string) {
		t.Helper()
		for _, r := range []*Rooms{a, b, a} {
			r.sync(t)
		}
		for _, r := range []*Rooms{a, b} {
			about, err := chat.ReadAbout(r.Dir, "ann")
			if lethetest.Must(t, err); !slices.Equal(about.Readers, want) {
				t.Errorf("at %s ann is read by %q, want %q", r.Host.ID, about.Readers, want)
			}
		}
	}
	b.echo(t, "ann", "one\n")
	b.sync(t)
	name(a, "ann", "ben", "cem")
	says("ann", "ben", "cem")
	name(b, "ann", "ben")
	says("ann", "ben")
	name(a, "ann", "dan")
	name(b, "dan", "eve")
	says("dan")
	name(b, "*")
	says("*")
	lethetest.Write(t, chat.AboutPath(a.Dir, "ann"), "readers = \"ann\"\n")
	b.echo(t, "ann", "two\n")
	a.sync(t)
	a.echo(t, "ann", "three\n")
	a.sync(t)
	b.sync(t)
	if about, err := chat.ReadAbout(b.Dir, "ann"); err != nil || !slices.Equal(about.Readers, []string{"*"}) {
		t.Errorf("behind settings without sense ann is read by %q: %v", about.Readers, err)
	}
	name(a, "ann")
	says("ann")
	lethetest.Must(t, a.Erased(t.Context()))
	name(a, "ann", "ben")
	says("ann", "ben")
	name(a, "ann")
	says("ann")
	for range 2 {
		lethetest.Must(t, os.RemoveAll(filepath.Join(b.Dir, "share")))
		says("ann")
	}
	entries := a.step(t).N
	says("ann")
	if now := a.step(t).N; now != entries {
		t.Errorf("entries without a change: %d", now-entries)
	}
}

// step returns the newest step.
func (r *Rooms) step(t testing.TB) (newest step) {
	t.Helper()
	lethetest.Must(t, r.locked(t.Context(), func(s *round) error {
		newest = s.step
		return nil
	}))
	return newest
}

// A post looks at its own room alone, and pulling at none: what was said before it in that room stands before it.
func TestPostLooksAtItsRoom(t *testing.T) {
	r := newHost(t, memstore.New(), "a")
	r.echo(t, "dev", "one\n")
	r.echo(t, "ops", "other\n")
	_, _, err := r.Post(t.Context(), "dev", []byte("two\n"), chat.Mark{})
	lethetest.Must(t, err)
	r.holds(t, "dev", "one\ntwo\n")
	lethetest.Must(t, r.Pull(t.Context()))
	if text, _ := os.ReadFile(Path(r.Dir, "ops")); len(text) > 0 {
		t.Errorf("ops was looked at: %q", text)
	}
	r.sync(t)
	r.holds(t, "ops", "other\n")
}

// What is appended at one host stands at all, in one order, also with blank lines, and where hosts were faster.
func TestSync(t *testing.T) {
	_, a, b := two(t)
	a.echo(t, "dev", "one\n\n two\r\n")
	a.sync(t)
	b.sync(t)
	b.holds(t, "dev", "one\n\n two\r\n")
	b.echo(t, "dev", "three\nfour") // not whole yet
	b.sync(t)
	a.echo(t, "dev", "five\n")
	a.sync(t)
	a.holds(t, "dev", "one\n\n two\r\nthree\nfive\n")
	b.sync(t)
	b.echo(t, "dev", " and more\n")
	b.sync(t)
	a.sync(t)
	const want = "one\n\n two\r\nthree\nfive\nfour and more\n"
	a.holds(t, "dev", want)
	b.holds(t, "dev", want)
}

// A file that somebody saved with another past gets the past of all hosts back, and what is new in it is said.
func TestEdited(t *testing.T) {
	_, a, b := two(t)
	a.echo(t, "dev", "[USER:ann 2026-11-20T12:57:16Z] the first\n[USER:ann 2026-11-20T12:57:17Z] the second\n")
	a.sync(t)
	b.sync(t)
	text, err := os.ReadFile(chat.Path(b.Dir, "dev"))
	lethetest.Must(t, err)
	edited := strings.Replace(string(text), "first", "1st", 1) + "new\n"
	lethetest.Must(t, durable.WriteFile(chat.Path(b.Dir, "dev"), []byte(edited), 0o600))
	b.sync(t)
	a.sync(t)
	a.holds(t, "dev", string(text)+"new\n")
	b.holds(t, "dev", string(text)+"new\n")
}

// A post stands once, whoever makes it, however often, and whatever answers are lost.
func TestPost(t *testing.T) {
	store, a, b := two(t)
	a.echo(t, "dev", "hello\n")
	a.sync(t)
	b.sync(t)
	mark, err := chat.End(Path(a.Dir, "dev"))
	lethetest.Must(t, err)
	line := []byte("[AGENT:ada 2026-11-20T12:57:16Z] hi\n")
	lost := 0
	store.Fault = func(op, stream string, n int) (bool, error) {
		if op == "create" && lost == 0 {
			lost++
			return true, share.ErrAway
		}
		return true, nil
	}
	if _, _, err := a.Post(context.Background(), "dev", line, mark); err == nil {
		t.Fatal("an answer that is lost is an answer")
	}
	for _, r := range []*Rooms{b, a, b} {
		from, to, err := r.Post(context.Background(), "dev", line, mark)
		if err != nil || from != 6 || to != 6+int64(len(line)) {
			t.Errorf("%d to %d, %v", from, to, err)
		}
	}
	a.holds(t, "dev", "hello\n"+string(line))
	b.holds(t, "dev", "hello\n"+string(line))
}

// Hosts that write, post and are cut short at any step, with answers lost, agree in the end: each line once, those of one
// writer in their order.
func TestConserved(t *testing.T) {
	for seed := range uint64(lethetest.Sample(10, 40, 2000)) {
		conserved(t, rand.New(rand.NewPCG(seed, 7)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func conserved(t *testing.T, rng *rand.Rand) {
	defer func() { durable.Fault = nil }()
	store := memstore.New()
	hosts := []*Rooms{newHost(t, store, "a"), newHost(t, store, "b"), newHost(t, store, "c")}
	for _, r := range hosts {
		r.sync(t) // what a host has before, others may have told it
	}
	store.Fault = func(op, stream string, n int) (bool, error) {
		if rng.IntN(8) == 0 {
			return rng.IntN(2) == 0, share.ErrAway
		}
		return true, nil
	}
	said, oks := map[string][]string{}, 0 // by writer
	died := map[int]bool{}
	for step := range 60 {
		k := rng.IntN(len(hosts))
		r := hosts[k]
		switch rng.IntN(4) {
		case 0, 1:
			line := fmt.Sprintf("%s says %d\n", r.Host.ID, step)
			// What is appended to a file that a dead process had half brought up to date is told by its words alone.
			if rng.IntN(4) == 0 && !died[k] {
				line, oks = "ok\n", oks+1
			} else {
				said[r.Host.ID] = append(said[r.Host.ID], line)
			}
			r.echo(t, "dev", line)
		case 2:
			left := rng.IntN(30)
			durable.Fault = func(durable.Stage, string, string) error {
				if left--; left < 0 {
					return os.ErrPermission
				}
				return nil
			}
			err := r.Sync(context.Background())
			durable.Fault = nil
			if err != nil { // it died
				hosts[k] = &Rooms{Streams: r.Streams, Dir: r.Dir, Host: r.Host, Store: r.Store, Log: r.Log}
			}
			died[k] = err != nil
		default:
			died[k] = r.Sync(context.Background()) != nil && died[k]
		}
	}
	store.Fault = nil
	for range 2 {
		for _, r := range hosts {
			r.sync(t)
		}
	}
	want, err := os.ReadFile(Path(hosts[0].Dir, "dev"))
	lethetest.Must(t, err)
	for _, r := range hosts {
		r.holds(t, "dev", string(want))
	}
	lines := strings.SplitAfter(string(want), "\n")
	if n := strings.Count(string(want), "ok\n"); n != oks {
		t.Errorf("ok was said %d times, and stands there %d times", oks, n)
	}
	for writer, own := range said {
		got := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, writer+" says") })
		if !slices.Equal(got, own) {
			t.Errorf("%s said:\n%q\nand there is:\n%q", writer, own, got)
		}
	}
}

// Writers that append at all hosts while hosts sync lose nothing.
func TestWritersBesideSync(t *testing.T) {
	store := memstore.New()
	hosts := []*Rooms{newHost(t, store, "a"), newHost(t, store, "b")}
	const each = 200
	var writers, syncs sync.WaitGroup
	done := make(chan struct{})
	for _, r := range hosts {
		writers.Go(func() {
			for n := range each {
				_, _, err := chat.Append(chat.Path(r.Dir, "dev"), fmt.Appendf(nil, "[USER:%s 2026-11-20T12:57:16Z] %d\n", r.Host.ID, n))
				if err != nil {
					t.Error(err)
				}
			}
		})
		syncs.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					r.sync(t)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	syncs.Wait()
	for range 2 {
		for _, r := range hosts {
			r.sync(t)
		}
	}
	text, _ := os.ReadFile(Path(hosts[0].Dir, "dev"))
	hosts[0].holds(t, "dev", string(text))
	hosts[1].holds(t, "dev", string(text))
	if n := strings.Count(string(text), "\n"); n != 2*each {
		t.Errorf("%d lines, want %d", n, 2*each)
	}
}

// docs/share.md has an entry as it is stored with share.plain.
func TestEntryOnThePage(t *testing.T) {
	text := lethetest.Blocks(t, "share.md", "entry")[0]
	_, rest, _ := strings.Cut(text, "\n")
	e, err := decode([]byte(rest))
	if err != nil || e.Items[0].Room != "dev" || !e.Items[0].Here || e.Items[1].Upto != 3117 || string(e.encode()) != rest {
		t.Errorf("%+v, %v; it is written as\n%s", e, err, e.encode())
	}
}

// A host that has read the rooms lists nothing: not when it says something, nor when it looks for what others said.
func TestListsNothing(t *testing.T) {
	store := memstore.New()
	a, b := newHost(t, store, "a"), newHost(t, store, "b")
	a.sync(t)
	b.sync(t)
	a.echo(t, "dev", "first\n")
	a.sync(t)
	b.sync(t)
	listed := store.Calls["newest"]
	for n := range 5 {
		a.echo(t, "dev", fmt.Sprintf("of a %d\n", n))
		b.echo(t, "lab", fmt.Sprintf("of b %d\n", n))
		a.sync(t)
		b.sync(t)
		a.sync(t)
	}
	if now := store.Calls["newest"]; now != listed {
		t.Errorf("%d listings", now-listed)
	}
	for _, host := range []*Rooms{a, b} {
		host.holds(t, "lab", "of b 0\nof b 1\nof b 2\nof b 3\nof b 4\n")
	}
}

// A host that was asleep while the rooms were made anew creates a number that the store has forgotten: it finds that
// out, and says its line behind all others.
func TestSaysBehindWhatWasMadeAnew(t *testing.T) {
	store := memstore.New()
	a, b := newHost(t, store, "a"), newHost(t, store, "b")
	for _, host := range []*Rooms{a, b} {
		host.echo(t, "dev", "by "+host.Host.ID+"\n")
		host.sync(t)
	}
	a.sync(t)
	for n := range 3 {
		a.echo(t, "dev", fmt.Sprintf("later %d\n", n))
		a.sync(t)
	}
	lethetest.Must(t, a.Erased(t.Context()))
	b.echo(t, "dev", "at last\n")
	b.sync(t)
	_, _, err := b.Post(t.Context(), "dev", []byte("posted\n"), chat.Mark{})
	lethetest.Must(t, err)
	a.sync(t)
	for _, host := range []*Rooms{a, b} {
		host.holds(t, "dev", "by a\nby b\nlater 0\nlater 1\nlater 2\nat last\nposted\n")
	}
}

// A store that has lost an entry which another host has not read: that host does not take its number, nor wait behind
// the gap for ever, but says so.
func TestGapIsFound(t *testing.T) {
	store := memstore.New()
	a, b := newHost(t, store, "a"), newHost(t, store, "b")
	a.echo(t, "dev", "first\n")
	a.sync(t)
	b.sync(t)
	a.echo(t, "dev", "lost\n")
	a.sync(t)
	store.Remove(Stream, 2)
	a.echo(t, "dev", "later\n")
	a.sync(t)
	time.Sleep(freshFor)
	_, _, err := b.Post(t.Context(), "dev", []byte("posted\n"), chat.Mark{})
	if !streams.Unreadable(err) {
		t.Errorf("a line is posted in a gap: %v", err)
	}
	if err := b.Pull(t.Context()); !streams.Unreadable(err) {
		t.Errorf("a gap is not found: %v", err)
	}
}
