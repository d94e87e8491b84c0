package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lethe/internal/durable"
	"lethe/mind"
)

// ElsewhereError says that a life goes on at another host of this home, or in another home: it was moved there, or
// what is here is a mirror of it.
type ElsewhereError struct {
	Identity Identity
	Host     string // of this home; "" for another home
	Mirror   bool
}

// IsElsewhere reports whether an error wraps an *ElsewhereError.
func IsElsewhere(err error) bool { return errors.As(err, new(*ElsewhereError)) }

func (e *ElsewhereError) Error() string {
	switch {
	case e.Host != "":
		return fmt.Sprintf("open %s: it goes on at %s", e.Identity.Name, e.Host)
	case e.Mirror:
		return fmt.Sprintf("open %s: it is a mirror of a life that goes on in another home", e.Identity.Name)
	}
	return fmt.Sprintf("open %s: it was moved to another home", e.Identity.Name)
}

const mirrorFile = "mirror"

// MarkMirror makes what is in the identity's directory a mirror of a life that was handed over so often. It is
// one until it is received. A mark of -1 is of a life that has come here, and whose log does not say so yet.
func (id Identity) MarkMirror(custody int) error {
	return durable.WriteFile(filepath.Join(id.Dir, mirrorFile), fmt.Appendf(nil, "%d\n", custody), 0o600)
}

// Mirrored reports whether what is here was marked as a mirror.
func (id Identity) Mirrored() bool {
	_, err := os.Lstat(filepath.Join(id.Dir, mirrorFile))
	return err == nil
}

// UnmarkMirror has the life go on here.
func (id Identity) UnmarkMirror() error { return durable.Remove(filepath.Join(id.Dir, mirrorFile)) }

// Elsewhere returns an *ElsewhereError if the life, whose log says s, goes on in another home.
func (id Identity) Elsewhere(s *mind.State) error {
	text, _, err := durable.ReadRegular(filepath.Join(id.Dir, mirrorFile), 32)
	custody, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	mirror := err == nil && s.Custody <= custody
	if mirror || s.Moved {
		return &ElsewhereError{Identity: id, Mirror: mirror}
	}
	return nil
}
