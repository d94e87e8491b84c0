package recall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/compactor/recall/text"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// chronicle writes a log line by line, as package life would, without syncing
// each.
type chronicle struct {
	out io.Writer
	sum string
}

// append writes events that belong together.
func (c *chronicle) append(events ...life.Event) error {
	for i, e := range events {
		text := e.String()
		if i > 0 {
			text += " +"
		}
		c.sum = blobs.Sum([]byte(c.sum + text)).String()[:12]
		if _, err := fmt.Fprintf(c.out, "%s #%s\n", text, c.sum); err != nil {
			return err
		}
	}
	return nil
}

func refs(hashes ...blobs.Hash) []blobs.Ref {
	var out []blobs.Ref
	for _, h := range hashes {
		out = append(out, blobs.Ref{Hash: h.String()[:16], Gist: "g"})
	}
	return out
}

// world is a life whose entries fade as a test says.
type world struct {
	t     testing.TB
	dir   string
	store *blobs.Store
	self  blobs.Hash
	log   chronicle
	file  *os.File
	next  int // entry
	epoch int
	now   time.Time
	said  bytes.Buffer // what the index has logged
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), next: 1, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	var err error
	w.store, err = blobs.Open(filepath.Join(w.dir, "blobs"))
	lethetest.Must(t, err)
	w.file, err = os.OpenFile(w.lifePath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	lethetest.Must(t, err)
	t.Cleanup(func() { w.file.Close() })
	w.log.out = w.file
	w.self = w.put(blobs.Meta{At: w.now, Gist: "boot"}, "I am the soul.")
	w.append(event.Line(w.now, event.Boot{Name: "test"}, refs(w.self)...))
	return w
}

func (w *world) lifePath() string  { return filepath.Join(w.dir, "LIFE.md") }
func (w *world) indexPath() string { return filepath.Join(w.dir, "recall.db") }

func (w *world) append(events ...life.Event) {
	w.t.Helper()
	lethetest.Must(w.t, w.log.append(events...))
}

// put writes a blob's file without syncing it.
func (w *world) put(m blobs.Meta, body string) blobs.Hash {
	w.t.Helper()
	h, err := putUnsynced(w.store, m, body)
	lethetest.Must(w.t, err)
	return h
}

func putUnsynced(store *blobs.Store, m blobs.Meta, body string) (blobs.Hash, error) {
	data := blobs.Encode(m, []byte(body))
	h := blobs.Sum(data)
	err := os.WriteFile(store.Path(h), data, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Mkdir(filepath.Dir(store.Path(h)), 0o700); err == nil {
			err = os.WriteFile(store.Path(h), data, 0o600)
		}
	}
	return h, err
}

// heard renders an inbound section of one line; each has a minute of its own.
func (w *world) heard(room, user, said string) string {
	w.now = w.now.Add(time.Minute)
	s := fmt.Sprintf("◆ e%d inbound room=%s ◱hash=0123456789abcdef gist=…◲\n[USER:%s %s] %s\n",
		w.next, room, user, w.now.Format(time.RFC3339), blobs.Escape(said))
	w.append(event.Line(w.now, event.Inbound{N: w.next}))
	w.next++
	return s
}

// worked renders a reply with one call and its result.
func (w *world) worked(text, tool, args, result string) string {
	w.now = w.now.Add(time.Minute)
	s := fmt.Sprintf("◆ e%d reply ◱hash=0123456789abcdef gist=…◲\n%s\n◆ e%d.1 call %s\n%s\n◆ e%d.1 result ok "+
		"◱hash=0123456789abcdef gist=…◲\n%s\n",
		w.next, blobs.Escape(text), w.next, tool, blobs.Escape(args), w.next, blobs.Escape(result))
	w.append(event.Line(w.now, event.Reply{N: w.next}))
	w.next++
	return s
}

