package home

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
	"lethe/internal/secret/shape"
)

// Started is an identity that people have started on the page. One process of a home keeps those running, over crashes
// and restarts, until somebody stops them. Each has a file in started/ of the home, named by its hash: the first line
// is "model" or "offline", the others tell why it could not be run. The file counts once its first line is whole: it
// has its end, or is one of the two words. So whoever writes it in place, as echo does, is not read half-way.
type Started struct {
	Identity
	Offline bool
	Failed  string // why it could not be run, or ""
}

func (h Home) startedDir() string { return filepath.Join(h.Dir, "started") }

func (id Identity) startedFile() string {
	return filepath.Join(id.Dir, "..", "..", "started", id.Self)
}

// Start has an identity be kept running. With failed, that is why it could not be run; without, it is tried again. When
// Start returns, that survives power loss.
func (id Identity) Start(offline bool, failed string) error {
	with := map[bool]string{false: "model\n", true: "offline\n"}[offline]
	return durable.WriteFile(id.startedFile(), []byte(with+shape.Text(failed)), 0o600)
}

// Unstart ends the wish to keep an identity running; a process that runs it goes on until it is asked to stop.
func (id Identity) Unstart() error {
	return durable.Remove(id.startedFile())
}

// Started returns what was asked of an identity, and false where it is not to be kept running.
func (id Identity) Started() (Started, bool) {
	text, _, err := durable.ReadRegular(id.startedFile(), 64<<10)
	with, failed, ended := strings.Cut(string(text), "\n")
	isModel := with == "model" || with == "offline"
	whole := ended || isModel
	return Started{id, with == "offline", strings.TrimSpace(failed)}, err == nil && whole
}

// Started lists the identities that are to be kept running, by name, unreadable ones left out.
func (h Home) Started() (list []Started) {
	if files, _ := os.ReadDir(h.startedDir()); len(files) == 0 {
		return nil
	}
	all, _ := h.List()
	for _, id := range all {
		if s, ok := id.Started(); ok {
			list = append(list, s)
		}
	}
	return list
}

// Keeper is the lock of the one process that keeps started identities running. It is not taken yet.
func (h Home) Keeper() *flock.Flock { return flock.New(h.startedDir(), flock.SetFlag(os.O_RDONLY)) }

// Kept reports whether a process keeps started identities running.
func (h Home) Kept() bool { return taken(h.Keeper()) }

// Hold is the lock of a command that has a started identity stopped for a while: nobody takes it up meanwhile. It is not
// taken yet.
func (id Identity) Hold() *flock.Flock { return flock.New(id.Dir, flock.SetFlag(os.O_RDONLY)) }

// Held reports whether a command has the identity stopped for a while.
func (id Identity) Held() bool { return taken(id.Hold()) }

func taken(lock *flock.Flock) bool {
	defer lock.Close()
	free, err := lock.TryRLock()
	return !free && err == nil
}
