package working

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/work"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/internal/durable"
)

// each is a list of work: each line of a file is a step of a plan, which stays. Called again, it goes on.
type each struct {
	check   string
	workers int
	usd     float64
}

func eachCommand(app *cli.App) *cobra.Command {
	var e each
	cmd := &cobra.Command{
		Use: "each FILE [NAME]", Short: "Have a worker do each line of a file", Args: cli.RangeArgs(1, 2),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			id, err := app.FindToChange(ctx, cli.Argument(args, 1))
			if err != nil {
				return err
			}
			return e.run(ctx, app, id, args[0])
		}),
	}
	cmd.Flags().StringVar(&e.check, "check", "", "`COMMAND` that has to exit 0 with each answer as its input")
	cmd.Flags().IntVar(&e.workers, "workers", 4, "`N` lines at once")
	cmd.Flags().Float64Var(&e.usd, "usd", 0, "most that all may cost (default: what the budget allows)")
	return cmd
}

// result is what became of a line.
type result struct {
	Line   string `json:"line"`
	State  string `json:"state"` // done, asked or failed
	Result string `json:"result"`
}

// run prints the results when no line is left.
func (e each) run(ctx context.Context, app *cli.App, id home.Identity, file string) error {
	name, dir := "each-"+strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), app.Settings.Workspace(id.Dir)
	made, err := e.plan(file, filepath.Join(dir, work.Dir, name+".md"))
	if err != nil {
		return err
	}
	if made {
		if _, err := change(app, id, "confirm", name); err != nil {
			return err
		}
	}
	if _, runs := home.Running(id); !runs {
		app.Note("%s begins when it runs: %s", id.Name, app.Lethe("run %s", id.Name))
	}
	for stood := ""; ; {
		context, err := app.Look.Context(id)
		if err != nil {
			return err
		}
		plans, _ := work.Steps(dir)
		i := slices.IndexFunc(plans, func(p work.Plan) bool { return p.Name == name+".md" })
		if i < 0 {
			return fmt.Errorf("read plan %s: it is gone", name)
		}
		if plans[i].Waits(app.Home.Dir, context.State) { // it may be the identity's, with bounds of its own
			return fmt.Errorf("go on with plan %s: it waits for: lethe work confirm %s, after a look at: lethe work", name, name)
		}
		if now := plans[i].Stands(); now != stood {
			app.Note("%s", now)
			stood = now
		}
		if !slices.ContainsFunc(plans[i].Steps, func(s work.Step) bool { return s.Mark == " " || s.Mark == ">" }) {
			return print(app, id, plans[i])
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// plan makes the plan of a list, unless it is there.
func (e each) plan(list, path string) (made bool, err error) {
	text, err := os.ReadFile(list)
	if _, none := os.Lstat(path); err != nil || none == nil {
		return false, err
	}
	steps, n := "", 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "·", "-")); line != "" {
			n++
			steps += fmt.Sprintf("- [ ] %d %s", n, line)
			if e.check != "" {
				steps += fmt.Sprintf(" · check: `%s`", e.check)
			}
			steps += " · worker: yes\n"
		}
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	head := fmt.Sprintf("# Goal: each line of %s\nbounds: %d steps, %g USD, %d workers\n\n", list, n, e.usd, e.workers)
	return true, durable.WriteFile(path, []byte(head+steps), 0o600)
}

// print prints what became of each step of a plan.
func print(app *cli.App, id home.Identity, plan work.Plan) error {
	all, err := app.Home.List()
	said := map[string]string{} // by the gist of the line
	for _, one := range all {
		if child, _ := one.Child(); child != nil && child.Of == id.Name {
			said[child.Brief] = lastResult(app, child.Room, one.Name)
		}
	}
	for _, step := range plan.Steps {
		_, line, _ := strings.Cut(step.What, " ")
		state := map[string]string{"x": "done", "?": "asked", "!": "failed"}[step.Mark]
		console.PrintLine(app.Out, result{line, state, said[blobs.Gist(line)]})
	}
	return err
}

// lastResult is the last result that a child has given in its room.
func lastResult(app *cli.App, room, child string) (text string) {
	lines, _ := os.ReadFile(app.Home.Room(room)) // a person may have removed it
	for raw := range bytes.Lines(lines) {
		line := chat.Parse(bytes.TrimRight(raw, "\n"))
		if outcome, is := chat.ParseOutcome(line.Text); is && line.By(child) {
			text = outcome.Text
		}
	}
	return text
}
