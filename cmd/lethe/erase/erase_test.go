package erase

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/internal/test/crashdisk"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

func TestMain(m *testing.M) {
	lethetest.AskFaults()
	os.Exit(m.Run())
}

// A text is found as it is and as JSON and prompts escape it, and in no other text.
func TestLiteral(t *testing.T) {
	for text, forms := range map[string][]string{
		"swordfish": {"swordfish", "the swordfish.", `\nswordfish`},
		`a"b\c <é>`: {`a"b\c <é>`, `a\"b\\c <é>`, `a\"b\\c \u003c\u00e9\u003e`, `a\\\"b\\\\c <é>`},
		"one\ntwo  three": {"one two three", "one\n    two\tthree", "one\u2028two  three", `one\ntwo  three`, `one\u2028two\u00a0three`,
			"one\n[USER:unknown] two three"},
		"über\u00a0one　two": {"über\u00a0one　two", "über one two", `\u00fcber\u00a0one\u3000two`},
		"◆ key 😀":           {"◆ key 😀", "◰4 key 😀", `◆ key \ud83d\ude00`},
	} {
		f := finder{}
		lethetest.Must(t, f.also(text))
		for _, form := range forms {
			if len(find([]byte("so: "+form), f.patterns)) != 1 {
				t.Errorf("%q is not found as %q", text, form)
			}
		}
		for _, other := range []string{"sword fish", "swo", "swor…", "Swordfish", "a/b/c", "one two"} {
			if found := find([]byte(other), f.patterns); len(found) > 0 {
				t.Errorf("%q is found in %q", text, other)
			}
		}
	}
}

// What is no text stays, and what is left can be read.
func TestCuts(t *testing.T) {
	for _, c := range []struct{ kind, word, data, want string }{
		{raw, "4711", "[USER:u4711 2026-11-20T12:57:16Z] 4711 hash=a4711b is 4711\n4711",
			"[USER:u4711 2026-11-20T12:57:16Z] .... hash=a4711b is ....\n...."},
		{state, "4711", `{"at": 4711, "hash": "4711", "text": "is 4711"}`, `{"at": 4711, "hash": "4711", "text": "is ...."}`},
		{log, "room dev", `inbound room="room dev" say="in room dev" ◱hash=81c68b6ce806a784 gist=room dev◲`,
			`inbound room="room dev" say="in [erased]" ◱hash=81c68b6ce806a784 gist=[erased]◲`},
		{reply, "4711", "{\"reasoning\":0,\"text\":4,\"calls\":[{\"tool\":\"BASH\",\"args\":21}]}\n4711\n<call BASH>\n" +
			"{\"n\":4711,\"s\":\"4711\"}\n</call>\n",
			"{\"reasoning\":0,\"text\":4,\"calls\":[{\"tool\":\"BASH\",\"args\":21}]}\n....\n<call BASH>\n{\"n\":4711,\"s\":\"....\"}\n</call>\n"},
	} {
		f, d := &finder{}, &document{kind: c.kind, data: []byte(c.data)}
		lethetest.Must(t, f.also(c.word))
		d.cuts(find(d.data, f.patterns))
		got := []byte(c.data)
		d.Mask(got)
		if string(got) != c.want {
			t.Errorf("%s of %q becomes\n%s, want\n%s", c.kind, c.word, got, c.want)
		}
		if err := d.readable(got); err != nil && c.kind != log {
			t.Errorf("%s cannot be read: %v", got, err)
		}
	}
}

const word = "deploy key is in vault 7"

type world struct {
	testing.TB
	home  home.Home
	store *blobs.Store
	id    home.Identity
}

// newWorld is the home of an older program, in which ada was told the word, and forgot it.
func newWorld(t testing.TB) *world {
	t.Helper()
	dir := lethetest.Dir(t)
	lethetest.Unpack(t, "../../../agent/testdata/november/home.tar.gz", dir)
	for _, path := range []string{"home/stray", "home/agents/stray", "home/blobs/stray", "home/chats/stray",
		"home/bridges/stray", "home/blobs/abc/stray"} {
		lethetest.Write(t, filepath.Join(dir, path), "whatever")
	}
	lethetest.Write(t, filepath.Join(dir, "home/chats/ops.toml"), fmt.Sprintf("title = %q\n", word))
	return open(t, filepath.Join(dir, "home"))
}

func open(t testing.TB, dir string) *world {
	t.Helper()
	home, err := home.Open(dir)
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	id, err := home.Find("ada")
	lethetest.Must(t, err)
	return &world{t, home, store, id}
}

