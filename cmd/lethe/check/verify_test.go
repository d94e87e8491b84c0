package check_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

func (w *world) verify(id home.Identity, against *life.Checkpoint) check.Verdict {
	w.Helper()
	key, err := life.ReadKey(w.home.Dir)
	w.must(err)
	v, err := check.Verify(id, w.store, check.VerifyOptions{Against: against, Key: key.Public()})
	w.must(err)
	return v
}

// fails checks that a life is found to be altered, and what is said of it.
func (w *world) fails(id home.Identity, against *life.Checkpoint, want string) {
	w.Helper()
	if v := w.verify(id, against); v.Fault == nil || !strings.Contains(v.Fault.Error(), want) {
		w.Errorf("got %v, want %q", v.Fault, want)
	}
}

// forged is a log with lines changed and all checksums, and with a key also all seals, made anew.
func forged(t testing.TB, self string, key *life.Key, lines []string) string {
	t.Helper()
	var out strings.Builder
	var tree life.Tree
	prev := ""
	for _, line := range lines {
		text := line[:strings.LastIndex(line, " #")]
		if e, err := life.ParseLine(line); key != nil && err == nil && e.Kind == life.Sealed {
			c := key.Sign(self, tree.Size, tree.Root(), e.Get("last"))
			text = event.Line(e.At, event.Sealed{Size: c.Size, Root: life.Base64(c.Root[:]), Last: c.Last, Key: key.Public(),
				Sig: life.Base64(c.Sig)}).String() + " +"
		}
		sum := blake3.Sum256([]byte(prev + text))
		prev = hex.EncodeToString(sum[:6])
		line = text + " #" + prev + "\n"
		tree.Add(life.Leaf(line))
		out.WriteString(line)
	}
	return out.String()
}

// write puts another log in place, or rather other bytes.
func write(t testing.TB, id home.Identity, text string) {
	t.Helper()
	lethetest.Must(t, os.WriteFile(id.LIFE(), []byte(text), 0o600))
}

func TestVerify(t *testing.T) {
	w := newWorld(t)
	all, err := w.home.List()
	w.must(err)
	for _, id := range all {
		v := w.verify(id, nil)
		if v.Fault != nil || v.Unsealed != 0 || v.Seals < 2 || v.Blobs == 0 || v.Checkpoint.Verify(v.Signer) != nil {
			t.Errorf("%s: %+v", id.Name, v)
		}
		if again := w.verify(id, &v.Checkpoint); again.Fault != nil {
			t.Errorf("%s against its own checkpoint: %v", id.Name, again.Fault)
		}
	}
}

// Whatever byte of a log is changed, it is found; where the last line was cut by that, with a checkpoint.
func TestVerifyFindsEachByte(t *testing.T) {
	lethetest.Unraced(t)
	w := newWorld(t)
	bob := w.id("bob")
	kept, text := w.verify(bob, nil).Checkpoint, lethetest.Read(t, bob.LIFE())
	for at := 0; at < len(text); at += lethetest.Sample(31, 7, 1) {
		data := []byte(text)
		data[at] ^= 1
		write(t, bob, string(data))
		if v := w.verify(bob, &kept); v.Fault == nil && v.Lines >= kept.Size {
			if at < strings.LastIndex(text, "[") {
				t.Fatalf("byte %d was changed, and nothing was found", at)
			}
		}
	}
}

