package check

import (
	"fmt"
	"io"

	"lethe/cmd/lethe/console"
	"lethe/life"
)

// Write writes a report for people. against, if not nil, is a checkpoint that the life goes on from.
func (r *Report) Write(out io.Writer, against *life.Checkpoint) {
	for _, finding := range r.Findings {
		fmt.Fprintf(out, "%-9s %s: %s\n", finding.Level, finding.Where, console.OneLine(finding.What))
		fmt.Fprintf(out, "          %s: %s.\n", finding.Kind, finding.Means)
		fmt.Fprintf(out, "          --repair: %s.\n", finding.Repair)
	}
	for _, verdict := range r.Proofs {
		if verdict.Fault == nil {
			verdict.write(out, against)
		}
	}
	fmt.Fprintf(out, "identities: %d, lines: %d, blobs: %d (%s); faults: %d, leftovers: %d\n", r.Lives, r.Lines,
		r.Blobs, console.Megabytes(r.Bytes), r.Faults, len(r.Findings)-r.Faults)
}

// WriteCheckpoint writes the newest checkpoint of a life.
func (v *Verdict) WriteCheckpoint(out io.Writer) error {
	if v.Seals == 0 {
		return fmt.Errorf("%s has no seal yet: it is sealed at its next epoch, or when it stops", v.Name)
	}
	_, err := fmt.Fprint(out, v.Checkpoint)
	return err
}

// write tells the lines of a life that are proven.
func (v *Verdict) write(out io.Writer, against *life.Checkpoint) {
	if v.Mirror {
		fmt.Fprintf(out, "mirror    %s: the life goes on elsewhere\n", v.Name)
	}
	if v.Seals == 0 {
		fmt.Fprintf(out, "unsealed  %s: nothing of its %d lines is proven yet; its next epoch or stop seals them\n",
			v.Name, v.Lines)
		return
	}
	key := "the key of another home,"
	if v.Own {
		key = "this home's key"
	}
	fmt.Fprintf(out, "sealed    %s: lines 1 to %d by %s %s; lines after that: %d",
		v.Name, v.Sealed, key, v.Signer, v.Unsealed)
	if v.Torn != 0 {
		fmt.Fprintf(out, "; bytes of a torn end: %d", v.Torn)
	}
	if v.Erased != 0 {
		fmt.Fprintf(out, "; erased, as sealed lines say, in %d lines and blobs", v.Erased)
	}
	if against != nil {
		fmt.Fprintf(out, "; the checkpoint of %d lines is of this life", against.Size)
	}
	fmt.Fprintln(out)
}
