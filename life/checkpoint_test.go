package life

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"lethe/internal/test/lethetest"
)

const self = "82751602d95e3c1d82751602d95e3c1d82751602d95e3c1d82751602d95e3c1d"

// The tree has the roots of tlog's, and goes on from what was written of it.
func TestTree(t *testing.T) {
	var tree Tree
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (out []tlog.Hash, err error) {
		for _, i := range at {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for n := range int64(130) {
		want, err := tlog.TreeHash(n, read)
		if tree.Root() != want || tree.Size != n {
			t.Fatalf("the root of %d lines is %v, want %v (%v)", n, tree.Root(), want, err)
		}
		text, err := json.Marshal(tree)
		lethetest.Must(t, err)
		again := Tree{}
		if err := json.Unmarshal(text, &again); err != nil || again != tree {
			t.Fatalf("read again: %s, %v", text, err)
		}
		line := fmt.Appendf(nil, "line %d", n)
		hashes, err := tlog.StoredHashes(n, line, read)
		lethetest.Must(t, err)
		stored = append(stored, hashes...)
		tree.Add(tlog.RecordHash(line))
	}
	for _, size := range []int64{1<<63 - 1, -1 << 63} {
		tree.Size = size
		tree.Root()
		tree.Add(tlog.Hash{})
	}
}

func madeKey(t *testing.T) (Key, Checkpoint) {
	t.Helper()
	key, err := LoadKey(t.TempDir())
	lethetest.Must(t, err)
	return key, key.Sign(self, 42, tlog.RecordHash([]byte("x")), strings.Repeat("0f", 32))
}

// What a checkpoint prints is a signed note as others read it, with the verifier's key that
// follows from the public key of a line.
func TestCheckpointIsASignedNote(t *testing.T) {
	key, c := madeKey(t)
	vkey, err := note.NewEd25519VerifierKey("lethe/"+self, ParseBase64(key.Public())[1:])
	lethetest.Must(t, err)
	v, err := note.NewVerifier(vkey)
	lethetest.Must(t, err)
	n, err := note.Open([]byte(c.String()), note.VerifierList(v))
	lethetest.Must(t, err)
	if want := "lethe/" + self + "\n42\n" + c.Root.String() + "\nlast=" + c.Last + "\n"; n.Text != want {
		t.Errorf("the text is %q, want %q", n.Text, want)
	}
	again, err := ParseCheckpoint("  " + strings.ReplaceAll(c.String(), "\n", "\r\n") + "\n")
	if err != nil || again.String() != c.String() || again.Verify(key.Public()) != nil {
		t.Errorf("read again: %v, %v", again, err)
	}
}

func TestChangedCheckpoint(t *testing.T) {
	key, c := madeKey(t)
	other, _ := madeKey(t)
	if c.Verify(other.Public()) == nil || c.Verify("") == nil || c.Verify("AQ") == nil {
		t.Error("another key verifies it")
	}
	for _, change := range []func(*Checkpoint){
		func(c *Checkpoint) { c.Size++ },
		func(c *Checkpoint) { c.Root[0] ^= 1 },
		func(c *Checkpoint) { c.Self = strings.Replace(c.Self, "8", "9", 1) },
		func(c *Checkpoint) { c.Sig = append([]byte{}, c.Sig...); c.Sig[40] ^= 1 },
		func(c *Checkpoint) { c.Sig = nil },
	} {
		d := c
		change(&d)
		if d.Verify(key.Public()) == nil {
			t.Errorf("it verifies:\n%s", d)
		}
	}
	text := c.String()
	for _, bad := range []string{"", "\n\n\n\n\n", strings.Replace(text, "42", "042", 1), strings.Replace(text, "42", "-42", 1),
		strings.Replace(text, "lethe/", "", 1), text + text, strings.Replace(text, "\n\n", "\nmore\n\n", 1),
		strings.Replace(text, "— ", "- ", 1)} {
		if _, err := ParseCheckpoint(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// A home has one key, whoever asks first; it shows in nothing that is printed.
func TestKey(t *testing.T) {
	home := t.TempDir()
	if _, err := ReadKey(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
	keys := make([]Key, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() { keys[i], _ = LoadKey(home) })
	}
	all.Wait()
	for _, k := range keys {
		if k.private == nil || k.Public() != keys[0].Public() {
			t.Error("two processes have two keys")
		}
	}
	data, err := json.Marshal(struct{ Key any }{keys[0]})
	if out := fmt.Sprintf("%v%+v%#v%s%x%v", keys[0], keys[0], keys[0], keys[0], keys[0], &keys[0]); out != "" ||
		string(data) != `{"Key":{}}` || err != nil {
		t.Errorf("the key is printed: %q %s", out, data)
	}
	fi, err := os.Stat(home + "/key")
	if err != nil || fi.Mode() != 0o600 {
		t.Errorf("its file: %v %v", fi.Mode(), err)
	}
	lethetest.Must(t, os.WriteFile(home+"/key", []byte("PRIVATE+KEY+lethe+00000000+AAAA\n"), 0o600))
	if _, err := LoadKey(home); err == nil || strings.Contains(err.Error(), "AAAA") {
		t.Errorf("a damaged key: %v", err)
	}
}
