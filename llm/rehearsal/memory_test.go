package rehearsal

import (
	"strings"
	"testing"
)

const hashA, hashB, hashC = "0123456789abcdef", "fedcba9876543210", "00112233445566aa"

func TestRecallWhatWasSaid(t *testing.T) {
	l := newLife(t, "")
	l.hear("dev", "ada: remember that my favourite colour is teal")
	l.says("I will remember: my favourite colour is teal")
	l.hear("dev", "bob: the staging server listens on port 8123 since Monday")
	l.turn()
	l.hear("dev", "ada: what do you think about rain")
	l.turn()
	l.made = nil
	for ask, want := range map[string]string{
		"ada: what is my favorite color?":                        "You said: “my favourite colour is teal”",
		"bob: what is ada's favourite colour?":                   "ada said: “my favourite colour is teal”",
		"ada: which port does the staging server listen on?":     "bob said: “the staging server listens on port 8123",
		"ada: what did bob say about the staging server's port?": "8123",
		"ada: recall staging":                                    "8123",
		"ada: do you remember my favourite colour?":              "teal",
	} {
		l.hear("dev", ask)
		l.says(want)
	}
	l.called()
}

// The newest statement wins.
func TestRecallNewest(t *testing.T) {
	l := newLife(t, "")
	for _, c := range []string{"red", "green"} {
		l.hear("dev", "ada: remember that my favourite colour is "+c)
		l.turn()
	}
	l.hear("dev", "ada: what is my favourite colour?")
	l.says("green")
}

func TestRecallFromSummaryAndNotes(t *testing.T) {
	l := newLife(t, "◆ past\n◆ e1..e9 summary ◱hash="+hashA+" gist=plans◲\nada: the launch is on 3 December\nI: I will remember: the launch is on 3 December\n◆ memory\n- bob is allergic to peanuts\n◆ life\n[…] inbound the launch is cancelled")
	l.entry = 9
	l.hear("dev", "bob: when is the launch?")
	l.says("ada said: “the launch is on 3 December”")
	l.hear("dev", "ada: what is bob allergic to?")
	l.says("“bob is allergic to peanuts”")
	l.called()
}

func TestRecallOpensGist(t *testing.T) {
	l := newLife(t, "◆ past\n◆ e1..e4 gist ◱hash="+hashA+" gist=gardening advice◲\n◆ e5..e9 gist ◱hash="+hashB+" gist=deploy talk: door code chosen◲\n◆ memory\n(empty)")
	l.entry = 9
	l.results["UNCOMPACT "+hashB] = "[original of e5..e9]\n◰4 e5 inbound room=dev\n[USER:ada 2026-11-01T10:00:00Z] the door code is 4711\n[USER:bob 2026-11-01T10:01:00Z] fine"
	l.hear("dev", "bob: what is the door code?")
	l.says("ada said: “the door code is 4711”")
	l.called("UNCOMPACT " + hashB)
	// Now it stands in the context and is not opened again.
	l.hear("dev", "ada: do you remember the door code?")
	l.says("4711")
	l.called()
}

func TestRecallFollowsHintAndCard(t *testing.T) {
	l := newLife(t, "◆ past\n◆ e1..e9 card ◱hash="+hashA+" gist=32 gists: travel, invoices◲")
	l.entry = 9
	l.results["UNCOMPACT "+hashA] = "◱hash=" + hashB + " gist=the weather◲\n◱hash=" + hashC + " gist=invoices: Meyer pays late◲"
	l.results["UNCOMPACT "+hashC] = "[USER:bob 2026-11-01T10:01:00Z] Meyer still owes us 900 euro on the invoices of May"
	l.hear("dev", "ada: what about the invoices of Meyer?")
	l.says("bob said: “Meyer still owes us 900 euro")
	l.called("UNCOMPACT "+hashA, "UNCOMPACT "+hashC)

	l = newLife(t, "◆ past\nNothing has faded yet.")
	l.results["UNCOMPACT "+hashB] = "[USER:ada 2026-11-01T10:01:00Z] the wifi password is swordfish"
	l.hear("dev", "bob: what was the wifi password?")
	l.add("hint", "◱hash="+hashB+" gist=wifi set up◲")
	l.says("swordfish")
	l.called("UNCOMPACT " + hashB)
}

// A hint is opened even when its gist says nothing of what is asked for: its first
// ref before any gist that fits, the others after those.
func TestRecallFollowsHint(t *testing.T) {
	const hint = "You have forgotten details of these, which may matter now. UNCOMPACT shows them:\n" +
		"◱hash=" + hashA + " gist=the lamp room is yours◲ (e1..e6)\n◱hash=" + hashB + " gist=watch of May◲ (e7..e9)"
	question := "ada: I see a postcard of Naples on the wall. what hangs under it?"
	l := newLife(t, "◆ past\n◆ e1..e6 summary ◱hash="+hashA+" gist=the lamp room is yours◲\nada: the lamp room is yours\n◆ e7..e9 gist ◱hash="+hashC+" gist=a postcard for the wall◲")
	l.entry = 9
	l.results["UNCOMPACT "+hashA] = "◰4 e2 inbound room=dev\n[USER:ada 2026-11-01T10:00:00Z] The key hangs behind the barometer, under a postcard of Naples."
	l.hear("dev", question)
	l.add("hint", hint)
	l.says("You said: “The key hangs behind the barometer, under a postcard of Naples.”")
	l.called("UNCOMPACT " + hashA)

	l = newLife(t, "◆ past\n◆ e7..e9 gist ◱hash="+hashC+" gist=a postcard for the wall◲")
	l.entry = 9
	l.results["UNCOMPACT"] = "[USER:ada 2026-11-01T10:00:00Z] the wind is south"
	l.results["UNCOMPACT "+hashB] = "[USER:bob 2026-11-01T10:00:00Z] the fuse box hangs under the postcard of Naples"
	l.hear("dev", question)
	l.add("hint", hint)
	l.says("bob said: “the fuse box hangs under the postcard of Naples”")
	l.called("UNCOMPACT "+hashA, "UNCOMPACT "+hashC, "UNCOMPACT "+hashB)

	// One of an earlier turn is no reason to open anything.
	l.results["RECALL"] = "nothing found"
	l.hear("dev", "ada: who paints the gallery railing?")
	l.says("I do not know")
	l.called("RECALL who paints the gallery railing")
}