func (w *world) hold() error {
	held, err := journal.Hold(w.home, w.id, w.store, nil)
	if err == nil {
		err = held.Close()
	}
	return err
}

func (w *world) must(err error) {
	w.Helper()
	lethetest.Must(w, err)
}

func (w *world) erase(r Request) (*Finding, error) {
	f, err := Find(w.home, w.store, w.id, r)
	if err == nil {
		err = f.Plan.Save(w.id.Dir)
	}
	if err == nil {
		err = w.hold()
	}
	return f, err
}

// erased erases.
func (w *world) erased(r Request) *Finding {
	w.Helper()
	f, err := w.erase(r)
	w.must(err)
	return f
}

// failing erases the word on a disk that fails, and mends the disk.
func (w *world) failing(fault lethetest.Fault) {
	w.Helper()
	mended := lethetest.Break(w, w.home.Dir, fault)
	defer mended()
	if _, err := w.erase(Request{Text: word}); err == nil {
		w.Error("it has not failed")
	}
}

var errDisk = errors.New("the disk fails")

// files are all files of a directory, by path.
func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	lethetest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[strings.TrimPrefix(path, dir+"/")], err = os.ReadFile(path)
		}
		return err
	}))
	return out
}

// holding are the files of the home that hold a text.
func (w *world) holding(text string) (out []string) {
	w.Helper()
	for path, data := range files(w, w.home.Dir) {
		if bytes.Contains(data, []byte(text)) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// What a person said goes from where a hint or RECALL shows it, and what others said there stays.
func TestPassagesOfAPerson(t *testing.T) {
	const at = " 2026-11-20T12:57:16Z] "
	shown := "hash=0123456789abcdef gist=… (e1..e4)" +
		tools.Indented("[USER:ann"+at+"one\n    two\n[USER:bob"+at+"three\n…\n[USER:ann"+at+"… four") + "\nend"
	var got []string
	for _, s := range find([]byte(shown), saidBy("ann")) {
		got = append(got, shown[s.from:s.to])
	}
	if fmt.Sprintf("%q", got) != `["one\n        two" "… four"]` {
		t.Errorf("%q", got)
	}
}

// Of all bytes of the home only those change that were listed; all lives go on from there.
func TestNothingElseGoes(t *testing.T) {
	w := newWorld(t)
	before := files(t, w.home.Dir)
	f := w.erased(Request{Text: word})
	if f.Count < 10 || other(f) != "" {
		t.Fatalf("%+v", f)
	}
	planned := map[string]home.ErasedFile{}
	for _, p := range f.Plan.Files {
		planned[p.Path] = p
	}
	after := files(t, w.home.Dir)
	for path, was := range before {
		p, ok := planned[path]
		now, there := after[path]
		switch {
		case p.Remove:
			if there && !strings.HasSuffix(path, "context.md") {
				t.Errorf("%s is still there", path)
			}
			continue
		case !ok && strings.HasSuffix(path, "/lock") || strings.HasSuffix(path, "/recall.db-lock"):
			continue
		}
		p.Mask(was)
		if p.Of != "" {
			var err error
			was, err = home.Tombstone(p.Of, f.Plan.At, was)
			w.must(err)
		}
		if strings.HasSuffix(path, "LIFE.md") {
			now = now[:min(len(now), len(was))]
		}
		if !bytes.Equal(now, was) {
			t.Errorf("%s is not what was planned", path)
		}
	}
	w.whole()
	if left := w.holding(word); len(left) > 0 {
		t.Errorf("it is still in %q", left)
	}
	if f, err := Find(w.home, w.store, w.id, Request{Text: word}); !errors.Is(err, ErrNowhere) {
		t.Errorf("%+v, %v", f, err)
	}
}

// A room that hosts share loses a text where the identity hears it, and nowhere else.
func TestSharedRooms(t *testing.T) {
	w := newWorld(t)
	for _, room := range []string{"dev", "elsewhere"} {
		lethetest.Write(t, filepath.Join(w.home.Dir, "share", "rooms", room+".md"), word+"\n")
	}
	f := w.erased(Request{Text: word})
	if left := w.holding(word); len(left) != 1 || left[0] != "share/rooms/elsewhere.md" {
		t.Errorf("it is in %q; %+v", left, f)
	}
}

// A wish that waits says in its name what is to go: it goes, and the plan does not say it.
func TestPendingWish(t *testing.T) {
	w := newWorld(t)
	w.must(home.Ask(w.id, "label "+word))
	f, err := Find(w.home, w.store, w.id, Request{Text: word})
	w.must(err)
	w.must(f.Plan.Save(w.id.Dir))
	if strings.Contains(lethetest.Read(t, filepath.Join(w.id.Dir, "erase.json")), word) {
		t.Error("the plan says what is to go")
	}
	w.must(w.hold())
	if left := home.Wishes(w.id); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// other is the first other identity that has it, too.
func other(f *Finding) string {
	for _, p := range f.Places {
		if p.How == Other {
			return p.What
		}
	}
	return ""
}

// What two lives hold goes from each of them alone; the second of them was killed in the middle of a call.
func TestOtherLives(t *testing.T) {
	const word = "rehearsal model"
	w := newWorld(t)
	for range 2 {
		f := w.erased(Request{Text: word})
		w.whole()
		if name := other(f); name != "" {
			if len(w.holding(word)) == 0 {
				t.Error("the other life has forgotten it, too")
			}
			var err error
			w.id, err = w.home.Find(name)
			w.must(err)
		}
	}
	if left := w.holding(word); w.id.Name != "bob" || len(left) > 0 {
		t.Errorf("after an erasure from ada and %s it is still in %q", w.id.Name, left)
	}
}

// whole checks that a life is there with all that it refers to, and can be opened.
func (w *world) whole() {
	w.Helper()
	w.must(life.Scan(w.id.LIFE(), func(life.Event, int64) error { return nil }))
	v, err := check.Verify(w.id, w.store, check.VerifyOptions{})
	w.must(errors.Join(err, v.Fault))
	s, err := home.Fold(w.id, w.store)
	w.must(err)
	_, err = s.Conserved()
	w.must(err)
}

// finished checks that an erasure that was cut short is over at the next start, or was never begun.
func (w *world) finished(when string, before map[string][]byte) {
	w.Helper()
	if err := w.hold(); err != nil {
		w.Errorf("%s: %v", when, err)
		return
	}
	left := slices.DeleteFunc(w.holding(word), func(path string) bool {
		return !strings.Contains(path, w.id.Self) && !strings.HasPrefix(path, "chats") && !w.mine(path)
	})
	erased := 0
	err := life.Scan(w.id.LIFE(), func(e life.Event, _ int64) error {
		if e.Kind == "note" && e.Get("why") == "erased" {
			erased++
		}
		return nil
	})
	switch {
	case err != nil || erased > 1:
		w.Errorf("%s: LIFE tells of %d erasures, %v", when, erased, err)
	case erased == 1 && len(left) > 0:
		w.Errorf("%s: it is over, and still in %q", when, left)
	case erased == 0:
		now := files(w, w.home.Dir)
		for path, was := range before {
			if !strings.HasSuffix(path, "lock") && !bytes.Equal(now[path], was) {
				w.Errorf("%s: it was not begun, and %s has changed", when, path)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.id.Dir, "erase*")); len(left) > 0 {
		w.Errorf("%s: %q are left", when, left)
	}
	w.whole()
}

// mine reports whether a path is that of a blob of the life.
func (w *world) mine(path string) bool {
	h, err := blobs.ParseHash(strings.ReplaceAll(strings.TrimPrefix(path, "blobs/"), "/", ""))
	b, gerr := w.store.Get(h)
	return err == nil && (gerr != nil || b.Life == w.id.Self)
}

// Each step that changes the disk fails, before or after it was done.
func TestEveryStepFails(t *testing.T) {
	lethetest.Unraced(t)
	whole, steps := newWorld(t), 0
	mended := lethetest.Break(t, whole.home.Dir, func(durable.Stage, string, string) error { steps++; return nil })
	whole.erased(Request{Text: word})
	mended()
	every := lethetest.Sample(97, 41, 1)
	for n := lethetest.Day() % every; n < steps; n += every {
		lethetest.Tried(t, 1)
		w := newWorld(t)
		before := files(t, w.home.Dir)
		at, what := 0, ""
		w.failing(func(stage durable.Stage, op, path string) error {
			if at++; at <= n {
				return nil
			}
			what = fmt.Sprintf("step %d: %s %s %s", n, stage, op, filepath.Base(path))
			return errDisk
		})
		w.finished(what, before)
	}
}

// What a power loss leaves at any moment is an erasure that can be finished, or none.
func TestPowerLossOfAnErasure(t *testing.T) {
	lethetest.Unraced(t)
	w := newWorld(t)
	before, disk := files(t, w.home.Dir), load(t, w.home.Dir)
	var ops []durable.Op
	durable.Trace = func(op durable.Op) {
		if op, ok := crashdisk.In(w.home.Dir, op); ok {
			ops = append(ops, op)
		}
	}
	w.erased(Request{Text: word})
	durable.Trace = nil
	r := rand.New(rand.NewPCG(1, uint64(lethetest.Day())))
	every := lethetest.Sample(41, 23, 1)
	for n, op := range ops {
		if disk.Do(op); n%every != 0 {
			continue
		}
		lethetest.Tried(t, 1)
		dir := filepath.Join(lethetest.Dir(t), "home")
		w.must(os.MkdirAll(dir, 0o700))
		w.must(disk.PowerLoss([]float64{0, 1, 0.5}[r.IntN(3)], r).Write(dir))
		open(t, dir).finished(fmt.Sprintf("power loss after %d: %s %s", n, op.Kind, op.Path), before)
	}
}

// Until an erasure that was cut short is finished, nothing of the life is shown, copied or collected; whatever repairs
// the home finishes it first, and moves nothing away of what is to go.
func TestUnfinished(t *testing.T) {
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		w := newWorld(t)
		broken := 0
		w.failing(func(s durable.Stage, op, path string) error {
			if s == stage && strings.Contains(path, "/blobs/") {
				broken++
			}
			if broken > 0 {
				return errDisk
			}
			return nil
		})
		_, ferr := home.Fold(w.id, w.store)
		_, aerr := home.At(w.id, w.store, home.Moment{})
		_, gerr := check.Collect(w.home, w.store, true)
		for _, err := range []error{ferr, aerr, gerr} {
			if !errors.Is(err, home.ErrErasing) {
				t.Errorf("it is shown: %v", err)
			}
		}
		found, err := check.Home(w.home, w.store, check.Options{})
		w.must(err)
		if !slices.ContainsFunc(found.Findings, func(f check.Finding) bool { return f.Kind == "unfinished erasure" }) {
			t.Errorf("it is not found: %v", found.Findings)
		}
		_, left, err := check.Repair(w.home, w.store, check.Options{})
		w.must(err)
		if now := w.holding(word); len(now) > 0 || w.id.Erasing() != nil {
			t.Errorf("after a repair it is still in %q: %v", now, left.Findings)
		}
		w.whole()
	}
}

// An erasure whose end failed is told once, and the one behind it is told, too.
func TestToldOnce(t *testing.T) {
	w := newWorld(t)
	w.failing(func(stage durable.Stage, op, path string) error {
		if op == "remove" && filepath.Base(path) == "erase.json" {
			return errDisk
		}
		return nil
	})
	told := lethetest.Read(t, w.id.LIFE())
	w.must(w.hold())
	lethetest.Holds(t, w.id.LIFE(), told)
	w.erased(Request{Text: "my cat is called Tom"})
	if more := lethetest.Read(t, w.id.LIFE())[len(told):]; !strings.Contains(more, "] erased why=erased") {
		t.Errorf("the second one is not told: %q", more)
	}
	w.whole()
}

// load is a disk that holds a directory, durably.
func load(t testing.TB, dir string) *crashdisk.Disk {
	t.Helper()
	disk := crashdisk.New()
	var dirs []string
	lethetest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			dirs = append(dirs, rel)
			if rel != "." {
				disk.Do(durable.Op{Kind: "mkdir", Path: rel})
			}
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			lethetest.Must(t, err)
			disk.Do(durable.Op{Kind: "symlink", Path: rel, To: to})
		default:
			data, err := os.ReadFile(path)
			lethetest.Must(t, err)
			disk.Do(durable.Op{Kind: "write", Path: rel, Data: data})
			disk.Do(durable.Op{Kind: "sync", Path: rel})
		}
		return nil
	}))
	for _, d := range dirs {
		disk.Do(durable.Op{Kind: "syncdir", Path: d})
	}
	return disk
}

