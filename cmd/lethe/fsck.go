package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/check"
)

func (p *program) fsckCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "fsck [NAME…]",
		Short: "Check what is on disk against what was written, and mend it",
		Long: `Fsck checks identities, or the whole home: stored texts against their hashes, LIFE line by line,
each epoch against the lines before it, rooms, links, modes and what crashes have left. It
says what is wrong, what that means and what --repair would do. It changes nothing, and
identities may run. With --repair it mends what it can; it moves files to lost+found
in the home and deletes none.`,
		RunE:              func(_ *cobra.Command, list []string) error { return p.fsck(list, repair) },
		ValidArgsFunction: p.completeIdentities,
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what can be mended; no identity may run")
	return cmd
}

func (p *program) fsck(names []string, repair bool) error {
	store, err := p.store()
	if err != nil {
		return err
	}
	var lives []agent.Identity
	for _, name := range names {
		id, err := p.find(name)
		if err != nil {
			return err
		}
		lives = append(lives, id)
	}
	began, show := time.Now(), p.progress()
	tell := func(blobs, of int, bytes int64) {
		show(int64(blobs), int64(of), "%d of %d blobs, %.0f MB/s", blobs, of, float64(bytes)/1e6/time.Since(began).Seconds())
	}
	var r *check.Report
	mended := []check.Finding{}
	if repair {
		mended, r, err = check.Repair(p.home, store, lives, tell)
	} else {
		r, err = check.Fsck(p.home, store, lives, tell)
	}
	if r != nil {
		err = errors.Join(err, p.printFsck(r, mended))
	}
	if err == nil && r.Faults > 0 {
		err = hint(fmt.Errorf("fsck %s: %w: faults: %d", p.home.Dir, agent.ErrCorrupt, r.Faults), "%s mends what can be mended", p.lethe("fsck --repair"))
	}
	return err
}

func (p *program) printFsck(r *check.Report, mended []check.Finding) error {
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
		fmt.Fprintf(p.out, "%-9s %s: %s\n          %s: %s.\n          --repair: %s.\n", f.Level, f.Where, oneLine(f.What), f.Kind, f.Means, f.Repair)
	}
	fmt.Fprintf(p.out, "identities: %d, lines: %d, blobs: %d (%.1f MB); faults: %d, leftovers: %d\n",
		r.Lives, r.Lines, r.Blobs, float64(r.Bytes)/1e6, r.Faults, len(r.Findings)-r.Faults)
	return nil
}

func (p *program) gcCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Find stored texts that no identity refers to, and move them away",
		Long: `Gc counts the stored texts that no identity, room or bridge refers to. With --yes it moves
them to lost+found in the home, where they stay for 30 days; what has been there for longer it removes
for good. Nothing in the home may run.`,
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			store, err := p.store()
			if err != nil {
				return err
			}
			g, err := check.Collect(p.home, store, yes)
			if errors.Is(err, check.ErrInUse) {
				return hint(err, "stop what runs first: %s", p.lethe("stop NAME"))
			}
			if err != nil || p.json {
				return errors.Join(err, p.printJSON(g))
			}
			for kind, a := range g.Kinds {
				fmt.Fprintf(p.out, "%6d blobs %8.1f MB  %s\n", a.Blobs, float64(a.Bytes)/1e6, kind)
			}
			does := map[bool]string{true: "removed", false: "to be removed"}[yes]
			for _, dir := range g.Removed {
				fmt.Fprintf(p.out, "%s, after 30 days: %s\n", does, strings.TrimPrefix(dir, p.home.Dir+"/"))
			}
			if len(g.Kinds)+len(g.Removed) == 0 {
				fmt.Fprintln(p.out, "nothing to move")
			} else if !yes {
				p.note("note", "nothing was changed; %s moves them to lost+found for 30 days", p.lethe("gc --yes"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "move them")
	return cmd
}
