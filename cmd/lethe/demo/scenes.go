package demo

import (
	"os"
	"path/filepath"
	"strings"

	"lethe/internal/must"
)

// begin boots the identity, and puts the logbook where its tools work.
func (t *tour) begin() {
	must.Do(os.Mkdir(t.path(), 0o700))
	must.Do(os.WriteFile(t.path("config.toml"), []byte(config), 0o600))
	t.start("--name", name, "--room", room)
	t.text("A real daemon. Its context holds %d tokens, so it will have to forget soon.", limit)
	for m := range months {
		path := t.path("names", name, "workspace", monthFile(m))
		must.Do(os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(os.WriteFile(path, []byte(month(m)), 0o600))
	}
}

// forget talks until something fades, shows what stands in the place of the story, and checks that the detail is
// nowhere else than behind its ref.
func (t *tour) forget() {
	t.ask(story)
	t.text("Mind the postcard. Now it reads the logbook of a lighthouse, month by month, until its context is full.")
	for m := 0; !t.status().Compacting && len(t.life(0, "fade")) == 0; m++ {
		if m == months {
			fail("nothing has begun to fade, and there is nothing left to say")
		}
		t.say("read " + monthFile(m))
	}
	var text string
	t.await("the fades in LIFE.md, and context.md to show them", func() bool {
		text = string(must.Get(os.ReadFile(t.path("names", name, "context.md"))))
		return strings.Contains(text, "\n◆ e1..") && !t.status().Compacting
	})
	t.text("In the background the older part was summarised; then one append to LIFE.md put the summaries in its place:")
	t.excerpt(t.life(0, "fade")[0], 1)

	_, faded, _ := strings.Cut(text, "\n◆ e1..")
	_, ref, _ := strings.Cut(faded, "hash=")
	switch {
	case strings.Contains(strings.ToLower(text), word):
		fail("the context still has the %s", word)
	case !strings.Contains(t.output("", "cat", ref[:min(len(ref), 16)]), detail):
		fail("no ref in the place of the story leads to the detail")
	}
	t.text("Where the story stood, its context has a few words and a ref:")
	t.excerpt("◆ e1.."+faded, 3)
}

// remember mentions what has faded, and sees the identity reminded of it.
func (t *tour) remember() {
	n := len(t.life(0))
	t.text("Of the postcard, not a word is left before it. What would make it look for one? Mention it:")
	t.ask(mention)
	t.text("What people say is looked up in an index of all that has faded. A hint came, and it opened the original:")
	t.excerpt(strings.Join(t.life(n, "hint", "call", "result"), "\n"), 9)
	if opened := strings.Join(t.life(n, "result"), "\n"); !strings.Contains(opened, "UNCOMPACT status=ok") {
		fail("it answered without opening the ref: LIFE.md has no UNCOMPACT")
	}
}

// ask says a line, and shows it with the answer.
func (t *tour) ask(text string) {
	t.print("\n")
	t.line("you", text)
	answer := t.say(text)
	t.line(name, strings.Join(strings.Fields(answer), " "))
	if strings.HasSuffix(text, "?") && !strings.Contains(answer, detail) {
		fail("the answer %q does not have the detail", answer)
	}
}

// kill kills the daemon, resumes the identity by its hash, checks that it wakes with the context it died with, and
// asks again.
func (t *tour) kill() {
	before, n := t.output("", "context", name), len(t.life(0))
	t.command("kill -9 %d", t.daemon.cmd.Process.Pid)
	t.daemon.kill()
	t.excerpt("the process is gone: "+t.daemon.cmd.ProcessState.String(), 1)
	t.start(t.hash)
	if t.output("", "context", name) != before {
		fail("its context is not what it was before the kill")
	}
	if len(t.life(n, "resumed")) != 1 {
		fail("LIFE.md does not say that it was resumed after a kill")
	}
	t.text("It woke with the context it died with, byte for byte: the log is the life, the process only thinks it.")
	t.ask(question)
}

// prove stops the identity, and has checked what the kill has left.
func (t *tour) prove() {
	t.text("Each line of LIFE.md is a leaf of a signed tree, and each text has its hash for a name. So it can be checked:")
	for _, args := range [][]string{{"stop", name}, {"check"}} {
		t.command("lethe %s", strings.Join(args, " "))
		t.excerpt(t.output("", args...), 3)
	}
	t.text("Now for real: lethe is a chat with an identity of your own, and with DEEPSEEK_API_KEY set it has " +
		"a real model. docs/forgetting.md tells what fades when and what it costs.")
}
