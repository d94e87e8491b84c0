package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// Hold takes the lock of an identity, ends an erasure of it that was cut short, and folds its log. The error is a
// *home.RunningError when another process has the lock, and a *home.ElsewhereError where the life goes on in another
// home. A stop that somebody asked for was meant for the process before this one.
func Hold(place home.Home, id home.Identity, store *blobs.Store, log *slog.Logger) (*Journal, error) {
	return hold(place, id, store, log, id.Elsewhere)
}

// HoldMoved also holds a life that goes on in another home.
func HoldMoved(place home.Home, id home.Identity, store *blobs.Store) (*Journal, error) {
	return hold(place, id, store, nil, func(*mind.State) error { return nil })
}

func hold(
	place home.Home, id home.Identity, store *blobs.Store, log *slog.Logger, check func(*mind.State) error,
) (*Journal, error) {
	lock, err := home.Lock(id)
	if err != nil {
		return nil, err
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	j := &Journal{
		Home: place, ID: id, Store: store, log: log, lock: lock, Tell: func(life.Event) {}, until: context.Background(),
	}
	plan, missed, err := j.erase()
	if err == nil {
		err = home.WishStop.Drop(id)
	}
	if err == nil && place.Shared != nil {
		j.custody, err = place.Shared.Hold(j.until, id, store)
		if err == nil { // a plan may have come with the life, and rooms that it names
			plan, missed, err = j.erase()
		}
	}
	if len(missed) > 0 {
		const what = "somebody changed files that an erasure was about to change; they stay as they are. Erase again"
		log.Warn(what, "files", missed)
	}
	if err == nil {
		err = j.open()
	}
	if err == nil {
		err = check(j.State)
	}
	if err == nil && j.custody != nil {
		err = j.receive()
	}
	if err == nil && plan != nil {
		err = j.erased(plan)
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// receive shares a life that was not shared before, or has its log say that this host has taken it.
func (j *Journal) receive() error {
	custody, err := j.custody.Open(j.until, j.Log, j.State)
	if err == nil && custody > j.State.Custody {
		var key life.Key
		if key, err = life.LoadKey(j.Home.Dir); err == nil {
			err = j.Epoch("taken", nil, Record{Event: event.Received{Custody: custody, Key: key.Public()}})
		}
	}
	if err == nil && j.ID.Mirrored() {
		err = j.ID.UnmarkMirror()
	}
	return err
}

// open opens the log and folds it into a state. It sets aside what a crash has torn, and checks the soul.
func (j *Journal) open() (err error) {
	if j.Log, err = life.Open(j.ID.LIFE()); err != nil {
		return j.ID.Unread(err)
	}
	for _, step := range []func() error{j.checkEnd, j.fold, j.checkSoul, j.SetAside, j.Syncs.Wait} {
		if err := step(); err != nil {
			return err
		}
	}
	if j.Torn != "" {
		j.log.Warn("the last lines of LIFE were torn, as after a crash; they were set aside", "file", j.Torn)
	}
	return nil
}

// Close releases the lock and the log.
func (j *Journal) Close() error {
	if !j.due.IsZero() && j.err == nil {
		j.shipAll() // otherwise the next opening does it
	}
	if j.custody != nil {
		j.custody.Close()
	}
	if j.Log != nil {
		j.Log.Close()
	}
	return j.lock.Unlock()
}

func (j *Journal) fold() error {
	state, events, err := home.FoldLog(j.ID, j.Log, j.Store)
	if err != nil {
		return err
	}
	j.Spending, err = budget.Fold(state.Carried, events, state.Usage.USD)
	j.State, j.last, j.SinceEpoch = state, events[len(events)-1].At, len(events)
	return err
}

// checkEnd drops a last append whose texts are torn. Those of a whole one are to be synced: the process that wrote it
// may have died before its own sync.
func (j *Journal) checkEnd() error {
	texts, err := home.DropTorn(j.Log, j.Store)
	if err != nil {
		return err
	}
	for _, text := range texts {
		path := j.Store.Path(text.Hash)
		j.Syncs.Dir(filepath.Dir(filepath.Dir(path))) // which it may have made the shard in
		if err := j.Syncs.Sync(path); err != nil {
			return err
		}
	}
	return nil
}

// checkSoul holds SOUL.md against the boot blob. A missing one is put back; an
// altered one is not ours to overrule.
func (j *Journal) checkSoul() error {
	self, err := blobs.ParseHash(j.ID.Self)
	if err != nil {
		return fmt.Errorf("open %s: %w: %w", j.ID.Name, home.ErrCorrupt, err)
	}
	boot, err := j.Store.Get(self)
	if err != nil {
		return home.ReadError(fmt.Errorf("open %s: boot blob: %w", j.ID.Name, err))
	}
	path := filepath.Join(j.ID.Dir, "SOUL.md")
	soul, _, err := durable.ReadRegular(path, int64(len(boot.Body))+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.log.Warn("SOUL.md was missing; put back from the boot blob")
		return j.ID.RestoreSoul(j.Store)
	case err != nil && !errors.Is(err, durable.ErrNotRegular):
		return err
	case err != nil || !bytes.Equal(soul, boot.Body):
		return fmt.Errorf("open %s: %w: %s is not the soul it was booted with", j.ID.Name, home.ErrCorrupt, path)
	}
	return nil
}

// An erasure is decided when its plan is durable. Whoever holds the identity next carries it out
// first: bytes, before anything reads them, and then what the log says of it. The plan goes last.

// FinishErasure ends an erasure that was cut short, if there is one. Whoever opens a home calls it for each identity,
// before anything reads what is to go. Where the error wraps ErrCorrupt the bytes have gone, and the log cannot tell
// it.
func FinishErasure(place home.Home, id home.Identity, log *slog.Logger) error {
	if id.Erasing() == nil {
		return nil
	}
	store, err := blobs.Open(place.Blobs())
	if err != nil {
		return err
	}
	j, err := Hold(place, id, store, log)
	switch {
	case err == nil:
		return j.Close()
	case home.IsElsewhere(err) && id.Erasing() == nil: // its host has ended it
		return nil
	}
	return fmt.Errorf("finish an erasure: %w", err)
}

// Decide makes a plan durable, here and for whoever has the life next.
func (j *Journal) Decide(plan *home.ErasePlan) error {
	err := plan.Save(j.ID.Dir)
	if err == nil && j.custody != nil {
		err = j.custody.Ship(j.until, nil)
	}
	return err
}

// erase makes the bytes go that the plan of an erasure lists; nil without a plan. missed are files that somebody has
// changed.
func (j *Journal) erase() (plan *home.ErasePlan, missed []string, err error) {
	plan, err = home.LoadErasePlan(j.ID.Dir)
	if plan != nil && err == nil {
		missed, err = plan.Apply(j.Home.Dir, j.ID.Dir)
	}
	return plan, missed, err
}

// erased has the log say what was erased, unless it does already, and ends the erasure.
func (j *Journal) erased(plan *home.ErasePlan) error {
	tells, err := j.tells(plan)
	if err != nil {
		return err
	}
	if tells {
		return j.erasedElsewhere()
	}
	text := fmt.Sprintf("Your owner has had something erased from your life, for good: %d places. "+
		"Where it stood, [erased...] or dots stand now. What it was is not to be told, guessed or asked for.", plan.Places)
	gone := event.Erased{Why: "erased", Blobs: plan.Blobs, Lines: plan.Lines}
	if err := j.TellGone(gone, j.withoutErased, "something was erased", text); err != nil {
		return err
	}
	return j.erasedElsewhere()
}

// tells reports whether the log says what a plan has erased: another host may have written that, and more.
func (j *Journal) tells(plan *home.ErasePlan) (tells bool, err error) {
	first := ""
	switch {
	case len(plan.Blobs) > 0:
		first = plan.Blobs[0].Tombstone
	case len(plan.Lines) > 0:
		first = plan.Lines[0].Now
	}
	err = life.Scan(j.ID.LIFE(), func(line life.Event, offset int64) error {
		isNew := offset >= plan.End && line.Kind == "erased" && line.Get("why") == "erased"
		tells = tells || isNew && strings.Contains(fmt.Sprint(line.Fields), first)
		return nil
	})
	return tells, err
}

// erasedElsewhere ends an erasure that the log tells of.
func (j *Journal) erasedElsewhere() error {
	if j.custody != nil {
		if err := j.custody.Erased(j.until); err != nil {
			return err
		}
	}
	return home.EndErase(j.ID.Dir)
}

// mostErased bounds the blobs and lines that one line of LIFE tells of.
const mostErased = 1000

// TellGone records the blobs and lines that have lost bytes, and tells the identity by a note, at an epoch of the
// state that change makes.
func (j *Journal) TellGone(gone event.Erased, change func(*mind.State) error, gist, text string) error {
	// A note does not stand between calls and their results.
	if err := j.CancelCalls("the daemon stopped before this call's turn came."); err != nil {
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

// withoutErased lets the state agree with files that have lost bytes: the beginning of the
// request is another one.
func (j *Journal) withoutErased(state *mind.State) error {
	texts, err := j.ID.Texts(j.log)
	if err == nil {
		state.Erased(texts)
	}
	return err
}
