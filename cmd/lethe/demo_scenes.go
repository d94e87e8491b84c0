package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lethe/agent"
	"lethe/mind"
)

func (t *tour) opening(ctx context.Context) {
	t.title("Lethe", "a tour of two minutes, offline: no key, no network, nothing to type")
	t.text("A real daemon runs in a process of its own, in a temporary home. What you see is read from its files as it happens.")
	t.rest(ctx)
}

// begin boots the identity.
func (t *tour) begin(ctx context.Context) error {
	if err := t.furnish(); err != nil {
		return err
	}
	t.command("lethe run --offline --name " + demoName)
	if err := t.start(ctx, "--name", demoName, "--room", demoRoom); err != nil {
		return err
	}
	self, err := t.ready(ctx)
	if err != nil {
		return err
	}
	if t.id, err = t.home.Find(demoName); err != nil {
		return err
	}
	if t.id.Self != self {
		return fmt.Errorf("the daemon is ready as %.16s, and %s is %.16s", self, demoName, t.id.Self)
	}
	t.quote(fmt.Sprintf("ready %.16s… %s", self, demoName))
	t.text(fmt.Sprintf("That is %s: a log, a hash of its purpose and the moment of its birth, and a process that thinks. Its context holds %s tokens, so it will have to forget soon.", demoName, grouped(t.limit)))
	t.rest(ctx)
	return t.shelve()
}

