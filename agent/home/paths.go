package home

import (
	_ "embed"
	"path/filepath"
)

// RecallPath is where the index over what an identity has forgotten is. It can be
// deleted at any time.
func (id Identity) RecallPath() string { return filepath.Join(id.Dir, "recall.db") }

// ReviewRoom is the room in which the entries of an identity come to its reviewer. The
// lines are signed with the same name.
func ReviewRoom(name string) string { return "review-" + name }
