package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/archive"
	"lethe/internal/durable"
)

func (p *program) exportCommand() *cobra.Command {
	var o archive.WriteOptions
	var file, since string
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write a life into one file: to move it to another home, or to keep",
		Long: `Export writes all that a life is into one file. The life then goes on where that
file is imported, and no longer here; with --copy it goes on here.`,
		Example: `  lethe export ada > ada.lethe          then, on the other machine: lethe import ada.lethe
  lethe export ada --copy -o ada.lethe  a backup; it may run meanwhile
  lethe export ada --to age1…           that only the owner of the key can read`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			if file == "" && isTerminal(p.out) {
				return hint(usagef("an archive is nothing to look at"), "name a file with -o")
			}
			if fi, err := os.Stat(file); err == nil && !fi.Mode().IsRegular() { // before the life is marked as moved
				return usagef("%s is no file: an archive is not written in its place", file)
			}
			id, err := p.find(list[0])
			if err != nil {
				return err
			}
			store, err := p.store()
			if err == nil && since != "" {
				o.Since, err = p.sealedLines(since)
			}
			if err != nil {
				return err
			}
			var sum archive.Summary
			write := func(w io.Writer) (err error) {
				sum, err = archive.Write(w, p.home, store, id, o)
				return err
			}
			if file == "" {
				err = write(p.out)
			} else {
				err = durable.WriteWith(file, 0o600, write)
			}
			if err == nil {
				p.exported(sum, o)
			}
			if errors.As(err, new(*agent.RunningError)) {
				return hint(err, "stop it first: %s; or let it go on here with --copy", p.lethe("stop %s", id.Name))
			}
			return err
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "output", "o", "", "write to this `FILE` instead of standard output")
	flags.BoolVar(&o.Copy, "copy", false, "the life goes on here")
	flags.StringVar(&since, "since", "", "a copy without the blobs of before this `CHECKPOINT`: its file, or how many lines it covers")
	flags.StringArrayVar(&o.To, "to", nil, "encrypt to this age `RECIPIENT`; may come again")
	flags.BoolVar(&o.Workspace, "workspace", false, "take the files in the workspace along")
	return cmd
}

// sealedLines is how many lines the checkpoint in a file covers; a number is that many.
func (p *program) sealedLines(file string) (int64, error) {
	n, err := strconv.ParseInt(file, 10, 64)
	if err == nil {
		return n, nil
	}
	c, err := p.readCheckpoint(file)
	return c.Size, hint(err, "lethe verify NAME --checkpoint writes one")
}

// exported tells what an archive has, and what it has not.
func (p *program) exported(sum archive.Summary, o archive.WriteOptions) {
	behind := slices.Sorted(maps.Keys(sum.State.Rooms))
	for k := range behind {
		behind[k] = "room " + behind[k]
	}
	for _, c := range sum.State.Children {
		behind = append(behind, "child "+c.Name)
	}
	if !o.Workspace {
		behind = append(behind, "workspace")
	}
	p.note("note", "exported %s (%s): %d files, %.1f MB, sealed over %d lines with root %s; what stays behind: %s, jobs, keys", sum.Name, sum.Kind, sum.Files(), float64(sum.Bytes)/1e6, sum.Checkpoint.Size, sum.Checkpoint.Root, strings.Join(behind, ", "))
	if sum.Links > 0 {
		p.note("warning", "links and the like in the workspace stay behind: %d", sum.Links)
	}
	if len(sum.Secrets) > 0 && len(o.To) == 0 {
		p.note("warning", "the archive is not encrypted (see --to), and has what looks like: %s", strings.Join(sum.Secrets, ", "))
	}
}

func (p *program) importCommand() *cobra.Command {
	var o archive.ReadOptions
	var keys, fork string
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Take in a life that was exported",
		Long: `Import checks an archive while it reads it, and refuses what was altered. A life
that was moved goes on here. Of a copy there is a mirror then, which does not run
before you say what it is to be: the life itself (--restore), since the one that
it was copied from is no more, or the beginning of a new one (lethe fork).`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) (err error) {
			in := p.in
			if list[0] != "-" {
				f, err := os.Open(list[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			if keys != "" {
				if o.Keys, err = os.ReadFile(keys); err != nil {
					return err
				}
			}
			store, err := p.store()
			if err != nil {
				return err
			}
			o.Mirror = fork != ""
			got, err := archive.Read(in, p.home, store, o)
			if err != nil {
				return err
			}
			if got.Known {
				p.note("note", "%s came here with this archive before, and lives here: nothing was changed", got.Identity.Name)
				return nil
			}
			p.imported(got)
			if fork == "" {
				return nil
			}
			forking := p.forkCommand()
			if err := forking.Flags().Set("name", fork); err != nil {
				return err
			}
			return forking.RunE(forking, []string{got.Self})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Name, "name", "", "what it is called here")
	flags.StringVar(&fork, "fork", "", "begin a new life of this `NAME` with it, and keep it as a mirror")
	flags.BoolVar(&o.Restore, "restore", false, "it goes on here: the life that this is a copy of is no more")
	flags.StringVar(&keys, "identity", "", "`FILE` with the age key that the archive is encrypted to")
	return cmd
}

// imported tells what was taken in, and what there is to do.
func (p *program) imported(got archive.Result) {
	id := got.Identity
	p.event("imported", id)
	next := "run it with: " + p.howToRun(id, "")
	if got.Mirror {
		next = fmt.Sprintf("it is a mirror; what it can be: a new life, with %s, or this one, if that is no more elsewhere, with %s", p.lethe("fork %s", id.Name), p.lethe("import FILE --restore"))
	}
	if triggers := got.Triggers(); len(triggers) > 0 {
		p.note("note", "when it runs, its triggers wake it: %s; look at them in %s", strings.Join(triggers, ", "), filepath.Join(id.Dir, "triggers"))
	}
	p.note("note", "%d files, of which %d lines of LIFE are sealed by the key %s; where it comes from, %s names the key, too", got.Files(), got.Verdict.Checkpoint.Size, got.Verdict.Signer, p.lethe("verify %s", got.Name))
	p.note("note", "%s", next)
}
