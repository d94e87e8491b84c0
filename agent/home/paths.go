package home

import (
	_ "embed"
	"path/filepath"
)

// RecallPath is the path of the index over all that an identity has forgotten. It can be
// deleted at any time.
func (id Identity) RecallPath() string { return filepath.Join(id.Dir, "recall.db") }

// ReviewRoom is the room that brings the entries of an identity to its reviewer. The
// lines are signed with the same name.
func ReviewRoom(name string) string { return "review-" + name }
