package telegram

import (
	"os"
	"strings"
	"testing"

	"lethe/internal/botapi"
)

// A message that the inbox could not take is not confirmed: it comes again when
// the disk has room.
func TestInboxCannotBeWritten(t *testing.T) {
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	disk := newBrokenDisk(t, "inbox.jsonl")
	disk.mended.Store(true)
	st.greeted(dm, ada)
	disk.mended.Store(false)
	st.Say(dm, ada, "b")
	st.deaf("no space left")
	disk.mended.Store(true)
	st.Say(dm, ada, "c")
	equalAll(t, "dev", st.hears("dev", 3), "Ada: hello", "Ada: b", "Ada: c")
	st.within("the end is told", func() bool { return strings.Contains(st.log.String(), `msg="goes on"`) })
	st.well()
}

// Nor does a list that nobody can read count as hearing.
func TestDamagedPeopleAreDeafness(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.greeted(dm, ada)
	people := st.file("people.json")
	if err := os.WriteFile(people, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	st.Say(dm, ada, "b")
	st.deaf("people.json")
	if err := os.Remove(people); err != nil {
		t.Fatal(err)
	}
	equalAll(t, "dev", st.hears("dev", 2), "Ada: hello", "Ada: b")
	st.well()
}

// deaf waits for the bridge to fetch several times without taking anything in, and
// checks that it does not count as an exchange.
func (st *stage) deaf(why string) {
	st.t.Helper()
	st.within("it fails", func() bool { return strings.Contains(st.log.String(), why) })
	asked := st.Count("getUpdates")
	st.within("it is tried again", func() bool { return st.Count("getUpdates") > asked+5 })
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, why) })
	if strings.Contains(st.log.String(), "reaches telegram again") {
		st.t.Errorf("it takes nothing in, and counts as hearing:\n%s", st.log)
	}
}
