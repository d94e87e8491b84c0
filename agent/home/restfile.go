package home

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lethe/chat"
	"lethe/internal/durable"
)

// Rest describes an identity that has nothing to do: what may wake it, and how that looked before the identity last took
// it in. As an error it ends a run of the identity, which then is not loaded.
type Rest struct {
	Scopes  []chat.Scope  `toml:"scopes"`
	Look    string        `toml:"look"`            // of the scopes
	Until   time.Time     `toml:"until,omitempty"` // when the clock makes something due; zero: never
	Watcher *chat.Watcher `toml:"-"`               // tells of changes
}

func (*Rest) Error() string { return "it has nothing to do" }

// restFile can be deleted at any time: then the identity is loaded at the next start.
const restFile = "rest.toml"

// SetRest keeps a rest for the next process.
func (id Identity) SetRest(r *Rest) error { return id.write(restFile, r) }

// Rests returns the rest of an identity to which nothing has happened since; else nil.
func (id Identity) Rests() *Rest {
	rest, err := read[Rest](id, restFile)
	if rest == nil || err != nil || rest.Over() {
		return nil
	}
	return rest
}

// Over reports whether the identity may have something to do.
func (r *Rest) Over() bool {
	isDue := !r.Until.IsZero() && !time.Now().Before(r.Until)
	return isDue || LookAt(r.Scopes...) != r.Look
}

// LookAt tells how the files in scopes look. The same files, unchanged, look the same, also to another process.
func LookAt(scopes ...chat.Scope) string {
	sum := sha256.New()
	for _, scope := range scopes {
		names := scope.Names
		if len(names) == 0 {
			names, _ = fs.Glob(os.DirFS(scope.Dir), "*") // what cannot be read has no entries
		}
		for _, name := range names {
			if fi, err := os.Stat(filepath.Join(scope.Dir, name)); err == nil {
				fmt.Fprintln(sum, fi.Size(), durable.Changed(fi).UnixNano())
			}
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