// A ref goes with its gist, its part of originals and its summaries; a person's words with theirs. What was
// said beside them stays.
func TestRefAndPerson(t *testing.T) {
	for _, c := range []struct {
		gone, stays string
		request     func(*world) Request
	}{
		{"remember that the deploy key", "my cat is called Tom", func(w *world) Request { return Request{Ref: w.heard("vault 7")} }},
		{"my cat is called Tom", "Noted, “cat Tom”", func(*world) Request { return Request{Person: "ann", Derived: true} }},
	} {
		w := newWorld(t)
		w.erased(c.request(w))
		w.whole()
		for _, path := range w.holding(c.gone) {
			t.Errorf("%q is still in %s", c.gone, path)
		}
		if len(w.holding(c.stays)) == 0 {
			t.Errorf("%q is gone with %q", c.stays, c.gone)
		}
	}
}

// A text that is lost keeps no other from being erased.
func TestLostText(t *testing.T) {
	w := newWorld(t)
	w.must(os.Remove(w.store.Path(w.heard("vault 7"))))
	w.erased(Request{Person: "ann", Derived: true})
	for _, path := range w.holding("my cat is called Tom") {
		t.Errorf("it is still in %s", path)
	}
}

// heard is the blob of the first line heard that holds a text.
func (w *world) heard(text string) (found blobs.Hash) {
	w.Helper()
	w.must(life.Scan(w.id.LIFE(), func(e life.Event, _ int64) error {
		for _, r := range e.Refs {
			if e.Kind == "inbound" && strings.Contains(r.Gist, text) && found.IsZero() {
				h, err := w.store.Resolve(r.Hash)
				found = h
				return err
			}
		}
		return nil
	}))
	return found
}

