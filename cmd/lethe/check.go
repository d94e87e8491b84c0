package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"lethe/agent/home"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/life"
)

func (p *program) checkCommand(c call) error {
	names, against, checkpoint := c.args, c.text("against"), c.is("checkpoint")
	one := checkpoint || against != ""
	if one && len(names) > 1 {
		return usagef("a checkpoint is of one life: name one")
	}
	if one && len(names) == 0 {
		names = []string{""}
	}
	var o check.Options
	for _, name := range names {
		id, err := p.find(name)
		if err != nil {
			return err
		}
		o.Lives = append(o.Lives, id)
	}
	store, err := p.store()
	if err == nil && against != "" {
		var from life.Checkpoint
		from, err = p.readCheckpoint(against)
		if id := o.Lives[0]; err == nil && from.Self != id.Self {
			err = usagef("the checkpoint is of the identity %.16s, and %s is %.16s", from.Self, id.Name, id.Self)
		}
		o.Against = &from
	}
	if err != nil {
		return err
	}
	began, show := time.Now(), p.progress()
	o.Tell = func(blobs, of int, bytes int64) {
		speed := float64(bytes) / 1e6 / time.Since(began).Seconds()
		show(int64(blobs), int64(of), "%d of %d blobs, %.0f MB/s", blobs, of, speed)
	}
	var r *check.Report
	mended := []check.Finding{}
	if c.is("repair") {
		mended, r, err = check.Repair(p.home, store, o)
	} else {
		r, err = check.Home(p.home, store, o)
	}
	switch {
	case err == nil && checkpoint && r.Faults == 0 && !p.json:
		life := r.Proofs[0]
		if life.Seals == 0 {
			return fmt.Errorf("%s has no seal yet: it is sealed at its next epoch, or when it stops", life.Name)
		}
		fmt.Fprint(p.out, life.Checkpoint)
		return nil
	case r != nil:
		err = errors.Join(err, p.printCheck(r, mended, o))
	}
	if err == nil && r.Faults > 0 {
		err = fmt.Errorf("check %s: %w: faults: %d", p.home.Dir, home.ErrCorrupt, r.Faults)
		err = hint(err, "‹check --repair› mends what can be mended; docs/check.md says what each fault means")
	}
	return err
}

func (p *program) printCheck(r *check.Report, mended []check.Finding, o check.Options) error {
	return p.words("check", struct {
		*check.Report
		Mended    []check.Finding `json:"mended,omitempty"`
		Leftovers int             `json:"-"`
	}{r, mended, len(r.Findings) - r.Faults}, nil, o.Against)
}

func (p *program) readCheckpoint(path string) (c life.Checkpoint, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(io.LimitReader(p.in, 1<<12))
	} else {
		text, err = durable.ReadWhole(path, 1<<12)
	}
	if err == nil {
		c, err = life.ParseCheckpoint(string(text))
	}
	if err != nil {
		err = usagef("read checkpoint %s: %w", path, err)
	}
	return c, err
}
