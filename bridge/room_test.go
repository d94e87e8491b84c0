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
	home := t.TempDir()
	path := chat.Path(home, "ops")
	lethetest.Must(t, os.MkdirAll(path, 0o700))
	peerFile := inState(home, "peers/p-eve.json")
	lethetest.Must(t, os.MkdirAll(peerFile, 0o700))
	log := &captured{}
	b := start(t, home, func(c *Config) { c.Log = log.logger() })
	end := b.run(t)
	toOps := message("1", "bob", "is the disk full?")
	toOps.Room = "ops"
	b.accept(t, toOps, message("5", "eve", "me too"), message("2", "ada", "hello"))
	equal(t, "dev", texts(t, home, "dev"), []string{"ada: hello"})
	toOps.ID, toOps.Text = "3", "hello?"
	b.accept(t, toOps, message("4", "ada", "more"))
	equal(t, "dev", texts(t, home, "dev"), []string{"ada: hello", "ada: more"})
	time.Sleep(10*time.Minute + time.Second) // not at the moment of a retry
	if h := healthOf(t, home); h.In != 3 || h.Error == "" || log.count("cannot post what came in") != 1 {
		t.Errorf("health %+v, log:\n%s", h, log)
	}
	if crash {
		end()
		b.abandon()
		b = start(t, home)
	}
	lethetest.Must(t, os.Remove(path))
	lethetest.Must(t, os.Remove(peerFile))
	say(t, home, "ops", true, "lethe", noon, "an old story")
	if crash {
		b.run(t)
	}
	time.Sleep(2 * time.Minute)
	say(t, home, "ops", true, "lethe", time.Now(), "no")
	equal(t, "ops", texts(t, home, "ops"), []string{"lethe: an old story", "bob: is the disk full?", "bob: hello?", "lethe: no"})
	equal(t, "dev", texts(t, home, "dev"), []string{"ada: hello", "ada: more", "eve: me too"})
	s := &script{}
	b.deliver(t, Peer{Key: "p-bob", Room: "ops"}, s)
	settled()
	equal(t, "what bob hears", s.got(), []string{"no"})
}
