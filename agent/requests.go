package agent

import (
	"os"
	"path/filepath"

	"lethe/internal/durable"
)

// Files in an identity's directory that ask a running one to stop, or to compact.
const (
	stopFile    = "stop"
	compactFile = "compact"
)

// AskToCompact asks a running identity to compact its context. It returns at once;
// a new epoch in its log says that it is done.
func AskToCompact(id Identity) error {
	return durable.Overwrite(filepath.Join(id.Dir, compactFile), nil, 0o600)
}

// CompactPending reports whether a running identity has yet to notice that it was
// asked to compact.
func CompactPending(id Identity) bool {
	_, err := os.Lstat(filepath.Join(id.Dir, compactFile))
	return err == nil
}

// Stop asks a running identity to stop. It returns at once; the identity's lock
// is free when it has stopped.
func Stop(id Identity) error {
	return durable.Overwrite(filepath.Join(id.Dir, stopFile), nil, 0o600)
}

func (a *Agent) stopAsked() bool {
	_, err := os.Lstat(filepath.Join(a.id.Dir, stopFile))
	return err == nil
}

func (a *Agent) clearStopRequest() error {
	err := os.Remove(filepath.Join(a.id.Dir, stopFile))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