// Where a person has changed a room, what stands now where a line was heard stays, and the room is told of as one of
// which nobody knows.
func TestChangedRoom(t *testing.T) {
	w := newWorld(t)
	var heard blobs.Hash
	w.must(life.Scan(w.id.LIFE(), func(e life.Event, _ int64) error {
		if e.Kind == "inbound" {
			var err error
			heard, err = w.store.Resolve(e.Refs[0].Hash)
			return err
		}
		return nil
	}))
	rooms, err := filepath.Glob(filepath.Join(w.home.Dir, "chats", "*.md"))
	w.must(err)
	const line = "[USER:ada 2026-11-20T12:57:16Z] something else\n"
	for _, text := range []string{line, strings.Repeat(line, 500)} {
		for _, room := range rooms {
			w.must(os.WriteFile(room, []byte(text), 0o600))
		}
		found, err := Find(w.home, w.store, w.id, Request{Ref: heard})
		w.must(err)
		unread := slices.ContainsFunc(found.Places, func(p Place) bool { return p.How == Unread && strings.HasPrefix(p.What, "chats/") })
		cut := slices.ContainsFunc(found.Plan.Files, func(f home.ErasedFile) bool { return strings.HasPrefix(f.Path, "chats/") })
		if cut || !unread {
			t.Errorf("%+v\n%+v", found.Places, found.Plan.Files)
		}
	}
}