// Who computes the checksums anew is found by the seals; who seals anew with another key, by the key;
// who has the key, or cuts the log back to a seal, by a checkpoint that was kept.
func TestVerifyFindsForgery(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	whole := w.verify(ada, nil)
	text := lethetest.Read(t, ada.LIFE())
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	var seals []int
	for i, line := range lines {
		if strings.Contains(line, "] sealed ") {
			seals = append(seals, i)
		}
	}
	if forged(t, ada.Self, nil, lines) != text {
		t.Fatal("the log is not made again as it is")
	}
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "] reply ") })
	altered := slices.Clone(lines)
	altered[at] = strings.Replace(altered[at], "turn=", "turn=1", 1)
	own, err := life.ReadKey(w.home.Dir)
	w.must(err)
	other, err := life.LoadKey(t.TempDir())
	w.must(err)
	blob := slices.Clone(lines)
	blob[seals[1]] = regexp.MustCompile("last=[0-9a-f]{64}").ReplaceAllString(blob[seals[1]], "last="+strings.Repeat("0", 64))
	next := seals[slices.IndexFunc(seals, func(s int) bool { return s > at })]
	for name, tt := range map[string]struct {
		text, want string
		against    *life.Checkpoint
	}{
		"a line":          {strings.Join(altered, ""), fmt.Sprintf("line %d, at byte ", at+1), nil},
		"checksums":       {forged(t, ada.Self, nil, altered), fmt.Sprintf("line %d, at byte", next+1), nil},
		"lines it covers": {forged(t, ada.Self, nil, altered), fmt.Sprintf("to %d at least one was altered", next), nil},
		"a line left out": {forged(t, ada.Self, nil, slices.Delete(slices.Clone(lines), at, at+1)), "at least one was altered", nil},
		"another key":     {forged(t, ada.Self, &other, altered), "which is not this home's", nil},
		"the home's key":  {forged(t, ada.Self, &own, altered), "were altered and sealed anew", &whole.Checkpoint},
		"cut back":        {strings.Join(lines[:seals[1]+1], ""), "was cut back", &whole.Checkpoint},
		"another signature": {text, "not signed by a key", func() *life.Checkpoint {
			c := other.Sign(ada.Self, whole.Checkpoint.Size, whole.Checkpoint.Root, whole.Checkpoint.Last)
			return &c
		}()},
		"a false signature": {forged(t, ada.Self, nil, replaced(lines, seals[1], " sig=", " sig=AAAA")), "no signature of the key", nil},
		"another blob":      {forged(t, ada.Self, &own, blob), "the parents of its newest blob do not lead there", nil},
		"a checkpoint of other blobs": {text, "the parents of its newest blob do not lead there", func() *life.Checkpoint {
			c := own.Sign(ada.Self, whole.Checkpoint.Size, whole.Checkpoint.Root, strings.Repeat("0", 64))
			return &c
		}()},
		"no lines": {"", "LIFE has no lines", nil},
		"no seals": {forged(t, ada.Self, nil, slices.DeleteFunc(slices.Clone(lines),
			func(l string) bool { return strings.Contains(l, "] sealed ") })), "was cut back", &whole.Checkpoint},
	} {
		write(t, ada, tt.text)
		t.Log(name)
		w.fails(ada, tt.against, tt.want)
	}
}

func replaced(lines []string, at int, old, text string) []string {
	lines = slices.Clone(lines)
	lines[at] = strings.Replace(lines[at], old, text, 1)
	return lines
}

// A life that another home took over is sealed by two keys, and a line between them says so.
func TestVerifyOverHomes(t *testing.T) {
	w := newWorld(t)
	bob := w.id("bob")
	w.must(os.Rename(filepath.Join(w.home.Dir, "key"), filepath.Join(w.home.Dir, "key.old")))
	key, err := life.LoadKey(w.home.Dir)
	w.must(err)
	w.fails(bob, nil, "which is not this home's")
	received := journal.Record{Event: event.Received{Custody: 1, Key: key.Public()}}
	before := lethetest.Read(t, bob.LIFE())
	w.epoch(bob)
	w.fails(bob, nil, "no line says that another home received the life")
	write(t, bob, before)
	w.held(bob, func(held *journal.Journal) { w.must(held.Commit(received)) }) // by anybody
	w.epoch(bob)
	w.fails(bob, nil, "no line says that another home received the life")
	write(t, bob, before)
	w.epoch(bob, received)
	if v := w.verify(bob, nil); v.Fault != nil || v.Signer != key.Public() {
		t.Errorf("%+v", v)
	}
}

// A gist that a model wrote of an original is no newer blob: nothing was altered while no seal stands behind its line.
func TestVerifyRetold(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	original, line := mind.Ref{}, event.Adopted{Agent: "codex", Session: "s", File: "f", Entries: 1}
	w.held(ada, func(held *journal.Journal) {
		ref, err := held.Put(blobs.Meta{Gist: "talk", Parent: held.State.LastBlob}, []byte("◆ a1 note\nhello\n"))
		w.must(err)
		original = ref
		w.must(held.Commit(journal.Record{Event: line, Stored: []mind.Ref{original}}))
	})
	w.epoch(ada)
	line.Relevance = 5
	w.held(ada, func(held *journal.Journal) {
		w.must(held.Commit(journal.Record{Event: line, Stored: []mind.Ref{original}}))
	})
	if v := w.verify(ada, nil); v.Fault != nil {
		t.Error(v.Fault)
	}
}

// Blobs are as LIFE names them, and their parents lead to the boot.
func TestVerifyBlobs(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	for _, ref := range []string{refs(t, ada, "reply")[3], refs(t, ada, "boot")[0], refs(t, ada, life.Epoch)[2]} {
		h := w.resolve(ref)
		path := w.store.Path(h)
		data := lethetest.Read(t, path)
		w.must(os.Remove(path))
		w.fails(ada, nil, "missing or damaged")
		lethetest.Write(t, path, data+" ")
		w.fails(ada, nil, h.String()[:16])
		lethetest.Write(t, path, data)
	}
	write(t, ada, strings.TrimSuffix(lethetest.Read(t, ada.LIFE()), "\n"))
	if v := w.verify(ada, nil); v.Fault != nil || v.Torn == 0 {
		t.Error(v.Fault, v.Torn)
	}
}