// fades lets originals fade, each of the entries since the one before, in one
// compaction.
func (w *world) fades(bodies ...string) []blobs.Hash {
	w.t.Helper()
	var events []life.Event
	var out []blobs.Hash
	for _, body := range bodies {
		h := w.put(blobs.Meta{At: w.now, Gist: "gist of it", Life: w.self.String()}, body)
		from, to := entriesOf(body)
		events, out = append(events, w.fade(from, to, "summary", h, w.self)), append(out, h)
	}
	w.append(append(events, w.newEpoch())...)
	return out
}

// fade is the line of a range that fades to a level.
func (w *world) fade(from, to int, level string, stored ...blobs.Hash) life.Event {
	fade := event.Fade{Entries: event.Entries{From: from, To: to}, To: level, Relevance: 4}
	return event.Line(w.now, fade, refs(stored...)...)
}

func (w *world) newEpoch() life.Event {
	w.epoch++
	return event.Line(w.now, event.Epoch{K: w.epoch, Why: "full"})
}

// body is the text of a stored blob.
func (w *world) body(h blobs.Hash) string {
	w.t.Helper()
	b, err := w.store.Get(h)
	lethetest.Must(w.t, err)
	return string(b.Body)
}

// trySync brings an index up to date, or says why not.
func (w *world) trySync(x *Index) error {
	_, err := x.Sync(context.Background(), w.store, w.lifePath())
	return err
}

// trySearch looks for a text, or says why not.
func (w *world) trySearch(x *Index, text string) (Found, error) {
	return x.Search(context.Background(), w.store, Query{Text: text, Limit: 10, Now: w.now})
}

// isOwn reports whether a blob belongs to the life.
func (w *world) isOwn(h blobs.Hash) bool {
	b, err := w.store.Get(h)
	return err == nil && b.Life == w.self.String()
}

func entriesOf(body string) (from, to int) {
	f := text.FactsOf(body)
	return max(f.From, 1), max(f.To, 1)
}

// says is one faded line of talk.
func (w *world) says(text string) blobs.Hash {
	w.t.Helper()
	return w.fades(w.heard("dev", "ada", text))[0]
}

func (w *world) state() *mind.State { return &mind.State{Self: w.self.String()} }

func (w *world) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&w.said, nil)) }

func (w *world) open() *Index {
	return Open(w.indexPath(), w.state().Owns, w.logger())
}

func (w *world) sync(x *Index) int {
	w.t.Helper()
	n, err := x.Sync(context.Background(), w.store, w.lifePath())
	lethetest.Must(w.t, err)
	return n
}

// synced is an open index that is up to date.
func (w *world) synced() *Index {
	w.t.Helper()
	x := w.open()
	w.sync(x)
	return x
}

func (w *world) search(x *Index, q Query) []Hit {
	w.t.Helper()
	if q.Now.IsZero() {
		q.Now = w.now
	}
	q.Limit = cmp.Or(q.Limit, 10)
	found, err := x.Search(context.Background(), w.store, q)
	if err != nil {
		w.t.Fatalf("search %q: %v", q.Text, err)
	}
	return found.Hits
}

// finds checks that a text finds an original first.
func (w *world) finds(x *Index, text string, want blobs.Hash) Hit {
	w.t.Helper()
	hits := w.search(x, Query{Text: text})
	if len(hits) == 0 || hits[0].Hash != want {
		w.t.Fatalf("%q finds %s, not %s first", text, show(hits), want.String()[:8])
	}
	return hits[0]
}

func show(hits []Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s e%d..e%d %q", h.Hash.String()[:8], h.From, h.To, h.Passage))
	}
	return "[" + strings.Join(out, "; ") + "]"
}

// fruit is a life of so many originals, each with a word of its own.
func fruit(t testing.TB, n int) (*world, []blobs.Hash) {
	t.Helper()
	w := newWorld(t)
	var all []blobs.Hash
	for len(all) < n {
		var bodies []string
		for range min(50, n-len(all)) {
			bodies = append(bodies, w.heard("dev", "ada",
				fmt.Sprintf("apple number%d and the usual talk of days and nights, of wind%d and rain", len(all)+len(bodies), w.next%7)))
		}
		all = append(all, w.fades(bodies...)...)
	}
	return w, all
}