// shelve puts the logbook where the identity's tools work.
func (t *tour) shelve() error {
	for m := range demoMonths {
		path := filepath.Join(t.id.Dir, "workspace", monthFile(m))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(month(m)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// talk goes on until something fades.
func (t *tour) talk(ctx context.Context) error {
	t.text("Tell it a story, give it the logbook of a lighthouse to read, ask for a promise.")
	t.rest(ctx)
	for i, line := range t.story {
		done, err := t.exchange(ctx, line, i < 3)
		if done || err != nil {
			return err
		}
		if i == 0 {
			t.text("Mind the postcard. For now, the story stands in the context word for word.")
			t.rest(ctx)
		}
		t.beat(ctx)
	}
	return errors.New("nothing has begun to fade, and there is nothing left to say")
}

// exchange says a line and shows the answer, or only how full the context is
// then. It reports whether something fades.
func (t *tour) exchange(ctx context.Context, line string, whole bool) (fades bool, err error) {
	if whole {
		t.line("you", line, 8)
	}
	answer, err := t.say(ctx, line)
	if err != nil {
		return false, err
	}
	label := line
	if whole {
		t.line(demoName, answer, 2)
		label = ""
	}
	shown := t.status()
	if s, err := t.fold(); err == nil && len(s.Faded) > 0 { // an error comes up where it is waited for
		return true, nil
	}
	t.gauge(label, shown.ContextTokens, t.limit)
	return shown.Compacting, nil
}

// forget waits for the fades, and shows what stands in the place of a memory.
func (t *tour) forget(ctx context.Context) error {
	t.text("Nine tenths full. In the background, with no answer waiting for it, the older part is cut into chunks and summarised; then the summaries take its place, in one append to LIFE.md:")
	var s *mind.State
	var text string
	err := t.await(ctx, "the fades in LIFE.md, and context.md to show them", func() bool {
		var err error
		if s, err = t.fold(); err != nil || len(s.Faded) == 0 || t.status().Compacting {
			return false
		}
		text, err = t.view()
		return err == nil && viewed(text, s)
	})
	if err != nil {
		return err
	}
	events, err := t.life()
	if err != nil {
		return err
	}
	for _, e := range happened(events, 1, "fade", "epoch") {
		if e.Kind == "fade" || e.Arg(0) != "0" {
			t.excerpt(2, e.bare())
		}
	}
	if err := t.measure(); err != nil {
		return err
	}
	t.gauge("before", t.before, t.limit)
	t.gauge("after", t.after, t.limit)
	t.rest(ctx)
	return t.showRef(ctx, s, text)
}

// showRef shows the summary that stands where the story stood, and checks that
// the detail is nowhere else than behind its ref.
func (t *tour) showRef(ctx context.Context, s *mind.State, text string) error {
	if i := strings.Index(strings.ToLower(text), demoWord); i >= 0 {
		return fmt.Errorf("the context still has %q", cut(text[i:], 40))
	}
	r, err := t.holder(s)
	if err != nil {
		return err
	}
	ref := r.Original.String()
	at := strings.Index(text, ref)
	if at < 0 {
		return fmt.Errorf("the ref of e%d..e%d is not in context.md", r.From, r.To)
	}
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	end := begin + strings.Index(text[begin+1:], "\n◆") + 1
	t.text("In the place of the story, context.md now has a ref, and a few words:")
	t.excerpt(2, clipLines(text[begin:end], 4)...)
	_, pins, _ := strings.Cut(text, "\n◆ pins\n")
	pins, _, _ = strings.Cut(pins, "\n◆")
	at = strings.Index(pins, demoKept)
	if at < 0 {
		return errors.New("the promise is not pinned in context.md")
	}
	t.text("The promise did not fade. It is pinned:")
	t.quote("◆ pins", clipLines(pins[strings.LastIndexByte(pins[:at], '\n')+1:], 1)[0])
	t.text("Of the postcard, not a word is left in the context.")
	t.rest(ctx)
	return nil
}

// holder is the faded range whose original has the detail.
func (t *tour) holder(s *mind.State) (mind.Range, error) {
	for _, r := range s.Faded {
		body, err := t.store.Get(r.Original.Hash)
		if err != nil {
			return r, err
		}
		if strings.Contains(string(body.Body), demoDetail) {
			return r, nil
		}
	}
	return mind.Range{}, errors.New("no faded range leads to the detail")
}

// kill kills the daemon, resumes the identity by its hash, and asks again.
func (t *tour) kill(ctx context.Context) error {
	t.text("Now the rude way out: no goodbye, no saving, no cleaning up.")
	before, err := t.view()
	if err != nil {
		return err
	}
	events, err := t.life()
	if err != nil {
		return err
	}
	t.command(fmt.Sprintf("kill -9 %d", t.daemon.cmd.Process.Pid))
	t.daemon.kill()
	if !t.daemon.killed() {
		return fmt.Errorf("the daemon ended otherwise: %s", t.daemon.cmd.ProcessState)
	}
	if _, running := agent.Running(t.id); running {
		return errors.New("the daemon is killed, and something still holds the identity")
	}
	t.quote("the process is gone: " + t.daemon.cmd.ProcessState.String())
	t.beat(ctx)
	t.command(fmt.Sprintf("lethe run --offline %.16s", t.id.Self))
	if err := t.start(ctx, t.id.Self[:16]); err != nil {
		return err
	}
	self, err := t.ready(ctx)
	if err != nil {
		return err
	}
	if self != t.id.Self {
		return fmt.Errorf("resumed as %.16s", self)
	}
	t.quote(fmt.Sprintf("ready %.16s… %s", self, demoName))
	return t.awake(ctx, before, len(events))
}

// awake checks that the identity woke with the context it died with.
func (t *tour) awake(ctx context.Context, before string, n int) error {
	if err := t.await(ctx, "the identity to be idle", func() bool { return t.idle(0) }); err != nil {
		return err
	}
	events, err := t.life()
	if err != nil {
		return err
	}
	if len(happened(events, n, "resumed")) != 1 || len(happened(events, 0, "stopped")) != 0 {
		return errors.New("LIFE.md does not say that it was resumed after a kill")
	}
	after, err := t.view()
	if err != nil {
		return err
	}
	if after != before {
		return errors.New("context.md is not what it was before the kill")
	}
	t.text("It woke with the context it died with, byte for byte. The log is the life; the process only thinks it.")
	t.beat(ctx)
	return t.ask(ctx, demoQuestion)
}

// sum checks that everything was answered once and is still in reach, and says
// what the tour has measured.
func (t *tour) sum(ctx context.Context) error {
	s, err := t.fold()
	if err != nil {
		return err
	}
	if err := t.answeredOnce(); err != nil {
		return err
	}
	if err := t.await(ctx, "context.md to be up to date", func() bool {
		text, err := t.view()
		return err == nil && viewed(text, s)
	}); err != nil {
		return err
	}
	r, err := t.reach()
	if err != nil {
		return err
	}
	if r.at[3] > 0 {
		return fmt.Errorf("%d of %d bytes are not within two refs", r.at[3], r.total())
	}
	if err := t.figures(ctx, s, r); err != nil {
		return err
	}
	if err := t.stop(ctx); err != nil {
		return err
	}
	t.closing()
	return nil
}

// answeredOnce compares the room with what was said in it.
func (t *tour) answeredOnce() error {
	heard, answered := 0, 0
	for _, l := range t.lines() {
		if l.Agent {
			answered++
		} else {
			heard++
		}
	}
	if heard != t.said || answered != t.said {
		return fmt.Errorf("of %d lines said, the room has %d, and %d answers", t.said, heard, answered)
	}
	return nil
}

func (t *tour) figures(ctx context.Context, s *mind.State, r reach) error {
	events, err := t.life()
	if err != nil {
		return err
	}
	largest, summaries := 0, int64(0)
	for _, e := range events {
		switch e.Kind {
		case "reply":
			largest = max(largest, int(e.Int("in"))+s.Stable.Params.MaxTokens)
		case "spent":
			if e.Get("on") == "compaction" {
				summaries += e.Int("calls")
			}
		}
	}
	if largest > t.limit {
		return fmt.Errorf("a request took %d tokens of %d", largest, t.limit)
	}
	faded := 0
	for _, f := range s.Faded {
		faded += f.To - f.From + 1
	}
	t.table([][2]string{
		{"said and answered", fmt.Sprintf("%d lines, each exactly once, across one kill -9", t.said)},
		{"entries", fmt.Sprintf("%d, of which %d have faded, into %s", s.Next-1, faded, count(len(s.Faded), "ref", "refs"))},
		{"epochs", fmt.Sprintf("%d; compaction took %s beside the talk", s.Epoch+1, count(int(summaries), "model call", "model calls"))},
		{"context", fmt.Sprintf("%s tokens before, %s after", grouped(t.before), grouped(t.after))},
		{"largest request", fmt.Sprintf("%s of %s tokens, its answer included", grouped(largest), grouped(t.limit))},
		{"from the cache", fmt.Sprintf("%.0f %% of all input tokens", 100*float64(s.Usage.Cached)/float64(max(1, s.Usage.Input)))},
		{"within reach", fmt.Sprintf("%.0f %% of %s bytes: %.0f %% word for word, %.0f %% behind a ref or two",
			r.percent(0, 2), grouped(r.total()), r.percent(0, 0), r.percent(1, 2))},
	})
	t.rest(ctx)
	return nil
}

func (t *tour) closing() {
	t.text("Now for real:")
	t.table([][2]string{
		{"lethe", "chat with an identity of your own; set DEEPSEEK_API_KEY for a real model"},
		{"lethe run --name ada", "a daemon that stays"},
		{"lethe context ada", "what it has before it"},
		{"lethe life ada", "everything that ever happened to it"},
		{"lethe recall fog", "what it has forgotten about fog"},
		{"docs/forgetting.md", "what fades when, what it costs, and every setting"},
	})
}
