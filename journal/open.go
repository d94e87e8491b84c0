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

// Lock takes the lock of an identity. The error is a *home.RunningError when another process has it.
func Lock(h home.Home, id home.Identity, store *blobs.Store, log *slog.Logger) (*Journal, error) {
	lock, err := home.Lock(id)
	return &Journal{home: h, id: id, store: store, log: log, lock: lock, Tell: func(life.Event) {}}, err
}

// Open opens the log and folds it into a state. It sets aside what a crash has torn, and checks the soul.
func (j *Journal) Open() (s *mind.State, err error) {
	if j.Log, err = life.Open(j.id.LIFE()); err != nil {
		return nil, j.id.Unread(err)
	}
	if err := j.checkEnd(); err != nil {
		return nil, err
	}
	if s, err = j.fold(); err != nil {
		return nil, err
	}
	if err := j.checkSoul(); err != nil {
		return nil, err
	}
	if err := j.SetAside(); err != nil {
		return nil, err
	}
	if err := j.Syncs.Wait(); err != nil {
		return nil, err
	}
	if j.Torn != "" {
		j.log.Warn("the last lines of LIFE were torn, as after a crash; they were set aside", "file", j.Torn)
	}
	return s, nil
}

// Close releases the lock and the log.
func (j *Journal) Close() error {
	if j.Log != nil {
		j.Log.Close()
	}
	return j.lock.Unlock()
}

func (j *Journal) fold() (*mind.State, error) {
	state, events, err := home.FoldLog(j.id, j.Log, j.store)
	if err != nil {
		return nil, err
	}
	j.Spending, err = spend.Fold(state.Carried, events, state.Usage.USD)
	j.last, j.SinceEpoch = events[len(events)-1].At, len(events)
	return state, err
}

// checkEnd drops a last append whose texts are torn. Those of a whole one are to be synced: the process that wrote it
// may have died before its own sync.
func (j *Journal) checkEnd() error {
	texts, err := home.DropTorn(j.Log, j.store)
	for _, text := range texts {
		path := j.store.Path(text.Hash)
		j.Syncs.Dir(filepath.Dir(filepath.Dir(path))) // which it may have made the shard in
		err = cmp.Or(err, j.Syncs.Sync(path))
	}
	return err
}

// checkSoul holds SOUL.md against the boot blob. A missing one is put back; an
// altered one is not ours to overrule.
func (j *Journal) checkSoul() error {
	self, err := blobs.ParseHash(j.id.Self)
	if err != nil {
		return fmt.Errorf("open %s: %w: %w", j.id.Name, home.ErrCorrupt, err)
	}
	boot, err := j.store.Get(self)
	if err != nil {
		return home.ReadError(fmt.Errorf("open %s: boot blob: %w", j.id.Name, err))
	}
	path := filepath.Join(j.id.Dir, "SOUL.md")
	soul, _, err := durable.ReadRegular(path, int64(len(boot.Body))+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.log.Warn("SOUL.md was missing; put back from the boot blob")
		return durable.WriteFile(path, boot.Body, 0o400)
	case err != nil && !errors.Is(err, durable.ErrNotRegular):
		return err
	case err != nil || !bytes.Equal(soul, boot.Body):
		return fmt.Errorf("open %s: %w: %s is not the soul it was booted with", j.id.Name, home.ErrCorrupt, path)
	}
	return nil
}