// whole checks that an index holds all of a life, after as many Syncs as damage
// that a search finds asks for.
func (w *world) whole(x *Index, all []blobs.Hash, what string) {
	w.t.Helper()
	for range 3 {
		if err := w.trySync(x); err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		if w.holds(x, all, what) {
			return
		}
	}
	w.t.Errorf("%s: not all is found; %s", what, w.said.String())
}

// holds reports whether a sample of originals is found. Whatever is found is a
// blob of this life.
func (w *world) holds(x *Index, all []blobs.Hash, what string) bool {
	w.t.Helper()
	ok := true
	for i := 0; i < len(all); i += max(1, len(all)/20) {
		answer, err := w.trySearch(x, fmt.Sprintf("apple number%d", i))
		if errors.Is(err, ErrRebuilding) {
			return false
		}
		if err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		found := false
		for _, h := range answer.Hits {
			if !w.isOwn(h.Hash) {
				w.t.Fatalf("%s: hit %s", what, h.Hash)
			}
			found = found || h.Hash == all[i]
		}
		ok = ok && found
	}
	return ok
}

// runs are the files of the index that its state names, oldest first.
func (w *world) runs() (paths []string) {
	w.t.Helper()
	data, err := os.ReadFile(w.indexPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var state struct{ Runs []struct{ File string } }
	lethetest.Must(w.t, errors.Join(err, json.Unmarshal(data, &state)))
	for _, r := range state.Runs {
		paths = append(paths, w.indexPath()+"-"+r.File)
	}
	return paths
}

// record is one of those that a run begins with: an address, and which of its segments it is.
type record []byte

const recordBytes = 64

func (r record) segment() int { return int(binary.LittleEndian.Uint64(r[32:])) }

// records are those of a run, up to the first of its entries.
func (w *world) records(run string) (out []record) {
	w.t.Helper()
	data, err := os.ReadFile(w.indexPath())
	lethetest.Must(w.t, err)
	var state struct {
		Runs []struct {
			File string
			N    int
		}
	}
	lethetest.Must(w.t, json.Unmarshal(data, &state))
	data, err = os.ReadFile(run)
	lethetest.Must(w.t, err)
	for _, r := range state.Runs {
		for i := 0; strings.HasSuffix(run, r.File) && i < r.N; i++ {
			out = append(out, data[i*recordBytes:(i+1)*recordBytes])
		}
	}
	return out
}

// tampered changes the records of the index behind its back.
func (w *world) tampered(change func(r record)) {
	w.t.Helper()
	for _, run := range w.runs() {
		data, err := os.ReadFile(run)
		lethetest.Must(w.t, err)
		for i, r := range w.records(run) {
			change(r)
			copy(data[i*recordBytes:], r)
		}
		lethetest.Must(w.t, os.WriteFile(run, data, 0o600))
	}
}

// originals is how many there are in the index.
func (w *world) originals() (n int) {
	w.t.Helper()
	for _, run := range w.runs() {
		for _, r := range w.records(run) {
			if r.segment() == 0 {
				n++
			}
		}
	}
	return n
}

// anew reports whether the log tells that an index was made anew.
func (w *world) anew() bool { return strings.Contains(w.said.String(), "made anew") }

// snapshot writes an epoch of an edit, with these ranges in its past.
func (w *world) edited(faded ...mind.Range) {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"self": w.self.String(), "faded": faded})
	lethetest.Must(w.t, err)
	w.epoch++
	snapshot := w.put(blobs.Meta{At: w.now, Gist: "epoch", Life: w.self.String()}, string(body))
	w.append(event.Line(w.now, event.Epoch{K: w.epoch, Why: "edit"}, refs(snapshot)...))
}

func remove(t testing.TB, path string) {
	t.Helper()
	lethetest.Must(t, os.Remove(path))
}
