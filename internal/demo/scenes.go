package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
)

func (t *tour) opening() {
	t.print(t.head.Render("Lethe") + t.dim.Render(" · a tour of two minutes, offline: no key, no network, nothing to type") + "\n")
	t.text("A real daemon runs in a process of its own, in a temporary home. What you see is read from its files as it happens.")
	t.rest()
}

// begin boots the identity, and puts the logbook where its tools work.
func (t *tour) begin() {
	t.home = must(agent.OpenHome(filepath.Join(t.dir, "home")))
	t.store = must(blobs.Open(t.home.Blobs()))
	check(os.WriteFile(filepath.Join(t.home.Dir, "config.toml"), []byte(config), 0o600))
	t.command("lethe run --offline --name " + name)
	self := t.start("--name", name, "--room", room)
	if t.id = must(t.home.Find(name)); t.id.Self != self {
		fail("the daemon is ready as %.16s, and %s is %.16s", self, name, t.id.Self)
	}
	t.text(fmt.Sprintf("That is %s: a log, a hash of its purpose and the moment of its birth, and a process that thinks. Its context holds %d tokens, so it will have to forget soon.", name, limit))
	t.rest()
	for m := range months {
		path := filepath.Join(t.id.Dir, "workspace", monthFile(m))
		check(os.MkdirAll(filepath.Dir(path), 0o700))
		check(os.WriteFile(path, []byte(month(m)), 0o600))
	}
}

// talk goes on until something fades. The first lines are shown with their answers,
// of the others only how full the context is then.
func (t *tour) talk() {
	t.text("Tell it a story, give it the logbook of a lighthouse to read, ask for a promise.")
	t.rest()
	lines := []string{told, "read " + monthFile(0), promise}
	for m := 1; m < months; m++ {
		lines = append(lines, "read "+monthFile(m))
	}
	for i, line := range lines {
		label := line
		if i < 3 {
			label = ""
			t.line("you", line, 8)
		}
		answer := t.say(line)
		if i < 3 {
			t.line(name, answer, 2)
		}
		shown := t.status()
		if shown.Compacting || len(t.happened(0, "fade")) > 0 {
			return
		}
		t.before = shown.ContextTokens
		t.gauge(label, t.before)
		if i == 0 {
			t.text("Mind the postcard. For now, the story stands in the context word for word.")
		}
		t.rest()
	}
	fail("nothing has begun to fade, and there is nothing left to say")
}

// forget waits for the fades, shows what stands in the place of the story, and
// checks that the detail is nowhere else than behind its ref.
func (t *tour) forget() {
	t.text("Nine tenths full. In the background, with no answer waiting for it, the older part is cut into chunks and summarised; then the summaries take its place, in one append to LIFE.md:")
	s, text := t.viewed("the fades in LIFE.md, and context.md to show them", func(s *mind.State) bool {
		return len(s.Faded) > 0 && !t.status().Compacting
	})
	for _, e := range t.happened(1, "fade", "epoch") {
		if epoch, ok := event.As[event.Epoch](e.Event); !ok || epoch.K > 0 {
			t.excerpt(2, e.bare())
		}
	}
	t.after = t.status().ContextTokens
	t.gauge("before", t.before)
	t.gauge("after", t.after)
	t.rest()

	if strings.Contains(strings.ToLower(text), word) {
		fail("the context still has the %s", word)
	}
	ref := t.holder(s).Original.String()
	at := strings.Index(text, ref)
	if at < 0 {
		fail("the ref %s is not in context.md", ref)
	}
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	end := begin + strings.Index(text[begin+1:], "\n◆") + 1
	t.text("In the place of the story, context.md now has a ref, and a few words:")
	t.excerpt(2, clipLines(text[begin:end], 4)...)
	_, pins, _ := strings.Cut(text, "\n◆ pins\n")
	pins, _, _ = strings.Cut(pins, "\n◆")
	if at = strings.Index(pins, kept); at < 0 {
		fail("the promise is not pinned in context.md")
	}
	t.text("The promise did not fade. It is pinned:")
	t.excerpt(1, "◆ pins", clipLines(pins[strings.LastIndexByte(pins[:at], '\n')+1:], 1)[0])
	t.text("Of the postcard, not a word is left in the context.")
	t.rest()
}

// holder is the faded range whose original has the detail.
func (t *tour) holder(s *mind.State) mind.Range {
	for _, r := range s.Faded {
		if strings.Contains(string(must(t.store.Get(r.Original.Hash)).Body), detail) {
			return r
		}
	}
	fail("no faded range leads to the detail")
	return mind.Range{}
}

