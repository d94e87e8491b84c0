package check

import (
	"io"

	"lethe/agent/home"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
	"lethe/life"
)

// ReadCheckpoint reads a checkpoint of an identity from a file, or from in if path is "-". Its errors are exit.Usage.
func ReadCheckpoint(in io.Reader, path string, id home.Identity) (life.Checkpoint, error) {
	const most = 1 << 12
	var text []byte
	var err error
	if path == "-" {
		text, err = io.ReadAll(io.LimitReader(in, most))
	} else {
		text, err = durable.ReadWhole(path, most)
	}
	if err != nil {
		return life.Checkpoint{}, exit.Usagef("read checkpoint %s: %w", path, err)
	}
	from, err := life.ParseCheckpoint(string(text))
	if err != nil {
		return from, exit.Usagef("read checkpoint %s: %w", path, err)
	}
	if from.Self != id.Self {
		return from, exit.Usagef("the checkpoint is of the identity %.16s, and %s is %.16s", from.Self, id.Name, id.Self)
	}
	return from, nil
}
