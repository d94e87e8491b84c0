package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/check"
	"lethe/internal/durable"
	"lethe/proof"
)

func (p *program) verifyCommand() *cobra.Command {
	var against string
	var checkpoint bool
	cmd := p.about(&cobra.Command{
		Use:   "verify [NAME]",
		Short: "Prove that a life was not altered",
		Long: `Verify checks each line of LIFE, the seals under them, which the key of the home has signed, and
that all stored texts are there. The identity may run. Who has the key, or cuts LIFE back to an
earlier seal, is found only with a checkpoint that you have kept somewhere else.`,
		Example: `  lethe verify ada
  lethe verify ada --checkpoint > ada.checkpoint   # keep it elsewhere, or send it to somebody
  lethe verify ada --against ada.checkpoint        # what it states must be there, unaltered`,
	}, func(_ context.Context, id agent.Identity) error { return p.verify(id, against, checkpoint) })
	cmd.Flags().StringVar(&against, "against", "", "a checkpoint in `FILE`, or - for standard input, that the life has to go on from")
	cmd.Flags().BoolVar(&checkpoint, "checkpoint", false, "print the newest checkpoint, if nothing was altered")
	return cmd
}

func (p *program) verify(id agent.Identity, against string, checkpoint bool) error {
	o := check.VerifyOptions{Key: "none"}
	if against != "" {
		c, err := p.readCheckpoint(against)
		if err == nil && c.Self != id.Self {
			err = usagef("the checkpoint is of the identity %.16s, and %s is %.16s", c.Self, id.Name, id.Self)
		}
		if err != nil {
			return err
		}
		o.Against = &c
	}
	if key, err := proof.ReadKey(p.home.Dir); err == nil {
		o.Key = key.Public()
	}
	show := p.progress()
	o.Progress = func(done, size int64) {
		if size > 1<<24 {
			show(done, size, "%d of %d MB", done>>20, size>>20)
		}
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	v, err := check.Verify(id, store, o)
	if err != nil {
		return id.Unread(err)
	}
	if v.Fault != nil {
		err = hint(fmt.Errorf("verify %s: %w: %w", id.Name, agent.ErrCorrupt, v.Fault), "nothing was changed; see docs/proof.md for what each fault means, and compare with a backup or an archive")
	}
	if p.json {
		out := struct {
			Name string `json:"name"`
			Self string `json:"self"`
			check.Verdict
			Sealed   int64  `json:"sealed"`
			Unsealed int64  `json:"unsealed"`
			Fault    string `json:"fault,omitempty"`
		}{id.Name, id.Self, v, v.Checkpoint.Size, v.Unsealed(), ""}
		if v.Fault != nil {
			out.Fault = v.Fault.Error()
		}
		return errors.Join(p.printJSON(out), err)
	}
	switch {
	case err != nil:
		return err
	case checkpoint && v.Seals == 0:
		return fmt.Errorf("%s has no seal yet: it is sealed at its next epoch, or when it stops", id.Name)
	case checkpoint:
		fmt.Fprint(p.out, v.Checkpoint)
		return nil
	case v.Seals == 0:
		fmt.Fprintf(p.out, "%s: nothing is damaged, but nothing is proven: none of its %d lines is sealed yet.\nIt is sealed at its next epoch, or when it stops.\n", id.Name, v.Lines)
		return nil
	}
	whose := map[bool]string{true: "this home's key", false: "the key of another home"}[v.Signer == o.Key]
	fmt.Fprintf(p.out, "%s was not altered.\nsealed    lines 1 to %d, by %s %s; seals: %d\nunsealed  lines after that: %d\nblobs     %d, all as they were, and linked down to the boot\n",
		id.Name, v.Checkpoint.Size, whose, v.Signer, v.Seals, v.Unsealed(), v.Blobs)
	if v.Torn > 0 {
		fmt.Fprintf(p.out, "torn      bytes behind the last line that is whole: %d. A crash leaves such an end, or somebody who changed the last lines\n", v.Torn)
	}
	if v.Erased > 0 {
		fmt.Fprintf(p.out, "erased    in %d lines and blobs, as sealed lines say\n", v.Erased)
	}
	if o.Against != nil {
		fmt.Fprintf(p.out, "kept      the checkpoint of %d lines is of this life\n", o.Against.Size)
	}
	return nil
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
