package host

import (
	"os"
	"slices"

	"lethe/home"
	"lethe/internal/sandbox"
	"lethe/skills"
)

// Shelf returns the skills of identities that write to these directories, of which "" is none.
func Shelf(h home.Home, roots []string) *skills.Shelf {
	user, _ := os.UserHomeDir() // without one, there is nothing of theirs
	return skills.New(h.Dir, user, func(dir string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return root != "" && sandbox.Within(dir, root) })
	})
}
