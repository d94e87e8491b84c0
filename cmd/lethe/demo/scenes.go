package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// begin boots the identity, and puts the logbook where its tools work.
func (t *tour) begin() error {
	if err := os.Mkdir(t.path(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(t.path("config.toml"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := t.start("--name", name, "--room", room); err != nil {
		return err
	}
	t.text("A real daemon. Its context holds %d tokens, so it will have to forget soon.", limit)
	for number := range months {
		path := t.path("names", name, "workspace", monthFile(number))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(month(number)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// forget talks until something fades, shows what stands in the place of the story, and checks that the detail is
// nowhere else than behind its ref.
func (t *tour) forget() error {
	if err := t.ask(story); err != nil {
		return err
	}
	t.text("Mind the postcard. Now it reads the logbook of a lighthouse, month by month, until its context is full.")
	if err := t.fill(); err != nil {
		return err
	}
	var text string
	err := t.await("the fades in LIFE.md, and context.md to show them", func() (bool, error) {
		read, err := os.ReadFile(t.path("names", name, "context.md"))
		text = string(read)
		return strings.Contains(text, "\n◆ e1..") && !t.status().Compacting, err
	})
	if err != nil {
		return err
	}
	fades, err := t.life(0, "fade")
	if err != nil {
		return err
	}
	t.text("In the background the older part was summarised; then one append to LIFE.md put the summaries in its place:")
	t.excerpt(fades[0], 1)

	_, faded, _ := strings.Cut(text, "\n◆ e1..")
	_, ref, _ := strings.Cut(faded, "hash=")
	if strings.Contains(strings.ToLower(text), word) {
		return fmt.Errorf("the context still has the %s", word)
	}
	original, err := t.output("", "cat", ref[:min(len(ref), 16)])
	if err != nil {
		return err
	}
	if !strings.Contains(original, detail) {
		return errors.New("no ref in the place of the story leads to the detail")
	}
	t.text("Where the story stood, its context has a few words and a ref:")
	t.excerpt("◆ e1.."+faded, 3)
	return nil
}

// fill has the identity read its logbook until it begins to forget.
func (t *tour) fill() error {
	for number := 0; ; number++ {
		fades, err := t.life(0, "fade")
		if err != nil {
			return err
		}
		if t.status().Compacting || len(fades) > 0 {
			return nil
		}
		if number == months {
			return errors.New("nothing has begun to fade, and there is nothing left to say")
		}
		if _, err := t.say("read " + monthFile(number)); err != nil {
			return err
		}
	}
}

// remember mentions what has faded, and sees the identity reminded of it.
func (t *tour) remember() error {
	before, err := t.life(0)
	if err != nil {
		return err
	}
	t.text("Of the postcard, not a word is left before it. What would make it look for one? Mention it:")
	if err := t.ask(mention); err != nil {
		return err
	}
	t.text("What people say is looked up in an index of all that has faded. A hint came, and it opened the original:")
	steps, err := t.life(len(before), "hint", "call", "result")
	if err != nil {
		return err
	}
	t.excerpt(strings.Join(steps, "\n"), 9)
	results, err := t.life(len(before), "result")
	if err != nil {
		return err
	}
	if !strings.Contains(strings.Join(results, "\n"), "UNCOMPACT status=ok") {
		return errors.New("it answered without opening the ref: LIFE.md has no UNCOMPACT")
	}
	return nil
}

// ask says a line, and shows it with the answer.
func (t *tour) ask(text string) error {
	t.print("\n")
	t.line("you", text)
	answer, err := t.say(text)
	if err != nil {
		return err
	}
	t.line(name, strings.Join(strings.Fields(answer), " "))
	if strings.HasSuffix(text, "?") && !strings.Contains(answer, detail) {
		return fmt.Errorf("the answer %q does not have the detail", answer)
	}
	return nil
}

// kill kills the daemon, resumes the identity by its hash, checks that it wakes with the context it died with, and
// asks again.
func (t *tour) kill() error {
	before, err := t.output("", "context", name)
	if err != nil {
		return err
	}
	lived, err := t.life(0)
	if err != nil {
		return err
	}
	t.command("kill -9 %d", t.daemon.cmd.Process.Pid)
	t.daemon.kill()
	t.excerpt("the process is gone: "+t.daemon.cmd.ProcessState.String(), 1)
	if err := t.start(t.hash); err != nil {
		return err
	}
	after, err := t.output("", "context", name)
	if err != nil {
		return err
	}
	if after != before {
		return errors.New("its context is not what it was before the kill")
	}
	resumed, err := t.life(len(lived), "resumed")
	if err != nil {
		return err
	}
	if len(resumed) != 1 {
		return errors.New("LIFE.md does not say that it was resumed after a kill")
	}
	t.text("It woke with the context it died with, byte for byte: the log is the life, the process only thinks it.")
	return t.ask(question)
}

// prove stops the identity, and has checked what the kill has left.
func (t *tour) prove() error {
	t.text("Each line of LIFE.md is a leaf of a signed tree, and each text has its hash for a name. So it can be checked:")
	for _, args := range [][]string{{"stop", name}, {"check"}} {
		t.command("lethe %s", strings.Join(args, " "))
		printed, err := t.output("", args...)
		if err != nil {
			return err
		}
		t.excerpt(printed, 3)
	}
	t.text("Now for real: lethe is a chat with an identity of your own, and with DEEPSEEK_API_KEY set it has " +
		"a real model. docs/forgetting.md tells what fades when and what it costs.")
	return nil
}
