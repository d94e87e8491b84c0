package recall

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/blobs"
	"lethe/life"
	"lethe/mind"
)

// A log that is cut back, or another one, is indexed from its start.
func TestAnotherLog(t *testing.T) {
	for what, change := range map[string]func(w *world, log []byte) []byte{
		"cut":         func(_ *world, log []byte) []byte { return log[:strings.LastIndex(string(log[:len(log)-1]), "\n")+1] },
		"empty":       func(*world, []byte) []byte { return nil },
		"another one": func(w *world, log []byte) []byte { return append([]byte("x"), log...) },
	} {
		w := newWorld(t)
		w.says("an apple")
		w.says("a banana")
		x := w.synced()
		log, err := os.ReadFile(w.lifePath())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.lifePath(), change(w, log), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = x.Sync(context.Background(), w.store, w.lifePath(), nil)
		var corrupt *life.CorruptError
		if (err != nil) != (what == "another one") || err != nil && !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if x.Rebuilt() == "" || !strings.Contains(w.said.String(), "made anew") {
			t.Errorf("%s: nothing is said", what)
		}
		want := 0
		if what == "cut" {
			want = 1
		}
		if n := originals(t, x); n != want {
			t.Errorf("%s: %d originals", what, n)
		}
	}
}

// What stands before damage in the log is indexed; a torn end is not an error.
func TestDamagedLog(t *testing.T) {
	w := newWorld(t)
	apple := w.says("an apple")
	if _, err := w.file.WriteString("[2026-03-01T09:02:00.000000Z] fade e7..e8 to=gi"); err != nil {
		t.Fatal(err)
	}
	x := w.open()
	w.sync(x)
	w.finds(x, "apple", apple)
	if _, err := w.file.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	w.sync(x)
	w.says("a banana")
	var corrupt *life.CorruptError
	for range 2 {
		if _, err := x.Sync(context.Background(), w.store, w.lifePath(), nil); !errors.As(err, &corrupt) {
			t.Errorf("sync over damage: %v", err)
		}
	}
	w.finds(x, "apple", apple)
	if why := x.Rebuilt(); why != "" {
		t.Errorf("made anew: %s", why)
	}
}

// A log that package life has written is read as one, torn ends and all.
func TestReadsWhatLifeWrites(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "real.md")
	log, err := life.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h := w.put(blobs.Meta{At: w.now, Gist: "g", Life: w.self.String()}, "◆ e1 note ◱hash=0123456789abcdef gist=x◲\nan apple\n")
	boot, fade := life.New(w.now, "boot", nil), life.New(w.now, "fade", []string{"e1..e1"}, "to", "gist", "say", "a + \"b\"\nc")
	boot.Refs, fade.Refs = refs(w.self), refs(h)
	if err := log.Append(boot); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(fade, life.New(w.now, "epoch", []string{"1"}, "why", "full")); err != nil {
		t.Fatal(err)
	}
	x := w.open()
	if n, err := x.Sync(context.Background(), w.store, path, nil); err != nil || n != 1 {
		t.Errorf("added %d, %v", n, err)
	}
	w.finds(x, "apple", h)
}

// The log's own examples are sound to this package's reader.
func TestReadsThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/life.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```life\n")
	text, _, _ = strings.Cut(text, "```")
	path := filepath.Join(t.TempDir(), "LIFE.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := openLog(path, mark{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	lines, joined := 0, 0
	for {
		_, follows, err := log.next()
		if err != nil {
			break
		}
		lines++
		if follows {
			joined++
		}
	}
	if want := strings.Count(text, "\n"); lines != want || want < 20 || joined != strings.Count(text, " + #") {
		t.Errorf("%d lines of %d, %d joined", lines, want, joined)
	}
}

func TestEntriesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := map[int]time.Time{}
		for n, s := range rapid.MapOf(rapid.IntRange(1, 1<<40), rapid.Int64Range(-1<<50, 1<<50)).Draw(t, "entries") {
			in[n] = time.UnixMicro(s).UTC()
		}
		data := encodeEntries(in)
		out, err := decodeEntries(data)
		if err != nil || len(out) != len(in) {
			t.Fatalf("%v, %v", out, err)
		}
		for n, at := range in {
			if !out[n].Equal(at) {
				t.Fatalf("e%d at %v, not %v", n, out[n], at)
			}
		}
		if len(data) > 0 {
			if _, err := decodeEntries(data[:len(data)-1]); err == nil {
				t.Fatal("cut off, and nothing said")
			}
		}
	})
}

// The originals of an epoch are read as package mind writes them.
func TestReadsEpochsOfTheMind(t *testing.T) {
	state := mind.New()
	h := blobs.Sum([]byte("original"))
	state.Faded = []mind.Range{
		{From: 1, To: 64, Level: mind.Card, Original: mind.Ref{Hash: blobs.Sum([]byte("card"))}},
		{From: 65, To: 67, Level: mind.Gist, Original: mind.Ref{Hash: h, Short: h.String()[:16]}},
	}
	body, err := state.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := removedBy(body)
	if err != nil || len(tasks) != 1 || tasks[0].from != 65 || tasks[0].to != 67 || tasks[0].ref != h.String() {
		t.Errorf("%+v, %v", tasks, err)
	}
	if _, err := removedBy(body[:len(body)/2]); err == nil {
		t.Error("half an epoch is read")
	}
}
