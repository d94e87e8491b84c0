package bridge

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// A room that cannot be read keeps only its own messages waiting, and so does the file of a
// peer. The room's new peer is
// made known where the room ends once it can be read: before the message and its
// answer.
func TestRoomThatCannotBeRead(t *testing.T) {
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { unreadable(t, crash) })
	}
}

func unreadable(t *testing.T, crash bool) {
	b := newPager(t, t.TempDir())
	path := chat.Path(b.home, "ops")
	lethetest.Must(t, os.MkdirAll(path, 0o700))
	peerFile := b.file("peers/p-eve.json")
	lethetest.Must(t, os.MkdirAll(peerFile, 0o700))
	b.start()
	end := b.run()
	toOps := message("1", "bob", "is the disk full?")
	toOps.Room = "ops"
	b.accept(toOps, message("5", "eve", "me too"), message("2", "ada", "hello"))
	equal(t, "dev", b.texts("dev"), "ada: hello")
	toOps.ID, toOps.Text = "3", "hello?"
	b.accept(toOps, message("4", "ada", "more"))
	equal(t, "dev", b.texts("dev"), "ada: hello", "ada: more")
	time.Sleep(10*time.Minute + time.Second) // not at the moment of a retry
	if h := b.health(); h.In != 3 || h.Error == "" || b.log.count("cannot post what came in") != 1 {
		t.Errorf("health %+v, log:\n%s", h, b.log)
	}
	if crash {
		end()
		b.again()
	}
	lethetest.Must(t, os.Remove(path))
	lethetest.Must(t, os.Remove(peerFile))
	b.say("ops", true, "lethe", noon, "an old story")
	if crash {
		b.run()
	}
	time.Sleep(2 * time.Minute)
	b.say("ops", true, "lethe", time.Now(), "no")
	equal(t, "ops", b.texts("ops"), "lethe: an old story", "bob: is the disk full?", "bob: hello?", "lethe: no")
	equal(t, "dev", b.texts("dev"), "ada: hello", "ada: more", "eve: me too")
	s := &script{}
	b.deliver(Peer{Key: "p-bob", Room: "ops"}, s)
	settled()
	equal(t, "what bob hears", s.got(), "no")
}
