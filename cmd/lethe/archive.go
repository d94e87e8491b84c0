package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/archive"
	"lethe/home"
	"lethe/internal/durable"
)

func (p *program) exportCommand() *cobra.Command {
	var o archive.WriteOptions
	var file string
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write a life into one file: to move it to another home, or to keep",
		Long: `Export writes all that a life is into one file. The life then goes on where that
file is imported, and no longer here; with --copy it goes on here.`,
		Example: `  lethe export ada > ada.lethe          then, on the other machine: lethe import ada.lethe
  lethe export ada --copy -o ada.lethe  a backup; it may run meanwhile
  lethe export ada --to age1…           that only the owner of the key can read`,
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
			var sum archive.Summary
			write := func(w io.Writer) (err error) {
				sum, err = archive.Write(w, p.home, p.look.Store, id, o)
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
			if errors.As(err, new(*home.RunningError)) {
				return hint(err, "stop it first: %s; or let it go on here with --copy", p.lethe("stop %s", id.Name))
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "output", "o", "", "write to this `FILE` instead of standard output")
	option(cmd, &o.Copy, "copy", "the life goes on here")
	option(cmd, &o.To, "to", "encrypt to this age `RECIPIENT`; may come again")
	option(cmd, &o.Workspace, "workspace", "take the files in the workspace along")
	return cmd
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
	p.note("exported %s (%s): %d files, %.1f MB, sealed over %d lines with root %s; "+
		"what stays behind: %s, jobs, keys",
		sum.Name, sum.Kind, sum.Files(), float64(sum.Bytes)/1e6, sum.Checkpoint.Size, sum.Checkpoint.Root,
		strings.Join(behind, ", "))
}

func (p *program) importCommand() *cobra.Command {
	var o archive.ReadOptions
	var keys string
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Take in a life that was exported",
		Long: `Import checks an archive while it reads it, and refuses what was altered. A life
that was moved goes on here. Of a copy there is a mirror then, which does not run
before you say what it is to be: the life itself (--restore), since the one that
it was copied from is no more, or the beginning of a new one (lethe fork).`,
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
			got, err := archive.Read(in, p.home, p.look.Store, o)
			if err != nil {
				return err
			}
			if got.Known {
				p.note("%s came here with this archive before, and lives here: nothing was changed", got.Identity.Name)
				return nil
			}
			p.imported(got)
			return nil
		},
	}
	option(cmd, &o.Name, "name", "`NAME` that it gets here")
	option(cmd, &o.Restore, "restore", "it goes on here: the life that this is a copy of is no more")
	option(cmd, &keys, "identity", "`FILE` with the age key that the archive is encrypted to")
	return cmd
}

// imported tells what was taken in, and what there is to do.
func (p *program) imported(got archive.Result) {
	id := got.Identity
	p.event("imported", id)
	next := "run it with: " + p.howToRun(id, "")
	if got.Mirror {
		next = fmt.Sprintf("it is a mirror; what it can be: a new life, with %s, or this one, if that is no more elsewhere, "+
			"with %s", p.lethe("fork %s", id.Name), p.lethe("import FILE --restore"))
	}
	if triggers := got.Triggers(); len(triggers) > 0 {
		p.note("when it runs, its triggers wake it: %s; look at them in %s",
			strings.Join(triggers, ", "), filepath.Join(id.Dir, "triggers"))
	}
	p.note("%d files, of which %d lines of LIFE are sealed by the key %s; "+
		"where it comes from, %s names the key, too",
		got.Files(), got.Verdict.Sealed, got.Verdict.Signer, p.lethe("check %s", got.Name))
	p.note("%s", next)
}
