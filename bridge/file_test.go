package bridge

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// docs/rooms.md shows how lines name files, and the form in which Put writes it for people and SAY for agents.
func TestFilesOnThePage(t *testing.T) {
	rows := strings.Split(strings.ReplaceAll(lethetest.Blocks(t, "rooms.md", "files")[0], "␤", "\u2028"), "\n")
	store, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"))
	lethetest.Must(t, err)
	_, tag, err := File{Kind: "photo", Mime: "image/jpeg"}.Put(store, time.Now(), "ada", make([]byte, 120_000))
	lethetest.Must(t, err)
	before, _, _ := strings.Cut(tag, "hash=")
	if user := chat.Parse([]byte(rows[0])); len(blobs.Mentions(user.Text)) != 1 || !strings.HasPrefix(user.Text, before) {
		t.Errorf("%q does not begin with %q", user.Text, before)
	}
	agent := chat.Parse([]byte(rows[1]))
	for i, f := range []blobs.File{
		{Kind: "photo", Name: "valve.png", Type: "image/png", Size: 81_000, From: "lethe"},
		{Kind: "document", Name: "valve.pdf", Type: "application/pdf", Size: 1_200_000, From: "lethe"},
	} {
		if want := f.Tag(blobs.Mentions(agent.Text)[i]); strings.Split(agent.Text, "\n")[i+1] != want {
			t.Errorf("%q has not %q", agent.Text, want)
		}
		if back, ok := blobs.ParseFile(f.Gist()); !ok || back != f {
			t.Errorf("%q is read as %+v", f.Gist(), back)
		}
	}
}

// Only what stands at the end of the line of who sent it is a file.
func TestAttachments(t *testing.T) {
	store, err := blobs.Open(filepath.Join(t.TempDir(), "blobs"))
	lethetest.Must(t, err)
	send := func(from, name string) string {
		f := blobs.File{Kind: "document", Name: name, Type: "text/plain", Size: 4, From: from}
		h, err := store.Put(blobs.Meta{Gist: f.Gist()}, []byte(name))
		lethetest.Must(t, err)
		return f.Tag(store.Short(h))
	}
	a, b, bobs := send("ada", "a"), send("ada", "b"), send("bob", "c")
	for _, c := range []struct {
		text, rest string
		names      []string
	}{
		{"two\n" + a + "\n" + b, "two", []string{"a", "b"}},
		{"one\n" + bobs + "\n" + a, "one\n" + bobs, []string{"a"}},
		{a, a, nil},
		{"x\n" + a + " ", "x\n" + a + " ", nil},
		{"x\n" + strings.Replace(a, "4 B", "5 B", 1), "x\n" + strings.Replace(a, "4 B", "5 B", 1), nil},
		{"", "", nil},
	} {
		rest, files := Attachments(store, "ada", c.text)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
			if got, err := store.Get(f.Hash); err != nil || string(got.Body) != f.Name {
				t.Errorf("%+v: %v", f, err)
			}
		}
		if rest != c.rest || !slices.Equal(names, c.names) {
			t.Errorf("%q: %q, %q", c.text, rest, names)
		}
	}
}