// remember searches what has faded as a person would, has it come up in somebody's
// words, and sees the identity reminded of it.
func (t *tour) remember() {
	t.text("Nothing is lost: every original is a blob, and a ref opens it. You can search what it has forgotten:")
	t.command("lethe recall --name " + name + " " + search)
	var found string
	t.await("lethe recall to find the detail", func() bool {
		out, err := t.program(append([]string{"recall", "--name", name}, strings.Fields(search)...)...).Output()
		if err != nil {
			fail("run lethe recall: %w", errors.Join(t.ctx.Err(), err))
		}
		found = string(out)
		return strings.Contains(strings.Join(strings.Fields(found), " "), detail)
	})
	t.excerpt(2, clipLines(found, 3)...)
	t.rest()

	n := len(t.happened(0))
	t.text("But nothing in its context speaks of a postcard any more, so what would make " + name + " look for one? Mention it, and no ref:")
	t.line("you", mention, 2)
	end := t.post(mention)
	t.reminded(n)
	t.told(t.answer(end))
	t.text("It had only a gist, and opened the original with UNCOMPACT. LIFE.md, the log of everything that happens to it, tells how:")
	opened := false
	for _, e := range t.happened(n, "inbound", "hint", "call", "result", "reply", "posted") {
		t.excerpt(1, e.bare())
		if result, _ := event.As[event.Result](e.Event); result.Tool == "UNCOMPACT" && len(e.Refs) > 0 {
			opened = opened || strings.Contains(t.cat(e.Refs[0].Hash), detail)
		}
	}
	if !opened {
		fail("it answered without opening the ref: LIFE.md has no UNCOMPACT with the detail")
	}
	t.rest()
}

// reminded waits for what the daemon does before it asks the model, and shows the
// hint. A turn waits a quarter of a second for one and no longer, so on a busy
// machine there may be none; then that is told.
func (t *tour) reminded(n int) {
	var first []logged
	t.await("a hint, or an answer without one", func() bool {
		first = t.happened(n, mind.Hint, mind.Reply)
		return len(first) > 0
	})
	if first[0].Kind != mind.Hint {
		t.text("Whatever people say is looked up in the same index, and what fits is put before it as a hint. But this machine is busy: the index did not answer in the quarter of a second that a turn waits. So it searched by itself, with RECALL.")
		return
	}
	t.text("Whatever people say is looked up in the same index. What fits is put at the end of its context before it answers, unasked: a hint, one line for each ref.")
	t.excerpt(1, first[0].bare())
	t.excerpt(2, strings.Split(t.cat(first[0].Refs[0].Hash), "\n")...)
	t.rest()
}

// told shows an answer, which must have the detail.
func (t *tour) told(answer string) {
	t.line(name, answer, 3)
	if !strings.Contains(answer, detail) {
		fail("the answer %q does not have the detail", answer)
	}
	t.rest()
}

// kill kills the daemon, resumes the identity by its hash, checks that it wakes
// with the context it died with, and asks again.
func (t *tour) kill() {
	t.text("Now the rude way out: no goodbye, no saving, no cleaning up.")
	before, n := t.view(), len(t.happened(0))
	t.command(fmt.Sprintf("kill -9 %d", t.daemon.cmd.Process.Pid))
	t.daemon.kill()
	if _, running := agent.Running(t.id); running {
		fail("the daemon is killed, and something still holds the identity")
	}
	t.excerpt(1, "the process is gone: "+t.daemon.cmd.ProcessState.String())
	t.command(fmt.Sprintf("lethe run --offline %.16s", t.id.Self))
	if self := t.start(t.id.Self[:16]); self != t.id.Self {
		fail("resumed as %.16s", self)
	}
	t.await("the identity to be idle", func() bool { return t.idle(0) })
	if len(t.happened(n, "resumed")) != 1 || len(t.happened(0, "stopped")) != 0 {
		fail("LIFE.md does not say that it was resumed after a kill")
	}
	if t.view() != before {
		fail("context.md is not what it was before the kill")
	}
	t.text("It woke with the context it died with, byte for byte. The log is the life; the process only thinks it.")
	t.rest()
	t.line("you", question, 2)
	t.told(t.say(question))
}

// sum checks that everything was answered once and is still in reach, and says
// what the tour has measured.
func (t *tour) sum() {
	answers := 0
	for _, l := range t.lines() {
		if l.Agent {
			answers++
		}
	}
	if lines := len(t.lines()); answers != t.said || lines != 2*t.said {
		fail("of %d lines said, the room has %d, and %d answers", t.said, lines-answers, answers)
	}
	s, _ := t.viewed("context.md to be up to date", func(*mind.State) bool { return true })
	total, lost := t.reach()
	if lost > 0 {
		fail("%d of %d bytes are not within two refs", lost, total)
	}
	faded := 0
	for _, f := range s.Faded {
		faded += f.To - f.From + 1
	}
	t.table(
		[2]string{"said and answered", fmt.Sprintf("%d lines, each exactly once, across one kill -9", t.said)},
		[2]string{"entries", fmt.Sprintf("%d, of which %d have faded, behind refs", s.Next-1, faded)},
		[2]string{"context", fmt.Sprintf("%d tokens before, %d after", t.before, t.after)},
		[2]string{"from the cache", fmt.Sprintf("%.0f %% of all input tokens", 100*float64(s.Usage.Cached)/float64(max(1, s.Usage.Input)))},
		[2]string{"within reach", fmt.Sprintf("100 %% of %d bytes: word for word, or behind a ref or two", total)},
	)
	t.rest()
	t.text("Now for real:")
	t.table(
		[2]string{"lethe", "chat with an identity of your own; set DEEPSEEK_API_KEY for a real model"},
		[2]string{"lethe run --name ada", "a daemon that stays"},
		[2]string{"lethe context ada", "what it has before it"},
		[2]string{"lethe life ada", "everything that ever happened to it"},
		[2]string{"lethe recall fog", "what it has forgotten about fog"},
		[2]string{"docs/forgetting.md", "what fades when, what it costs, and every setting"},
	)
}
