package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"lethe/mind"
	"lethe/recall"
)

// remember has what has faded come up in somebody's words, sees the identity
// reminded of it, and looks it up as a person would.
func (t *tour) remember(ctx context.Context) error {
	if err := t.await(ctx, "what has faded to be in the index", func() bool { return t.indexed(ctx) }); err != nil {
		return err
	}
	events, err := t.life()
	if err != nil {
		return err
	}
	t.text("Nothing is lost: every original is a blob, and a ref opens it. But nothing here speaks of a postcard any more, so what would make " + demoName + " look for one? Mention it, and no ref:")
	t.line("you", demoMention, 2)
	end, err := t.post(demoMention)
	if err != nil {
		return err
	}
	if err := t.reminded(ctx, len(events)); err != nil {
		return err
	}
	answer, err := t.answer(ctx, demoMention, end)
	if err != nil {
		return err
	}
	t.print("\n")
	if err := t.told(ctx, answer); err != nil {
		return err
	}
	if err := t.opened(len(events)); err != nil {
		return err
	}
	t.rest(ctx)
	return t.search(ctx)
}

// reminded waits for what the daemon does before it asks the model, and shows the
// hint. A turn waits a quarter of a second for one and no longer, so on a busy
// machine there may be none; then that is told.
func (t *tour) reminded(ctx context.Context, n int) error {
	var hint, reply *logged
	err := t.await(ctx, "a hint, or an answer without one", func() bool {
		events, err := t.life()
		if err != nil {
			return false
		}
		for _, e := range happened(events, n, mind.Hint, mind.Reply) {
			switch {
			case e.Kind == mind.Reply && reply == nil:
				reply = &e
			case e.Kind == mind.Hint && reply == nil:
				hint = &e
			}
		}
		return hint != nil || reply != nil
	})
	if err != nil {
		return err
	}
	if hint == nil {
		t.text("Whatever people say is looked up in an index of all that has faded, and what fits is put before it as a hint. But this machine is busy: the index did not answer in the quarter of a second that a turn waits. So it searched by itself, with RECALL.")
		return nil
	}
	if len(hint.Refs) == 0 {
		return errors.New("the hint has no text")
	}
	text, err := t.cat(hint.Refs[0].Hash)
	if err != nil {
		return err
	}
	t.text("Whatever people say is looked up in an index of all that has faded. What fits is put at the end of its context before it answers, unasked: a hint, one line for each ref.")
	t.quote(hint.bare())
	t.excerpt(2, strings.Split(text, "\n")...)
	t.rest(ctx)
	return nil
}

// opened shows what LIFE.md says from its n-th line on, and checks that the
// original with the detail was opened.
func (t *tour) opened(n int) error {
	events, err := t.life()
	if err != nil {
		return err
	}
	t.text("It had only a gist, and opened the original with UNCOMPACT. LIFE.md, the log of everything that happens to it, tells how:")
	opened := false
	for _, e := range happened(events, n, "inbound", "hint", "call", "result", "reply", "posted") {
		t.quote(e.bare())
		if e.Kind == "result" && e.Arg(1) == "UNCOMPACT" && e.Get("status") == mind.OK && len(e.Refs) > 0 {
			page, err := t.cat(e.Refs[0].Hash)
			if err != nil {
				return err
			}
			opened = opened || strings.Contains(page, demoDetail)
		}
	}
	if !opened {
		return errors.New("it answered without opening the ref: LIFE.md has no UNCOMPACT with the detail")
	}
	return nil
}

// search runs lethe recall, and shows what it prints.
func (t *tour) search(ctx context.Context) error {
	t.text("And you can search what it has forgotten:")
	t.command("lethe recall " + demoSearch)
	cmd := exec.CommandContext(ctx, t.exe, append([]string{"recall", "--home", t.home.Dir}, strings.Fields(demoSearch)...)...)
	cmd.Args[0] = "lethe"
	cmd.Dir, cmd.Env = t.dir, t.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tour
	out, err := cmd.Output()
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("run lethe recall: %w", err))
	}
	if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), demoDetail) {
		return errors.New("lethe recall does not find the detail")
	}
	t.excerpt(2, clipLines(string(out), 3)...)
	t.rest(ctx)
	return nil
}

// indexed reports whether the daemon has put the detail into its index. One that
// is not there is left for the daemon to make.
func (t *tour) indexed(ctx context.Context) bool {
	if _, err := os.Stat(t.id.RecallPath()); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	index := recall.Open(t.id.RecallPath(), slog.New(slog.DiscardHandler))
	defer index.Close()
	hits, err := index.Search(ctx, t.store, recall.Query{Text: demoDetail, Limit: 1})
	return err == nil && len(hits) > 0
}

// ask asks for the detail and checks the answer.
func (t *tour) ask(ctx context.Context, question string) error {
	t.line("you", question, 2)
	answer, err := t.say(ctx, question)
	if err != nil {
		return err
	}
	return t.told(ctx, answer)
}

// told shows an answer, which must have the detail.
func (t *tour) told(ctx context.Context, answer string) error {
	t.line(demoName, answer, 3)
	if !strings.Contains(answer, demoDetail) {
		return fmt.Errorf("the answer %q does not have the detail", cut(answer, 80))
	}
	t.beat(ctx)
	return nil
}
