package journal

import (
	"fmt"
	"log/slog"
	"slices"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/redact"
	"lethe/life/event"
	"lethe/mind"
)

// An erasure is decided when its plan is durable. Whoever holds the identity next carries it out
// first: bytes, before anything reads them, and then what the log says of it. The plan goes last.

// FinishErasure ends an erasure that was cut short, if there is one. Whoever opens a home calls it for each identity,
// before anything reads what is to go. Where the error wraps ErrCorrupt the bytes have gone, and the log cannot tell
// it.
func FinishErasure(h home.Home, id home.Identity, log *slog.Logger) error {
	if id.Erasing() == nil {
		return nil
	}
	store, err := blobs.Open(h.Blobs())
	if err != nil {
		return err
	}
	j, err := Hold(h, id, store, log)
	if err != nil {
		return fmt.Errorf("finish an erasure: %w", err)
	}
	return j.Close()
}

// erase carries out the plan of an erasure, as far as bytes go; nil where there is none.
func (j *Journal) erase() (*redact.Plan, error) {
	plan, err := redact.Load(j.ID.Dir)
	if plan == nil || err != nil {
		return nil, err
	}
	missed, err := plan.Apply(j.Home.Dir, j.ID.Dir)
	if len(missed) > 0 {
		const what = "somebody changed files that an erasure was about to change; they stay as they are. Erase again"
		j.log.Warn(what, "files", missed)
	}
	return plan, err
}

// erased has the log say what was erased, unless it does already, and ends the erasure.
func (j *Journal) erased(plan *redact.Plan) error {
	if last := j.Last(); len(last) > 0 && last[0].Get("why") == "erased" && j.Size() > plan.End {
		return redact.Done(j.ID.Dir) // nothing is written between what tells of an erasure and this
	}
	text := fmt.Sprintf("Your owner has had something erased from your life, for good: %d places. "+
		"Where it stood, [erased...] or dots stand now. What it was is not to be told, guessed or asked for.", plan.Places)
	gone := event.Erased{Why: "erased", Blobs: plan.Blobs, Lines: plan.Lines}
	if err := j.TellGone(gone, j.withoutErased, "something was erased", text); err != nil {
		return err
	}
	return redact.Done(j.ID.Dir)
}

// mostErased is how many blobs and lines one line of LIFE tells of.
const mostErased = 1000

// TellGone has the log say of which blobs and lines bytes are gone, and the identity know by a note, at an epoch of the
// state that change makes.
func (j *Journal) TellGone(gone event.Erased, change func(*mind.State) error, gist, text string) error {
	// A note does not stand between calls and their results.
	if err := j.Settle("the daemon stopped before this call's turn came."); err != nil {
		return err
	}
	var records []Record
	for blobs := range slices.Chunk(gone.Blobs, mostErased) {
		records = append(records, Record{Event: event.Erased{Why: gone.Why, Blobs: blobs}})
	}
	for lines := range slices.Chunk(gone.Lines, mostErased) {
		records = append(records, Record{Event: event.Erased{Why: gone.Why, Lines: lines}})
	}
	if records == nil { // files alone
		records = []Record{{Event: gone}}
	}
	return j.Epoch(gone.Why, change, append(records, Told(event.Note{Why: gone.Why}, gist, text))...)
}

// withoutErased lets the state agree with files of which bytes have gone: the beginning of the
// request is another one.
func (j *Journal) withoutErased(s *mind.State) error {
	texts, err := j.ID.Texts(j.log)
	if err == nil {
		s.Erased(texts)
	}
	return err
}