func TestRecallSearches(t *testing.T) {
	l := newLife(t, "")
	l.results["RECALL"] = hashA + " bees and honey\n" + hashC + " who keeps which key"
	l.results["UNCOMPACT "+hashA] = "[USER:bob 2026-11-01T10:01:00Z] bees are fine"
	l.results["UNCOMPACT "+hashC] = "[USER:ada 2026-11-01T10:01:00Z] the spare key is under the blue pot"
	l.hear("dev", "bob: where is the spare key?")
	l.says("the spare key is under the blue pot")
	l.called("RECALL where is the spare key", "UNCOMPACT "+hashA, "UNCOMPACT "+hashC)

	l = newLife(t, "")
	l.results["RECALL"] = "nothing found"
	l.hear("dev", "bob: where is the spare key?")
	l.says("I do not know")
	l.called("RECALL where is the spare key")
	l.tools = []string{"BASH"}
	l.hear("dev", "bob: where is the golden goose?")
	l.says("I do not know")
	l.called()
}

// A long original is read page by page.
func TestRecallTurnsPages(t *testing.T) {
	l := newLife(t, "◆ past\n◆ e1..e4 gist ◱hash="+hashA+" gist=door code talk◲")
	l.results["UNCOMPACT "+hashA] = "original of hash=" + hashA + " (door code talk), from 2026-11-20 10:00: characters 0 to 32 of 50; go on with offset=32\n\n[USER:bob 2026-11-01T10:01:00Z] so"
	l.results["UNCOMPACT "+hashA+" 32"] = "original of hash=" + hashA + " (door code talk), from 2026-11-20 10:00: characters 32 to 50 of 50\n\n[USER:bob 2026-11-01T10:01:00Z] the door code is 4711"
	l.hear("dev", "ada: what is the door code?")
	l.says("bob said: “the door code is 4711”")
	l.called("UNCOMPACT "+hashA, "UNCOMPACT "+hashA+" 32")
}

// Without UNCOMPACT the gist itself has to do; a failing UNCOMPACT ends too.
func TestRecallWithoutOriginals(t *testing.T) {
	past := "◆ past\n◆ e1..e4 gist ◱hash=" + hashA + " gist=door code is 4711◲"
	l := newLife(t, past)
	l.tools = []string{"BASH"}
	l.hear("dev", "bob: what is the door code?")
	l.says("door code is 4711")
	l.called()
	l = newLife(t, past)
	l.results["UNCOMPACT"] = "error: unknown hash"
	l.results["RECALL"] = "◱hash=" + hashA + " gist=door code◲"
	l.hear("dev", "bob: what is the door code?")
	l.says("I do not know")
	if len(l.made) != 3 { // the ref, the search, and the ref once more
		t.Errorf("%q", l.made)
	}
}

func TestNotes(t *testing.T) {
	l := newLife(t, "")
	l.results["READ_FILE self/MEMORY.md"] = "[self/MEMORY.md: lines 1-1 of 1, 11 bytes]\n- old note\n"
	l.hear("dev", "ada: note that the tests need tea")
	l.says("I wrote it down: the tests need tea")
	l.called("READ_FILE self/MEMORY.md", "WRITE_FILE self/MEMORY.md")
	if got := l.results["READ_FILE self/MEMORY.md"]; !strings.HasSuffix(got, "]\n- old note\n- the tests need tea\n") {
		t.Errorf("wrote %q", got)
	}
	for old, want := range map[string]string{
		"error: self/MEMORY.md: no such file": "- x y\n",
		"[self/MEMORY.md: empty file]\n":      "- x y\n",
		"":                                    "- x y\n",
		"start\n◳ 5 of 9 characters are not shown here; all of them: ◱hash=" + hashA + " gist=g◲\nend": "",
		"[self/MEMORY.md: lines 1-2 of 5000, 90 KB; next page: offset 3]\na\nb":                        "",
		"read self/MEMORY.md: no such file or directory. It has not been written yet":                  "- x y\n",
		"read self/MEMORY.md: permission denied":                                                       "",
		"interrupted, effect unknown":                                                                  "",
	} {
		l := newLife(t, "")
		l.results["READ_FILE self/MEMORY.md"] = old
		l.hear("dev", "ada: note that x y")
		text := l.turn()
		wrote := len(l.made) == 2
		if wrote != (want != "") || wrote && !strings.HasSuffix(l.results["READ_FILE self/MEMORY.md"], "]\n"+want) {
			t.Errorf("%q: %q, calls %q", old, text, l.made)
		}
	}
}

// Whatever was asked before in the same turn, the parts do not mix.
func TestRecallAfterCalls(t *testing.T) {
	l := newLife(t, "")
	l.results["BASH"] = "the spare key is a lie"
	l.results["RECALL"] = "nothing found"
	l.hear("dev", "ada: run it", "ada: where is the spare key?")
	l.says("gave: the spare key is a lie", "I do not know")
	l.called("BASH it", "RECALL where is the spare key")
}
