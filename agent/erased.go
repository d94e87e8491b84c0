package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/redact"
	"lethe/life/event"
	"lethe/mind"
)

// An erasure is decided when its plan is durable. Whoever opens the identity next carries it out
// first: bytes, before anything reads them, and then what the log says of it. The plan goes last.

// ErrErasing says that an erasure of a life is under way, or was cut short.
var ErrErasing = errors.New("an erasure of it is not finished")

// Erasing returns an ErrErasing from the moment that an erasure is decided until nothing is left to do of it.
func (id Identity) Erasing() error {
	if plan, err := redact.Load(id.Dir); plan == nil && err == nil {
		return nil
	}
	return fmt.Errorf("open %s: %w", id.Name, ErrErasing)
}

// FinishErasure ends an erasure that was cut short, if there is one. Whoever opens a home calls it for each identity,
// before anything reads what is to go. Where the error wraps ErrCorrupt the bytes have gone, and the log cannot tell it.
func (h Home) FinishErasure(id Identity, log *slog.Logger) error {
	if id.Erasing() == nil {
		return nil
	}
	store, err := blobs.Open(h.Blobs())
	if err != nil {
		return err
	}
	held, err := Hold(id, Config{Home: h, Store: store, Log: log})
	if err != nil {
		return fmt.Errorf("finish an erasure: %w", err)
	}
	return held.Close()
}

// planned carries out the plan of an erasure, as far as bytes go; nil where there is none.
func (a *Agent) planned() (*redact.Plan, error) {
	plan, err := redact.Load(a.id.Dir)
	if plan == nil || err != nil {
		return nil, err
	}
	missed, err := plan.Apply(a.cfg.Home.Dir, a.id.Dir)
	if err == nil && len(missed) > 0 {
		a.cfg.Log.Warn("somebody changed files that an erasure was about to change; they stay as they are. Erase again", "files", missed)
	}
	return plan, err
}

// recordErased has the log say what was erased, unless it does already, and ends the erasure.
func (a *Agent) recordErased(plan *redact.Plan) error {
	if plan == nil {
		return nil
	}
	if last := a.log.Last(); len(last) > 0 && last[0].Get("why") == "erased" && a.log.Size() > plan.End {
		return redact.Done(a.id.Dir) // nothing is written between what tells of an erasure and this
	}
	var err error
	if u := a.state.Unit(); u != nil && u.Waits() {
		err = a.settle() // a note does not stand between calls and their results
	}
	if err == nil {
		note := a.note(event.Note{Why: "erased"}, "something was erased", fmt.Sprintf(
			"Your owner has had something erased from your life, for good: %d places. Where it stood, [erased...] or dots stand now. What it was is not to be told, guessed or asked for.", plan.Places))
		err = a.epochOf("erased", a.withoutErased, append(erasedLines(plan), note))
	}
	if err != nil {
		return fmt.Errorf("finish an erasure: %w", err)
	}
	return redact.Done(a.id.Dir)
}

// mostErased is how many blobs and lines one line of LIFE tells of.
const mostErased = 1000

func erasedLines(plan *redact.Plan) (out []record) {
	for blobs := range slices.Chunk(plan.Blobs, mostErased) {
		out = append(out, record{event: event.Erased{Why: "erased", Blobs: blobs}})
	}
	for lines := range slices.Chunk(plan.Lines, mostErased) {
		out = append(out, record{event: event.Erased{Why: "erased", Lines: lines}})
	}
	if out == nil { // files alone
		out = []record{{event: event.Erased{Why: "erased"}}}
	}
	return out
}

// withoutErased lets the state agree with files of which bytes have gone: the beginning of the
// request is another one.
func (a *Agent) withoutErased(s *mind.State) error {
	s.Epoch++
	s.Wakes = slices.Clone(s.Wakes)
	for i, w := range s.Wakes {
		if w.Line != "" {
			s.Wakes[i].Hash = chat.Hash([]byte(w.Line))
		}
	}
	for _, name := range editable {
		text, err := a.files.read(name)
		if err != nil {
			return err
		}
		if s.Files[name] != "" {
			s.Files[name] = digest(text)
		}
	}
	return nil
}
