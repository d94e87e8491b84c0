package agent

import (
	"strings"
	"testing"

	"lethe/mind"
)

func mentions(c *Config) { c.Mentions = true }

// An identity that is woken by mentions alone hears the other lines when it wakes, and answers none of them; what wakes it
// besides (commands, triggers, answers) still does. The others in the room are woken as ever.
func TestWokenByMentions(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		on("ask me", calls("WAIT", `{"question":"Which colour?","options":["red","blue"]}`)),
		on("] tick", text("I heard the clock")), always("I am here"))
	w.conf.People = []string{"ann"}
	ada := w.boot("ada", "dev")
	r := w.run(ada, mentions)
	w.say("dev", "ann", "hello", "is ada there?", "mail ann@ada.org")
	w.answers("dev", "eve", "what does ada say?")
	r.settled()
	if n := len(w.asked()); n > 0 {
		t.Fatalf("the model was asked %d times for what mentions nobody", n)
	}
	r = r.again(mentions) // not even after a restart
	r.settled()
	equal(t, "the answer", r.ask("@Ada, are you there?"), "I am here")
	equal(t, "model calls", len(w.asked()), 1)
	for _, line := range []string{"hello", "is ada there?", "mail ann@ada.org", "what does ada say?"} {
		contains(t, w.prompt(), line)
	}
	contains(t, w.prompt(), "Only what says @ada or @all there is for you")
	contains(t, r.ask("/status"), "idle")
	r.ask("@all: ask me")
	calls := len(w.asked())
	w.say("dev", "bob", "nothing of this is an answer")
	r.settled()
	equal(t, "model calls while it waits", len(w.asked()), calls)
	equal(t, "after an answer", r.ask("red"), "I am here")
	w.trigger(ada, "tick.toml", "every = \"1s\"\nroom = \"dev\"\nsay = \"tick\"\n")
	w.eventually("a trigger wakes it", func() bool { return strings.Contains(strings.Join(w.said("dev"), "\n"), "I heard the clock") })
	w.disarm(ada, "tick.toml")
	r.checked()
}

// Identities that mention each other talk, and stop by themselves. A person sets them off again, whomever he mentions.
func TestMentionsBetweenIdentities(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("@ada @bob, go on"))
	w.conf.MaxAgentTurns = 3
	ada, bob := w.run(w.boot("ada", "dev"), mentions), w.run(w.boot("bob", "dev"), mentions)
	for said := 0; said < 9; {
		w.say("dev", "ann", "@bob, ask ada")
		w.answered("dev", said+2)
		n := w.silent(ada, bob)
		if n > said+2+2*3 {
			t.Fatalf("they said %d things to each other", n-said)
		}
		said = n
	}
	calls := len(w.asked())
	w.say("dev", "ann", "hm")
	w.silent(ada, bob)
	equal(t, "model calls for what mentions nobody", len(w.asked()), calls)
	ada.stop()
	bob.stop()
}

// A line that names it waits for an identity that is off, whoever else has spoken since; the others are history.
func TestMentionIsNoHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("I am here"))
	ada := w.boot("ada", "dev")
	w.boot("eve", "dev")
	r := w.run(ada, mentions)
	r.settled()
	r.stop()
	w.say("dev", "ann", "eve, look", "@ada, look when you are back", "@all, look")
	w.answers("dev", "eve", "I look")
	r = w.run(ada, mentions)
	equal(t, "the answer", w.answered("dev", 2), "I am here")
	r.finish()
	equal(t, "model calls", len(w.asked()), 1)
	contains(t, w.prompt(), mind.HistoryText)
}

// Whom a line mentions gets it as a notice, too, whether it is an answer or said, and once; who is mentioned by others
// does not.
func TestMentionedPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		on("report", calls("SAY", `{"room":"ops","message":"@GRACE the disk is full"}`)),
		on("said in room", text("I have told them.")),
		on("deploy", text("@grace, it is done.")), always("hm"))
	w.conf.Notify = []string{"notify-grace", "notify-bob"}
	r := w.run(w.boot("ada", "dev", "ops"))
	equal(t, "the answer", r.ask("deploy for @bob"), "@grace, it is done.")
	equal(t, "the answer", r.ask("report"), "I have told them.")
	r.ask("thanks, @grace")
	equalSlices(t, "said in ops", w.said("ops"), []string{"@GRACE the disk is full"})
	equalSlices(t, "notices", w.said("notify-grace"), []string{"(dev) @grace, it is done.", "(ops) @GRACE the disk is full"})
	equalSlices(t, "notices of another", w.said("notify-bob"), nil)
	r.checked()
}