// Of a file of any bytes what is found goes, byte by byte, and no newline.
func FuzzCuts(f *testing.F) {
	kinds := []string{raw, log, state, reply, blob, wish, mine}
	f.Add(uint8(0), "4711", 0, []byte("[USER:u4711 2026-11-20T12:57:16Z] 4711 hash=a4711b"))
	f.Add(uint8(1), "room dev", 0, []byte("[2026-11-20T12:57:16.123456Z] inbound e1 room=dev say=\"in room dev\" "+
		"◱hash=81c68b6ce806a784 gist=room dev◲ #0123456789ab\n"))
	f.Add(uint8(2), "4711", 0, []byte(`{"at": 4711, "hash": "4711", "text": "is 4711"}`))
	f.Add(uint8(3), "4711", 0, []byte("{\"reasoning\":0,\"text\":4,\"calls\":[{\"tool\":\"BASH\",\"args\":21}]}\n4711\n"+
		"<call BASH>\n{\"n\":4711,\"s\":\"4711\"}\n</call>\n"))
	f.Add(uint8(3), "4711", 9, []byte("{\"reasoning\":-1,\"text\":99999,\"calls\":[{\"tool\":\"BASH\",\"args\":-21}]}\n4711\n"))
	f.Add(uint8(4), "4711", 30, []byte("---\nat: 2026-11-20T12:57:16Z\ngist: is 4711\n---\nbody 4711"))
	f.Fuzz(func(t *testing.T, kind uint8, word string, head int, data []byte) {
		looks := &finder{}
		if looks.also(word) != nil {
			return
		}
		d := &document{kind: kinds[int(kind)%len(kinds)], data: data, head: max(0, min(head, len(data)))}
		d.cuts(find(data, looks.patterns))
		after := bytes.Clone(data)
		if d.Mask(after) == "" {
			t.Fatalf("%v does not fit into %d bytes", d.Cuts, len(data))
		}
		if len(after) != len(data) || bytes.Count(after, []byte("\n")) != bytes.Count(data, []byte("\n")) {
			t.Fatalf("%q becomes %q", data, after)
		}
		_ = d.readable(after)
	})
}
