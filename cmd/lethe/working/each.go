package working

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"lethe/agent/budget"
	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/work"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
	"lethe/mind"
)

// each is a list of work: each line of a file is a step of a plan, which stays. Called again, it goes on.
type each struct {
	check   string
	workers int
	usd     float64
	panel   []string // models
	yes     bool
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
	cmd.Flags().BoolVar(&e.yes, "yes", false, "do not ask whether the price is right")
	cmd.Flags().StringSliceVar(&e.panel, "panel", nil,
		"`N` workers, or one of each model A,B,C, do each line, and one more chooses the best (at most 9)")
	return cmd
}

// result is what became of a line.
type result struct {
	Line   string `json:"line"`
	State  string `json:"state"` // done, asked, failed, or waiting for one of these
	Result string `json:"result"`
}

// run prints the results when no line is left.
func (e each) run(ctx context.Context, app *cli.App, id home.Identity, file string) error {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	base = strings.Map(func(r rune) rune { // it stands in checks, too, which a shell reads
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._", r) {
			return r
		}
		return '-'
	}, base)
	name, dir := "each-"+base, app.Settings.Workspace(id.Dir)
	n, err := strconv.Atoi(strings.Join(e.panel, ","))
	if err == nil && n >= 0 && n <= 9 {
		e.panel = slices.Repeat([]string{"yes"}, n)
	} else if err == nil || len(e.panel) > 9 || slices.Contains(e.panel, "") {
		return exit.Usagef("--panel takes a number up to 9, or as many models, A,B,C: say which")
	}
	if strings.ContainsAny(e.check, "·\n") { // a plan would have a part of it
		return exit.Usagef("--check takes a command in one line, without the character ·: put it into a script")
	}
	if isMoney := e.usd >= 0 && e.usd < 1e9; !isMoney || e.workers < 1 {
		return exit.Usagef("--usd takes dollars, and --workers 1 or more")
	}
	lines, err := linesOf(file)
	if err != nil || len(lines) == 0 {
		return err
	}
	results := filepath.Join(dir, work.Dir, name)
	if _, err := os.Lstat(results + ".md"); err != nil {
		if err := e.begin(app, id, file, lines, results); err != nil {
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
		if !isOf(plans[i], lines) {
			return fmt.Errorf("go on with plan %s: it has other lines than %s: rename that file, or first: lethe work drop %[1]s", name, file)
		}
		if now := plans[i].Stands(); now != stood {
			app.Note("%s", now)
			stood = now
		}
		pass := plans[i].Pass(context.State, children.MaxAlive, time.Now())
		if len(pass.Give)+len(pass.Marks)+len(context.State.Working()) == 0 { // what is left waits for what has failed
			return show(app, id, plans[i], results)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// linesOf returns the lines of a list as a plan can have them.
func linesOf(list string) (lines []string, err error) {
	text, err := durable.ReadWhole(list, 1<<20)
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "·", "-")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// isOf reports whether a plan has these lines: another list of the same name has others, and so has one that was changed.
func isOf(plan work.Plan, lines []string) bool {
	var has []string
	for _, step := range plan.Steps {
		if number, line := lineOf(step); !strings.Contains(number, ".") {
			has = append(has, line)
		}
	}
	return slices.Equal(has, lines)
}

// lineOf returns the line that a step does. The number of one of a panel has a dot.
func lineOf(step work.Step) (number, line string) {
	line, _, _ = strings.Cut(step.Brief(), chooses)
	return step.Number(), line
}

// begin makes the plan of a list, once its price is agreed to.
func (e each) begin(app *cli.App, id home.Identity, list string, lines []string, results string) error {
	now, err := app.Look.Context(id)
	if err != nil {
		return err
	}
	name, dir := filepath.Base(results)+".md", work.Dir
	if len(e.panel) > 0 {
		dir = path.Join(dir, filepath.Base(results))
	}
	for _, child := range now.State.Children { // what becomes of them would become of these lines
		if child.Room != "" && strings.HasPrefix(child.Step, name+"/") {
			return fmt.Errorf("begin plan %s: workers of an earlier one of that name still leave: call again soon, or rename %s", name, list)
		}
	}
	if err := e.agree(app, id, &now, len(lines)); err != nil {
		return err
	}
	workspace, err := os.OpenRoot(app.Settings.Workspace(id.Dir)) // a link that the identity has made leads nowhere else
	if err != nil {
		return err
	}
	defer workspace.Close()
	if err := workspace.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf("# Goal: each line of %s\nbounds: %d steps, %g USD, %d workers\n\n", console.OneLine(list),
		len(lines)*(len(e.panel)+1), e.usd, e.workers)
	for n, line := range lines {
		number, check := fmt.Sprint(n+1), e.check
		if len(e.panel) > 0 {
			members, choice, err := e.members(number, line, dir, workspace)
			if err != nil {
				return err
			}
			text, line, check = text+members, line+choice, fmt.Sprintf(chosen, len(e.panel))
		}
		text += step(number, line, check, "yes")
	}
	if err := put(workspace, path.Join(work.Dir, name), text); err != nil {
		return err
	}
	if _, err = change(app, id, "confirm", name); err != nil { // it is too large
		_ = workspace.Remove(path.Join(work.Dir, name))
	}
	return err
}

// put writes a file of the workspace.
func put(workspace *os.Root, name, text string) error {
	dir, err := workspace.OpenRoot(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = durable.SwapIn(dir, path.Base(name), []byte(text), 0o600, func(fs.FileInfo, string) bool { return true })
	return err
}

// agree tells what lines cost, and asks. A model that people name has to have a price, which those that Lethe knows have.
func (e each) agree(app *cli.App, id home.Identity, now *report.Context, lines int) error {
	uses, known, models, about, usd := now.State.Stable.Params, app.Known(), []string{}, "about", 0.0
	isFree := uses.Endpoint == "offline" || app.RunsOffline(id)
	for _, named := range append(e.panel, "yes") {
		named = strings.TrimPrefix(named, "yes")
		if isFree && llm.ParseName(named).Preset == "" {
			continue
		}
		model := cmp.Or(named, uses.Model, app.Settings.Model.Name, app.Preset()+":")
		model = known.Settle(model, uses.Model, app.Preset())
		cost, isPriced := known.Cost(model, llm.Usage{Input: now.System + now.Tools, Output: 500}, time.Now())
		if !isPriced && named != "" && model != uses.Model {
			return exit.With(exit.NotFound, fmt.Errorf("ask model %s: nobody knows its price: lethe models lists those that are known,"+
				" [prices] of config.toml tells others", named))
		}
		models, usd = append(models, model), usd+cost*float64(lines)
		if !isPriced { // nor has the sum a price
			usd = 0
		}
	}
	if len(models) == 0 {
		return nil
	}
	if e.usd > 0 {
		about, usd = "the workers at most", e.usd
	}
	whom := fmt.Sprintf("%s for %d lines by %d workers", strings.Join(slices.Compact(models), ", "), lines, e.workers)
	requests := lines * len(models) // or more
	return app.ConfirmPrice(requests, whom, requests*(now.System+now.Tools), about, budget.Of(usd), e.yes)
}

func step(number, what, check, worker string) string {
	if check != "" {
		what += fmt.Sprintf(" · check: `%s`", check)
	}
	return fmt.Sprintf("- [ ] %s %s · worker: %s\n", number, what, worker)
}

// members are the steps of a panel for a line: the check of each keeps its answer in a file of dir. choice stands
// behind the line in the step that chooses one.
func (e each) members(n, what, dir string, workspace *os.Root) (steps, choice string, err error) {
	var files, after []string
	for m, model := range e.panel {
		number := fmt.Sprintf("%s.%d", n, m+1)
		file := path.Join(dir, number)
		if err := put(workspace, file, ""); err != nil { // BASH makes none
			return "", "", err
		}
		keep := fmt.Sprintf(`a=$(cat); [ -z "$a" ] || printf "%%s\n" "$a" >%s; (%s) <%[1]s`, file, cmp.Or(e.check, "grep -q ."))
		steps += step(number, what+" · files: "+file, keep, model)
		files, after = append(files, file), append(after, number)
	}
	const ask = "%s%s. Answer with the number of the best alone, 1 to %d) · after %s"
	return steps, fmt.Sprintf(ask, chooses, strings.Join(files, ", "), len(e.panel), strings.Join(after, ", ")), nil
}

const chooses = " (others have answered that; read "

// chosen is the check of a choice.
const chosen = "case $(cat) in [1-%d]) ;; *) echo it is not one number from 1 to %[1]d alone; false; esac"

// show prints what became of each line, and of a panel what was chosen. Steps that are not done are an error.
func show(app *cli.App, id home.Identity, plan work.Plan, results string) error {
	all, err := app.Home.List()
	if err != nil {
		return err
	}
	said := map[string]chat.Outcome{} // by what their workers were told: the newest
	times := map[string]time.Time{}
	for _, one := range all {
		child, _ := one.Child()
		if child == nil || child.Of != id.Name {
			continue
		}
		step, of := work.Gave(one.Dir, child.Brief)
		if outcome, at := lastResult(app, child.Room, one.Name); of == plan.Name && at.After(times[step]) {
			said[step], times[step] = outcome, at
		}
	}
	var left []string
	for _, step := range plan.Steps {
		number, line := lineOf(step)
		if step.Mark != "x" {
			left = append(left, number)
		}
		if strings.Contains(number, ".") {
			continue
		}
		state := []string{"waiting", "done", "asked", "failed"}[strings.Index("x?!", step.Mark)+1]
		answer := said[step.Told()].Text
		best, _, err := durable.ReadRegular(filepath.Join(results, number+"."+answer), 1<<20)
		if err == nil && len(answer) == 1 {
			answer = strings.TrimSuffix(string(best), "\n")
		}
		console.PrintLine(app.Out, result{line, state, answer})
	}
	if len(left) == 0 {
		return nil
	}
	err = fmt.Errorf("do each line: %d of %d steps of %s are not done: %s", len(left), len(plan.Steps), plan.Name,
		mind.CutRunes(strings.Join(left, ", "), 100))
	return exit.Hint(exit.With(exit.Undone, err), "%s shows them", app.Lethe("work"))
}

// lastResult is the last result that a child has given in its room.
func lastResult(app *cli.App, room, child string) (last chat.Outcome, at time.Time) {
	lines, _ := os.ReadFile(app.Home.Room(room)) // a person may have removed it
	for _, raw := range bytes.Split(lines, []byte("\n")) {
		line := chat.Parse(raw)
		if outcome, is := chat.ParseOutcome(line.Text); is && line.By(child) {
			last, at = outcome, line.At
		}
	}
	return last, at
}
