package demo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/must"
	"lethe/internal/status"
	"lethe/life/event"
	"lethe/mind"
)

// begin boots the identity, and puts the logbook where its tools work.
func (t *tour) begin() {
	t.home = must.Get(agent.OpenHome(filepath.Join(t.dir, "home")))
	t.store = must.Get(blobs.Open(t.home.Blobs()))
	must.Do(os.WriteFile(filepath.Join(t.home.Dir, "config.toml"), []byte(config), 0o600))
	t.start("--name", name, "--room", room)
	t.text("That is %s: a log, a hash of its purpose and the moment of its birth, and a process that thinks. Its context holds %d tokens, so it will have to forget soon.", name, limit)
	for m := range months {
		path := filepath.Join(t.id.Dir, "workspace", monthFile(m))
		must.Do(os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(os.WriteFile(path, []byte(month(m)), 0o600))
	}
}

// talk goes on until something fades. The first lines are shown with their answers,
// of the others only how full the context is then.
func (t *tour) talk() {
	t.text("Tell it a story, give it the logbook of a lighthouse to read, ask for a promise.")
	for _, line := range []string{told, "read " + monthFile(0), promise} {
		t.print("\n")
		t.line("you", line)
		t.line(name, ansi.Truncate(strings.Join(strings.Fields(t.say(line)), " "), 130, "…"))
		t.gauge("", t.status().ContextTokens)
	}
	t.text("Mind the postcard. For now, the story stands in the context word for word. The rest of the logbook:")
	for m := 1; m < months; m++ {
		t.say("read " + monthFile(m))
		shown := t.status()
		if shown.Compacting || len(t.happened(0, "fade")) > 0 {
			return
		}
		t.before = shown.ContextTokens
		t.gauge("read "+monthFile(m), t.before)
	}
	fail("nothing has begun to fade, and there is nothing left to say")
}

// forget waits for the fades, shows what stands in the place of the story, and
// checks that the detail is nowhere else than behind its ref.
func (t *tour) forget() {
	t.text("The next month fills it to more than 85 %%. In the background, with no answer waiting for it, the older part is cut into chunks and summarised; then the summaries take its place, in one append to LIFE.md:")
	text := t.viewed("the fades in LIFE.md, and context.md to show them", func(s *mind.State) bool {
		return len(s.Faded) > 0 && !t.status().Compacting
	})
	for _, e := range t.happened(1, "fade", "epoch") {
		if epoch, ok := event.As[event.Epoch](e); !ok || epoch.K > 0 {
			t.show(e)
		}
	}
	t.gauge("before", t.before)
	t.gauge("after", t.status().ContextTokens)

	if strings.Contains(strings.ToLower(text), word) {
		fail("the context still has the %s", word)
	}
	_, story, found := strings.Cut(text, "\n◆ e1..")
	refs := blobs.ParseRefs(story)
	if !found || len(refs) == 0 || !strings.Contains(t.cat(refs[0].Hash), detail) {
		fail("no ref in the place of the story leads to the detail")
	}
	t.text("In the place of the story, context.md now has a ref, and a few words:")
	t.excerpt(clipLines("◆ e1.."+story, 4)...)
	_, pins, _ := strings.Cut(text, "\n◆ pins\n")
	pins, _, _ = strings.Cut(pins, "\n◆")
	if !strings.Contains(pins, kept) {
		fail("the promise is not pinned in context.md")
	}
	t.text("The promise did not fade. It is pinned:")
	t.excerpt(strings.Split("◆ pins\n"+strings.TrimSpace(pins), "\n")...)
	t.text("Of the postcard, not a word is left in the context.")
}

// remember searches what has faded as a person would, has it come up in somebody's
// words, and sees the identity reminded of it.
func (t *tour) remember() {
	t.text("Nothing is lost: every original is a blob, and a ref opens it. You can search what it has forgotten:")
	t.command("lethe recall %s %s", name, search)
	var found string
	t.await("lethe recall to find the detail", func() bool {
		found = t.output(t.lethe("recall", name, search))
		return strings.Contains(strings.Join(strings.Fields(found), " "), detail)
	})
	t.excerpt(clipLines(found, 3)...)

	n := len(t.happened(0))
	t.text("But nothing in its context speaks of a postcard any more, so what would make %s look for one? Mention it, and no ref:", name)
	t.ask(mention)
	t.text("Whatever people say is looked up in the same index. What fits is put at the end of its context before it answers, unasked: a hint, one line for each ref. (On a machine too busy to find it within a quarter of a second, the identity searches by itself, with RECALL.) It had only a gist, and opened the original with UNCOMPACT. LIFE.md, the log of everything that happens to it, tells how:")
	opened := false
	for _, e := range t.happened(n, "inbound", "hint", "call", "result", "reply", "posted") {
		t.show(e)
		if e.Kind == mind.Hint {
			t.excerpt(strings.Split(t.cat(e.Refs[0].Hash), "\n")...)
		}
		if result, _ := event.As[event.Result](e); result.Tool == "UNCOMPACT" && len(e.Refs) > 0 {
			opened = opened || strings.Contains(t.cat(e.Refs[0].Hash), detail)
		}
	}
	if !opened {
		fail("it answered without opening the ref: LIFE.md has no UNCOMPACT with the detail")
	}
}

// ask says a line, and shows it with the answer, which must have the detail.
func (t *tour) ask(text string) {
	t.print("\n")
	t.line("you", text)
	answer := t.say(text)
	t.line(name, answer)
	if !strings.Contains(answer, detail) {
		fail("the answer %q does not have the detail", answer)
	}
}

// kill kills the daemon, resumes the identity by its hash, checks that it wakes
// with the context it died with, and asks again.
func (t *tour) kill() {
	t.text("Now the rude way out: no goodbye, no saving, no cleaning up.")
	whole := func(*mind.State) bool {
		return t.status().State == status.Idle && t.status().PID == t.daemon.cmd.Process.Pid
	}
	before, n := t.viewed("context.md to be up to date", whole), len(t.happened(0))
	t.command("kill -9 %d", t.daemon.cmd.Process.Pid)
	t.daemon.kill()
	t.excerpt("the process is gone: " + t.daemon.cmd.ProcessState.String())
	t.start(t.id.Self[:16])
	if t.viewed("the identity to be idle", whole) != before {
		fail("context.md is not what it was before the kill")
	}
	if len(t.happened(n, "resumed")) != 1 || len(t.happened(0, "stopped")) != 0 {
		fail("LIFE.md does not say that it was resumed after a kill")
	}
	t.text("It woke with the context it died with, byte for byte. The log is the life; the process only thinks it.")
	t.ask(question)
	t.counted()
}

// counted checks that everything was answered once.
func (t *tour) counted() {
	var lines, answers []chat.Line
	t.await("the answers in the room", func() bool { // chat tells one as soon as LIFE has it
		lines = must.Get(chat.Read(chat.Path(t.home.Dir, room), chat.Cursor{}, 1<<24)).Lines
		answers = slices.DeleteFunc(slices.Clone(lines), func(l chat.Line) bool { return !l.Agent })
		return len(answers) >= t.said
	})
	if len(answers) != t.said || len(lines) != 2*t.said {
		fail("of %d lines said, the room has %d, and %d answers", t.said, len(lines)-len(answers), len(answers))
	}
	t.text("%d lines were said so far, and each was answered exactly once, across one kill -9.", t.said)
}

// act has the identity be woken by a trigger, hand work to another one, and ask before
// it acts; the question outlives a kill.
func (t *tour) act() {
	t.text("So far it only answered. Whatever else wakes it is a line in the room, too, signed by what wrote it:")
	t.exchange(schedule)
	t.command("lethe triggers %s --run-now good-morning", name)
	t.output(t.lethe("triggers", name, "--run-now", "good-morning"))
	t.hears("AGENT:cron-good-morning", "say good morning")
	t.hears("AGENT:"+name, "good morning")
	t.text("It can hand work to an identity of its own making, and tells the result when that comes:")
	t.exchange(delegate)
	t.hears("AGENT:"+name, "says: READ_FILE")
	t.text("And it can ask you first, and wait as long as you take, at no cost. The question outlives the process:")
	t.exchange(ask)
	lines := must.Get(chat.Read(chat.Path(t.home.Dir, room), chat.Cursor{}, 1<<24)).Lines
	q, ok := chat.ParseQuestion(lines[len(lines)-1].Text)
	if !ok {
		fail("the last line of the room is no question")
	}
	t.command("kill -9 %d", t.daemon.cmd.Process.Pid)
	t.daemon.kill()
	t.start(t.id.Self[:16])
	t.command("lethe answer %s yes", q.ID)
	t.output(t.lethe("answer", q.ID, "yes"))
	t.hears("AGENT:"+name, "READ_FILE `"+monthFile(1))
}

// exchange shows a line and what is said to it.
func (t *tour) exchange(text string) {
	t.seen = len(must.Get(chat.Read(chat.Path(t.home.Dir, room), chat.Cursor{}, 1<<24)).Lines)
	t.print("\n")
	t.line("you", text)
	t.line(name, t.say(text))
}

// hears waits for a line of the room by what its tag and its text begin with or hold, and shows it.
func (t *tour) hears(by, text string) {
	t.await("a line of "+by+" with "+text, func() bool {
		for _, l := range must.Get(chat.Read(chat.Path(t.home.Dir, room), chat.Cursor{}, 1<<24)).Lines[t.seen:] {
			if strings.HasPrefix(string(l.Raw), "["+by+" ") && strings.Contains(l.Text, text) {
				raw, _, more := strings.Cut(string(l.Raw), "\u2028")
				if more {
					raw += " …"
				}
				t.excerpt(raw)
				return true
			}
		}
		return false
	})
}

// prove stops the identity, and has checked what two kills have left.
func (t *tour) prove() {
	t.text("Was anything lost or altered on the way? Each line of LIFE is a leaf of a tree whose root is signed at each epoch and each stop, and each text has its hash for a name. So it can be checked:")
	for _, args := range [][]string{{"stop", name}, {"verify", name}, {"fsck"}} {
		t.command("lethe %s", strings.Join(args, " "))
		t.excerpt(clipLines(t.output(t.lethe(args...)), 4)...)
	}
}

// sum says where to go on.
func (t *tour) sum() {
	t.text("Forgotten, and found again; killed twice, and nothing lost or said twice. Now for real: lethe is a chat with an identity of your own; set DEEPSEEK_API_KEY for a real model. lethe run --name ada is a daemon that stays, lethe context ada what it has before it, lethe life ada everything that ever happened to it. docs/forgetting.md tells what fades when and what it costs, docs/triggers.md, docs/questions.md and docs/agents.md how it acts by itself, docs/budget.md how to bound what it spends, docs/guarantees.md what survives what.")
}

// clipLines are the first n lines of a text.
func clipLines(s string, n int) []string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[:min(n, len(lines))]
}
