package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"lethe/check"
	"lethe/home"
	"lethe/internal/durable"
	"lethe/proof"
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
		var from proof.Checkpoint
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
	if p.json {
		return p.printJSON(struct {
			*check.Report
			Mended []check.Finding `json:"mended,omitempty"`
		}{r, mended})
	}
	for _, f := range mended {
		fmt.Fprintf(p.out, "mended    %s: %s\n", f.Where, oneLine(f.What))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(p.out, "%-9s %s: %s\n", f.Level, f.Where, oneLine(f.What))
		fmt.Fprintf(p.out, "          %s: %s.\n          --repair: %s.\n", f.Kind, f.Means, f.Repair)
	}
	for _, life := range r.Proofs {
		if life.Fault == nil {
			fmt.Fprintf(p.out, "%s\n", sealedAs(life, o.Against))
		}
	}
	fmt.Fprintf(p.out, "identities: %d, lines: %d, blobs: %d (%.1f MB); faults: %d, leftovers: %d\n",
		r.Lives, r.Lines, r.Blobs, float64(r.Bytes)/1e6, r.Faults, len(r.Findings)-r.Faults)
	return nil
}

// sealedAs says of a life that was not altered how far that is proven.
func sealedAs(life check.Verdict, against *proof.Checkpoint) string {
	if life.Seals == 0 {
		return fmt.Sprintf("unsealed  %s: nothing of its %d lines is proven yet; its next epoch or stop seals them",
			life.Name, life.Lines)
	}
	whose := "the key of another home,"
	if life.Own {
		whose = "this home's key"
	}
	line := fmt.Sprintf("sealed    %s: lines 1 to %d by %s %s; lines after that: %d",
		life.Name, life.Sealed, whose, life.Signer, life.Unsealed)
	if life.Torn > 0 {
		line += fmt.Sprintf("; bytes of a torn end: %d", life.Torn)
	}
	if life.Erased > 0 {
		line += fmt.Sprintf("; erased, as sealed lines say, in %d lines and blobs", life.Erased)
	}
	if against != nil {
		line += fmt.Sprintf("; the checkpoint of %d lines is of this life", against.Size)
	}
	return line
}

func (p *program) readCheckpoint(path string) (c proof.Checkpoint, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(io.LimitReader(p.in, 1<<12))
	} else {
		text, err = durable.ReadWhole(path, 1<<12)
	}
	if err == nil {
		c, err = proof.ParseCheckpoint(string(text))
	}
	if err != nil {
		err = usagef("read checkpoint %s: %w", path, err)
	}
	return c, err
}
