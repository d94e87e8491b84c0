package home

import (
	"lethe/life"
	"lethe/mind/files"
)

// Files folds LIFE into the files that the identity has worked on. A damaged line ends it; lethe check tells of one.
func (id Identity) Files() *files.Fold {
	var fold files.Fold
	_ = life.Scan(id.LIFE(), func(line life.Event, _ int64) error {
		fold.Apply(line)
		return nil
	})
	return &fold
}
