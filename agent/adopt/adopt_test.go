package adopt_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lethe/agent/adopt"
)

// collected is a sink that keeps all it gets.
type collected struct {
	sessions []adopt.Session
	entries  []adopt.Entry
	lines    []string // "session who kind: text", the text on one line and cut
	whole    []string // "session who kind text", quoted
}

func (c *collected) Session(s adopt.Session) error {
	c.sessions = append(c.sessions, s)
	return nil
}

func (c *collected) Read(adopt.Piece) error { return nil }

func (c *collected) Entry(e adopt.Entry) error {
	c.entries = append(c.entries, e)
	text := strings.ReplaceAll(e.Text, "\n", "⏎")
	if runes := []rune(text); len(runes) > 70 {
		text = string(runes[:70]) + "…"
	}
	for _, media := range e.Media {
		text += fmt.Sprintf("[%s %d]", media.Type, len(media.Data))
	}
	id := c.sessions[len(c.sessions)-1].ID
	c.whole = append(c.whole, fmt.Sprintf("%s %s %s %q", id, e.Who, e.Kind, e.Text))
	c.lines = append(c.lines, fmt.Sprintf("%.8s %s %s: %s", id, e.Who, e.Kind, text))
	return nil
}

// read reads a store as an agent's.
func read(t *testing.T, agent string, store fs.FS, options adopt.Options) (*collected, *adopt.Report) {
	t.Helper()
	sink := new(collected)
	report, err := adopt.Read(context.Background(), adopt.Find(agent), store, sink, options)
	if err != nil {
		t.Fatal(err)
	}
	return sink, report
}

// fixture reads what the agent itself wrote.
func fixture(t *testing.T, agent string) (*collected, *adopt.Report) {
	t.Helper()
	return read(t, agent, os.DirFS("testdata/"+agent), adopt.Options{})
}

// files reads a store of some files, by their paths.
func files(t *testing.T, agent string, texts map[string]string) (*collected, *adopt.Report) {
	t.Helper()
	return read(t, agent, storeOf(texts), adopt.Options{})
}

func storeOf(texts map[string]string) fstest.MapFS {
	store := fstest.MapFS{}
	for name, text := range texts {
		store[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return store
}

// said holds the lines of a stream against those that are wanted.
func (c *collected) want(t *testing.T, want string) {
	t.Helper()
	got := strings.Join(c.lines, "\n")
	if want = strings.ReplaceAll(strings.TrimSpace(want), "\n\t\t", "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// unknown returns what was not understood: "kind ×count at places".
func unknown(report *adopt.Report) (all []string) {
	for _, u := range report.Unknown {
		all = append(all, fmt.Sprintf("%s ×%d at %s", u.Kind, u.Count, strings.Join(u.Places, " ")))
	}
	return all
}

func wantUnknown(t *testing.T, report *adopt.Report, want ...string) {
	t.Helper()
	if got := unknown(report); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("not understood: %q, want %q", got, want)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A room's lines come with their speakers, and those that were taken before do not come again.
func TestRooms(t *testing.T) {
	at := "2026-11-20T12:57:16Z"
	text := "[USER:ann " + at + "] hello\n[AGENT:bot " + at + "] hello, Ann\n[USER:ann " + at + "] hello\nbare\n"
	known := map[uint64]bool{}
	read := func(text string) (got []string) {
		files := fstest.MapFS{"ann.md": {Data: []byte(text)}, "ann.toml": {Data: []byte("title = \"Ann\"")}}
		sink := &collected{}
		_, err := adopt.Read(t.Context(), adopt.Find("room"), files, sink, adopt.Options{
			Known: func(key uint64) bool { return known[key] },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range sink.entries {
			known[entry.Key] = true
			got = append(got, string(entry.Who)+" "+entry.Text)
		}
		return got
	}
	want := []string{"person ann: hello", "assistant bot: hello, Ann", "person ann: hello", "person unknown: bare"}
	if got := read(text); !slices.Equal(got, want) {
		t.Errorf("read %q", got)
	}
	if got := read(text + "[USER:ann " + at + "] bye\n"); !slices.Equal(got, []string{"person ann: bye"}) {
		t.Errorf("read again: %q", got)
	}
}
