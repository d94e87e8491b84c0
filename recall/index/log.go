package index

import (
	"errors"
	"fmt"
	"io"

	"lethe/life"
)

// selfOf returns the beginning of the address of the life that a log is of, ""
// when nothing is written yet.
func selfOf(path string) (string, error) {
	boot, err := life.First(path)
	switch {
	case err == io.EOF:
		return "", nil
	case err != nil:
		return "", err
	case boot.Kind != "boot" || len(boot.Refs) == 0:
		return "", &life.CorruptError{Path: path, Why: "it does not begin with boot"}
	}
	return boot.Refs[0].Hash, nil
}

// openLog reads a log on from where the index stands.
func openLog(path string, from life.Mark) (*life.Reader, error) {
	log, err := life.ReadFrom(path, from)
	if errors.Is(err, life.ErrOtherLog) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return log, err
}
