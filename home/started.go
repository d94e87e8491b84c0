package home

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
	"lethe/internal/secret"
)

// Started is an identity that people have started on the page. One process of a home keeps those running, over crashes
// and restarts, until somebody stops them. Each has a file in started/ of the home, named by its hash: the first line
// is "model" or "offline", the others tell why it could not be run.
type Started struct {
	Identity
	Offline bool
	Failed  string // why it could not be run, or ""
}

const (
	thinks  = "model"
	offline = "offline"
)

// StartedDir is where the files of started identities are.
func (h Home) StartedDir() string { return filepath.Join(h.Dir, "started") }

func (id Identity) startedFile() string {
	return filepath.Join(filepath.Dir(filepath.Dir(id.Dir)), "started", id.Self)
}

// Start has an identity be kept running; one that could not be run is tried again. When it returns, that survives power
// loss.
func (id Identity) Start(withoutModel bool) error { return Started{id, withoutModel, ""}.Write() }

// Write writes the file of a started identity.
func (s Started) Write() error {
	text := thinks
	if s.Offline {
		text = offline
	}
	if s.Failed != "" {
		text += "\n" + secret.Text(s.Failed)
	}
	path := s.startedFile()
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, []byte(text+"\n"), 0o600)
}

// Unstart has an identity not be kept running any more; who runs it goes on until it is asked to stop.
func (id Identity) Unstart() error {
	if _, ok := id.Started(); !ok {
		return nil
	}
	return durable.Remove(id.startedFile())
}

// Started returns what was asked of an identity, and false where it is not to be kept running.
func (id Identity) Started() (Started, bool) {
	text, _, err := durable.ReadRegular(id.startedFile(), 64<<10)
	first, rest, _ := strings.Cut(string(text), "\n")
	return Started{id, first == offline, strings.TrimSpace(rest)}, err == nil
}

// Started lists the identities that are to be kept running, by name.
func (h Home) Started() (list []Started, err error) {
	if files, _ := os.ReadDir(h.StartedDir()); len(files) == 0 {
		return nil, nil
	}
	all, err := h.List()
	for _, id := range all {
		if s, ok := id.Started(); ok {
			list = append(list, s)
		}
	}
	return list, err
}

// Keep makes this process the one that keeps started identities running, until done is called. done is nil where
// another process is it.
func (h Home) Keep() (done func(), err error) {
	if err := durable.MkdirAll(h.StartedDir(), 0o700); err != nil {
		return nil, err
	}
	lock := h.keeper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // who only asks has it for an instant
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 10*time.Millisecond); !ok {
		if ctx.Err() != nil {
			err = nil
		}
		return nil, err
	}
	return func() { lock.Unlock() }, nil
}

// Kept reports whether a process keeps started identities running.
func (h Home) Kept() bool {
	lock := h.keeper()
	free, err := lock.TryRLock()
	lock.Close()
	return !free && err == nil
}

func (h Home) keeper() *flock.Flock { return flock.New(h.StartedDir(), flock.SetFlag(os.O_RDONLY)) }
