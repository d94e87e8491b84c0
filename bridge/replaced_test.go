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
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(noon.AddDate(0, 0, 1))) // no tag is of the future
				b := open(t)
				b.accept(message("1", "ada", "question"))
				path := chat.Path(b.home, "dev")
				save := func(text string) {
					lethetest.Write(t, path, text)
					before := time.Now().Add(-time.Hour) // left alone since
					lethetest.Must(t, os.Chtimes(path, before, before))
				}
				look := func() []string {
					s := &script{}
					b.catchUp(ada, s)
					return s.got()
				}
				save(lethetest.Read(t, path) + heard)
				equal(t, "sent at first", look(), "one", "two")
				lethetest.Must(t, os.Remove(path))
				equal(t, "sent without a room", look())
				save(c.first)
				got := look()
				if c.second != "" {
					save(c.second)
					got = append(got, look()...)
				}
				equal(t, "sent", got, c.want...)
				equal(t, "sent once more", look())
				save(c.first + c.second + at("13:00:00", "last"))
				if name != "restored" {
					equal(t, "sent at last", look(), "last")
				}
			})
		})
	}
}

// A tag from the future does not make everything after it history.
func TestForgedFuture(t *testing.T) {
	b := open(t)
	b.say("dev", false, "eve", noon.AddDate(70, 0, 0), "hello from 2096")
	lethetest.Must(t, b.ensurePeer(ada.Key, ada.Room))
	if st := b.state("p-ada"); st.Newest.After(time.Now()) || st.Newest.IsZero() {
		t.Errorf("the newest line is of %s", st.Newest)
	}
}

func TestDamagedPeer(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "garbage": "{", "nowhere": "{}",
		"negative": `{"room":"dev","cursor":{"offset":-1}}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t)
				b.agentSays("of the past")
				path := b.file("peers/p-ada.json")
				lethetest.Write(t, path, text)
				if h := b.health(); !strings.Contains(h.Error, "p-ada.json") {
					t.Errorf("health %+v", h)
				}
				s := &script{}
				b.catchUp(ada, s)
				b.agentSays("new")
				b.deliver(ada, s)
				settled()
				equal(t, "sent", s.got(), "new")
				kept, _ := filepath.Glob(path + ".damaged-*")
				if len(kept) != 1 || b.log.count("ERROR") != 1 || !strings.Contains(b.log.String(), kept[0]) {
					t.Fatalf("kept %v, log:\n%s", kept, b.log)
				}
				if old, err := os.ReadFile(kept[0]); err != nil || string(old) != text {
					t.Fatalf("kept %q, %v", old, err)
				}
			})
		})
	}
}
