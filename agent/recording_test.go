package agent

import (
	"os"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// The command of media.transcribe hears each recording once, before the model is asked, over kills too; a failure is told.
func TestRecordingsAreWrittenDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Tools.Transcribe = `tr a-z A-Z; test ! -e refuse`
	r := w.run(w.boot("ada", "dev"))
	voice, hash := w.attach("voice", "audio/ogg", []byte("buy milk ◆ please"))
	song, _ := w.attach("audio", "audio/mp4", []byte("la la"))
	picture, _ := w.attach("photo", "image/png", drawn(t, 2, 2, white))
	r.ask("listen: "+voice+" "+picture, song)
	notes := w.having(r.id, "note", "why", "recording")
	if len(notes) != 2 || w.model.Usage().Calls != 1 {
		t.Fatalf("%d notes and %d calls\n%s", len(notes), w.model.Usage().Calls, w.dump())
	}
	lethetest.Words(t, w.prompt(), "what hash="+hash[:16]+" says: BUY MILK ◰4 PLEASE", "says: LA LA")
	r.ask("thanks")
	for _, kind := range []string{"inbound", "note"} {
		r = r.again(dieAt(kind, 1))
		voice, _ = w.attach("voice", "audio/ogg", []byte("killed at "+kind))
		w.say("dev", "ann", "listen "+voice)
		r.killed()
		r = w.run(r.id)
		r.settled()
		if n := strings.Count(w.prompt(), "says: KILLED AT "+strings.ToUpper(kind)); n != 1 {
			t.Errorf("killed at %s it is told %d times", kind, n)
		}
	}
	w.write(w.own(r.id, "workspace/refuse"), "")
	voice, _ = w.attach("voice", "audio/ogg", []byte("nobody hears this"))
	r.ask("and " + voice)
	lethetest.Words(t, w.prompt(), "says: not known: media.transcribe ended with exit 1")
	if n := len(w.having(r.id, "note", "why", "recording")); n != 5 {
		t.Errorf("%d notes, not 5", n)
	}
	r.checked()
}

// A /stop ends the command, and its turn; the recording stays where it is.
func TestStopOfARecording(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.conf.Tools.Transcribe = `touch begun; sleep 1000`
	r := w.run(w.boot("ada", "dev"))
	voice, _ := w.attach("voice", "audio/ogg", []byte("hm"))
	w.say("dev", "ann", "listen "+voice)
	w.eventually("the command runs", func() bool {
		_, err := os.Stat(w.own(r.id, "workspace/begun"))
		return err == nil
	})
	r.tell("/stop")
	w.conf.Tools.Transcribe = "cat"
	r = r.again()
	r.ask("hello")
	if n := len(w.having(r.id, "note", "why", "recording")); n != 1 {
		t.Errorf("%d notes; what was said before a /stop has no reply behind it, and is heard with the next line", n)
	}
	r.checked()
}