// What was erased is proven as long as a sealed line says what was there, and what is left.
func TestVerifyErased(t *testing.T) {
	w := newWorld(t)
	ada := w.id("ada")
	text := lethetest.Read(t, ada.LIFE())
	at := int64(strings.LastIndex(text[:strings.Index(text, "gist=turn 2")], "\n") + 1)
	line, _, _ := strings.Cut(text[at:], "\n")
	now := strings.Replace(line, "gist=turn 2", "gist=......", 1)
	e := life.Erasure{Before: life.Leaf(line), Now: life.Leaf(now)}
	h := w.resolve(refs(t, ada, "reply")[2])
	buried := w.bury(h, blobs.Erased, string(w.get(h).Body[:9]))
	w.must(durable.Patch(ada.LIFE(), durable.Piece{At: at, Data: []byte(now)}))
	w.fails(ada, nil, "checksum does not fit")
	lethetest.Write(t, life.ErasedPath(ada.LIFE()), life.EncodeErasure(at, e))
	w.fails(ada, nil, "no sealed line")
	erased := journal.Record{Event: event.Erased{Why: "erased",
		Lines: []event.ErasedLine{{Offset: at, Leaf: fmt.Sprintf("%x", e.Before), Now: fmt.Sprintf("%x", e.Now)}}}}
	w.held(ada, func(held *journal.Journal) {
		w.must(held.Commit(erased))
		w.must(held.Epoch("count", nil)) // the line before could be anybody's
		w.fails(ada, nil, "no sealed line")
		w.must(held.Epoch("erased", nil, erased))
		w.fails(ada, nil, "has a tombstone, and no sealed line")
		w.must(held.Epoch("erased", nil, buried))
	})
	if v := w.verify(ada, nil); v.Fault != nil || v.Erased != 2 {
		t.Errorf("%+v", v)
	}
	path, file := w.store.Path(h), lethetest.Read(t, w.store.Path(h))
	w.must(os.Chmod(path, 0o600))
	swap(t, path, "\nwhy:", "\nx: y\nwhy:")
	w.fails(ada, nil, "has a tombstone, and no sealed line")
	lethetest.Write(t, path, file)
	other := strings.Replace(now, "......", ":-)...", 1)
	w.must(durable.Patch(ada.LIFE(), durable.Piece{At: at, Data: []byte(other)}))
	e.Now = life.Leaf(other)
	lethetest.Write(t, life.ErasedPath(ada.LIFE()), life.EncodeErasure(at, e))
	w.fails(ada, nil, fmt.Sprintf("the line at byte %d was altered, and no sealed line says that it was erased, and what was left", at))
}

// A hostile log is refused, or verified; it is no panic.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(lethetest.Blocks(f, "life.md", "life")[0]))
	for _, line := range []string{"sealed size=0 root= key=AQ sig=", "sealed size=9223372036854775807 root=AA key=AA sig=AA",
		"erased why=x line=0:a:b", "moved custody=-1", "received custody=0 key=="} {
		f.Add([]byte("[2026-11-20T12:57:16.123456Z] " + line + " #000000000000\n"))
	}
	id := home.Identity{Self: strings.Repeat("ab", 32), Name: "ada", Dir: f.TempDir()}
	store, err := blobs.Open(filepath.Join(id.Dir, "blobs"))
	lethetest.Must(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		var lines []string
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, " #") {
				lines = append(lines, line)
			}
		}
		for _, text := range []string{string(data), forged(t, id.Self, nil, lines)} {
			write(t, id, text)
			if v, err := check.Verify(id, store, check.VerifyOptions{}); err == nil && v.Fault == nil && v.Blobs > 0 {
				t.Error("it refers to blobs that are not there")
			}
		}
	})
}

// What a fork has taken over and is gone, its ancestor tells of.
func TestVerifyForkOfErased(t *testing.T) {
	w := newWorld(t)
	ada, bea := w.id("ada"), w.fork()
	buried := w.bury(w.newest(ada, "inbound", 0), blobs.Erased, "forged")
	w.fails(bea, nil, "has a tombstone, and no sealed line")
	w.epoch(ada, buried)
	if v := w.verify(bea, nil); v.Fault != nil || v.Erased != 1 {
		t.Errorf("%+v", v)
	}
}
