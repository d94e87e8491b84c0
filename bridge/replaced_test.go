package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// A room that is emptied, replaced, removed or edited sends nothing twice and
// nothing old, and what is new in it is sent.
func TestRoomChanges(t *testing.T) {
	at := func(s string, text string) string { return "[AGENT:lethe 2026-11-20T" + s + "Z] " + text + "\n" }
	heard := at("12:00:01", "one") + at("12:00:02", "two")
	for name, c := range map[string]struct {
		first, second string
		want          []string
	}{
		"replaced by history": {at("11:00:00", "old") + "untagged\n" + at("12:00:01", "older\u2028copy"), "", nil},
		"replaced, with something new": {at("11:00:00", "old") + at("12:30:00", "new") + at("11:30:00", "late"),
			"", []string{"new", "late"}},
		"emptied":               {"", at("12:30:00", "new"), []string{"new"}},
		"emptied, then history": {"", at("11:00:00", "old") + at("12:30:00", "new"), []string{"new"}},
		"edited":                {at("12:00:01", "changed") + at("12:00:02", "two") + at("12:30:00", "new"), "", []string{"new"}},
		"restored":              {heard, heard + at("12:30:00", "new"), []string{"new"}},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			b := start(t, home)
			b.accept(t, message("1", "ada", "question"))
			path := chat.Path(home, "dev")
			save := func(text string) {
				lethetest.Write(t, path, text)
				before := time.Now().Add(-time.Hour) // left alone since
				lethetest.Must(t, os.Chtimes(path, before, before))
			}
			question, err := os.ReadFile(path)
			lethetest.Must(t, err)
			look := func() []string {
				s := &script{}
				d := b.delivery(ada, s)
				lethetest.Must(t, d.catchUp(t.Context()))
				d.leave()
				return s.got()
			}
			save(string(question) + heard)
			equal(t, "sent at first", look(), []string{"one", "two"})
			lethetest.Must(t, os.Remove(path))
			equal(t, "sent without a room", look(), nil)
			save(c.first)
			got := look()
			if c.second != "" {
				save(c.second)
				got = append(got, look()...)
			}
			equal(t, "sent", got, c.want)
			equal(t, "sent once more", look(), nil)
			save(c.first + c.second + at("13:00:00", "last"))
			if name != "restored" {
				equal(t, "sent at last", look(), []string{"last"})
			}
		})
	}
}

// A tag from the future does not make everything after it history.
func TestForgedFuture(t *testing.T) {
	home := t.TempDir()
	b := start(t, home)
	say(t, home, "dev", false, "eve", noon.AddDate(70, 0, 0), "hello from 2096")
	lethetest.Must(t, b.ensurePeer(ada.Key, ada.Room))
	if st := state(t, home, "p-ada"); st.Newest.After(time.Now()) || st.Newest.IsZero() {
		t.Errorf("the newest line is of %s", st.Newest)
	}
}

func TestDamagedPeer(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "garbage": "{", "nowhere": "{}",
		"negative": `{"room":"dev","cursor":{"offset":-1}}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := t.TempDir()
				log := &captured{}
				b := start(t, home, func(c *Config) { c.Log = log.logger() })
				agentSays(t, home, "of the past")
				path := inState(home, "peers/p-ada.json")
				lethetest.Write(t, path, text)
				if h := healthOf(t, home); !strings.Contains(h.Error, "p-ada.json") {
					t.Errorf("health %+v", h)
				}
				s := &script{}
				b.catchUp(t, ada, s)
				agentSays(t, home, "new")
				b.deliver(t, ada, s)
				settled()
				equal(t, "sent", s.got(), []string{"new"})
				kept, _ := filepath.Glob(path + ".damaged-*")
				if len(kept) != 1 || log.count("ERROR") != 1 || !strings.Contains(log.String(), kept[0]) {
					t.Fatalf("kept %v, log:\n%s", kept, log)
				}
				if old, err := os.ReadFile(kept[0]); err != nil || string(old) != text {
					t.Fatalf("kept %q, %v", old, err)
				}
			})
		})
	}
}
