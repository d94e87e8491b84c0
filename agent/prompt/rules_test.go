package prompt

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/agent/tools/catalogue"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// reader returns a reader of the rules of a directory where no identity writes, and the file that they are in.
func reader(t *testing.T) (*Reader, string) {
	t.Helper()
	dir := lethetest.Dir(t)
	store, err := blobs.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	put := func(m blobs.Meta, text []byte) (mind.Ref, error) {
		h, err := store.Put(m, text)
		return mind.Ref{Hash: h, Short: store.Short(h), Gist: m.Gist}, err
	}
	r := &Reader{Layers: []*Layer{{Dir: dir, Of: "the workspace"}}, Store: store, Put: put}
	return r, filepath.Join(dir, "AGENTS.md")
}

// begin begins a life whose system message says what the reader finds.
func begin(t *testing.T, r *Reader) *mind.State {
	t.Helper()
	text, versions, err := r.System(nil, 1e6, func(s string) int { return len(s) })
	lethetest.Must(t, err)
	s := mind.New()
	s.Renew(mind.Inputs{System: "soul" + text, Texts: versions})
	return s
}

// told returns what an identity is told of changes when it hears something, and has it know them.
func told(s *mind.State, r *Reader) (texts string) {
	s.Live = append(s.Live, &mind.Entry{N: len(s.Live) + 1, Kind: mind.Inbound})
	for _, n := range r.Changes(s) {
		file := n.Event.(event.Note).File
		s.Files[file.Name] = file.Hash
		texts += string(n.Texts[0].Data) + "\n"
	}
	return texts
}

// made is a source whose items change.
type made []catalogue.Item

func (m *made) Items() []catalogue.Item              { return *m }
func (m *made) Ask(context.Context) []catalogue.Item { return *m }
func (m *made) Use(context.Context, string, json.RawMessage, catalogue.Call) (catalogue.Answer, error) {
	return catalogue.Answer{}, nil
}

// Of servers that change one after the other each change is told once.
func TestChangesOfServers(t *testing.T) {
	t.Parallel()
	r, _ := reader(t)
	var source made
	r.Sources = []catalogue.Source{&source}
	s := begin(t, r)
	all := ""
	for _, name := range []string{"one/a", "two/b", "three/c", "four/d"} {
		source = append(source, catalogue.Item{Kind: catalogue.Tool, Name: name, About: "does " + name})
		all += told(s, r)
	}
	for _, item := range source {
		if n := strings.Count(all, "+tool "+item.Name); n != 1 {
			t.Errorf("%s is told %d times:\n%s", item.Name, n, all)
		}
	}
	lethetest.Words(t, all, "since this context began", "since you were told")
	// A life that goes back to before knows less, and is told from there.
	delete(s.Files, catalogueName)
	if got := told(s, r); strings.Count(got, "does ") != 4 {
		t.Error(got)
	}
}

// A text that changes and changes back is told as what it is; what has not changed is compared with nothing.
func TestChanges(t *testing.T) {
	t.Parallel()
	r, file := reader(t)
	lethetest.Write(t, file, "Run make check.\n")
	s := begin(t, r)
	store := r.Store
	r.Store = nil // nothing is read of it
	if got := told(s, r); got != "" {
		t.Error(got)
	}
	r.Store = store
	lethetest.Write(t, file, "Run make tests.\n")
	const change = "AGENTS.md of the workspace has changed since this context began:\n" +
		"--- then\n+++ now\n@@ -1 +1 @@\n-Run make check.\n+Run make tests.\n"
	if got := told(s, r); got != change {
		t.Error(got)
	}
	lethetest.Write(t, file, "Run make check.\n")
	r.looked = r.looked.Add(time.Hour) // a slow machine takes long from there to here
	if notes := r.Changes(s); len(notes) > 0 {
		t.Errorf("it looked again at once, and nothing was heard: %+v", notes)
	}
	if got := told(s, r); got != "AGENTS.md of the workspace is again as it was when this context began.\n" {
		t.Error(got)
	}
}

// Rules behind a link that become a pipe are no rules: nobody waits for its writer.
func TestPipeBehindALink(t *testing.T) {
	t.Parallel()
	r, file := reader(t)
	rules := filepath.Join(filepath.Dir(file), "rules")
	lethetest.Write(t, rules, "Never push.\n")
	lethetest.Must(t, os.Symlink("rules", file))
	s := begin(t, r)
	lethetest.Must(t, os.Remove(rules))
	lethetest.Must(t, syscall.Mkfifo(rules, 0o600))
	const gone = "AGENTS.md of the workspace has changed since this context began:\n" +
		"--- then\n+++ now\n@@ -1 +1 @@\n-Never push.\n+\n"
	if got := told(s, r); got != gone {
		t.Errorf("%q", got)
	}
}

// A change within a step of the file system's clock leaves the same times, and is seen all the same.
func TestChangeWithinAStepOfTheClock(t *testing.T) {
	t.Parallel()
	r, file := reader(t)
	at := time.Now()
	write := func(text string) {
		lethetest.Write(t, file, text)
		lethetest.Must(t, os.Chtimes(file, at, at))
	}
	write("Be brief.\n")
	s := begin(t, r)
	write("Be exact.\n")
	if got := told(s, r); got == "" {
		t.Error("not told of a change that left size and time of a file")
	}
}
