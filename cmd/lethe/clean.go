package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/bridge"
)

func (p *program) cleanCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove all identities, rooms and blobs of the home, after asking",
		Long: `Clean removes what identities have left in the home: their lives, the rooms, the
blobs and the state of bridges. config.toml stays, and so does whatever Lethe did
not put there. It cannot be undone, so it asks first.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.clean(yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// stateDirs is what clean removes.
var stateDirs = []string{"agents", "names", "chats", "blobs", "bridges", "index", "lethe.log"}

func (p *program) clean(yes bool) error {
	all, err := p.home.List()
	if err != nil {
		return err
	}
	if err := p.noneRuns(all); err != nil {
		return err
	}
	files, bytes := p.weigh()
	if files == 0 {
		fmt.Fprintf(p.out, "nothing to remove in %s\n", p.home.Dir)
		return nil
	}
	fmt.Fprintf(p.out, "%s holds %s in %s of together %s.\n", p.home.Dir, count(len(all), "identity", "identities"), count(files, "file", "files"), size(bytes))
	if !yes && !p.confirm("Remove all of it for good? Type yes: ") {
		return fmt.Errorf("clean %s: not confirmed, nothing was removed", p.home.Dir)
	}
	if err := p.noneRuns(all); err != nil { // somebody may have taken their time over the answer
		return err
	}
	for _, name := range stateDirs {
		if err := os.RemoveAll(filepath.Join(p.home.Dir, name)); err != nil {
			return fmt.Errorf("clean %s: %w", p.home.Dir, err)
		}
	}
	fmt.Fprintln(p.out, "removed.")
	return nil
}

func (p *program) noneRuns(ids []agent.Identity) error {
	for _, id := range ids {
		if _, running := agent.Running(id); running {
			return hint(fmt.Errorf("clean %s: %s is running", p.home.Dir, id.Name), "stop it first: lethe stop %s", id.Name)
		}
	}
	return p.noBridgeRuns()
}

// noBridgeRuns is for those who take a bridge's state away.
func (p *program) noBridgeRuns() error {
	all, err := bridge.ReadHealth(p.home.Dir)
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.Runs() {
			return hint(fmt.Errorf("clean %s: bridge %s is running", p.home.Dir, h.Name), "stop it first: it is process %d", h.PID)
		}
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (p *program) weigh() (files int, bytes int64) {
	for _, name := range stateDirs {
		_ = filepath.WalkDir(filepath.Join(p.home.Dir, name), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // counted as far as it can be seen
			}
			files++
			if fi, err := d.Info(); err == nil {
				bytes += fi.Size()
			}
			return nil
		})
	}
	return files, bytes
}

func (p *program) confirm(question string) bool {
	fmt.Fprint(p.out, question)
	answer, _ := bufio.NewReader(p.in).ReadString('\n')
	return strings.TrimSpace(answer) == "yes"
}
