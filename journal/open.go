package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/mind"
	"lethe/spend"
)

// Hold takes the lock of an identity, ends an erasure of it that was cut short, and folds its log. The error is a
// *home.RunningError when another process has the lock, and a *home.ElsewhereError where the life goes on in another
// home. A stop that somebody asked for was meant for the process before this one.
func Hold(h home.Home, id home.Identity, store *blobs.Store, log *slog.Logger) (*Journal, error) {
	return hold(h, id, store, log, id.Elsewhere)
}

// HoldMoved also holds a life that goes on in another home.
func HoldMoved(h home.Home, id home.Identity, store *blobs.Store) (*Journal, error) {
	return hold(h, id, store, nil, func(*mind.State) error { return nil })
}

func hold(
	h home.Home, id home.Identity, store *blobs.Store, log *slog.Logger, check func(*mind.State) error,
) (*Journal, error) {
	lock, err := home.Lock(id)
	if err != nil {
		return nil, err
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	j := &Journal{Home: h, ID: id, Store: store, log: log, lock: lock, Tell: func(life.Event) {}}
	plan, err := j.erase()
	if err == nil {
		err = home.WishStop.Drop(id)
	}
	if err == nil {
		err = j.open()
	}
	if err == nil {
		err = check(j.State)
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
	j.Spending, err = spend.Fold(state.Carried, events, state.Usage.USD)
	j.State, j.last, j.SinceEpoch = state, events[len(events)-1].At, len(events)
	return err
}

// checkEnd drops a last append whose texts are torn. Those of a whole one are to be synced: the process that wrote it
// may have died before its own sync.
func (j *Journal) checkEnd() error {
	texts, err := home.DropTorn(j.Log, j.Store)
	for _, text := range texts {
		path := j.Store.Path(text.Hash)
		j.Syncs.Dir(filepath.Dir(filepath.Dir(path))) // which it may have made the shard in
		err = cmp.Or(err, j.Syncs.Sync(path))
	}
	return err
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
		return durable.WriteFile(path, boot.Body, 0o400)
	case err != nil && !errors.Is(err, durable.ErrNotRegular):
		return err
	case err != nil || !bytes.Equal(soul, boot.Body):
		return fmt.Errorf("open %s: %w: %s is not the soul it was booted with", j.ID.Name, home.ErrCorrupt, path)
	}
	return nil
}
