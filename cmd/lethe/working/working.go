// Package working is lethe work: the plans that an identity works by.
package working

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/work"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/internal/durable"
	"lethe/mind"
)

// Plan is a plan as it is shown.
type Plan struct {
	Plan  string `json:"plan"` // the name of its file
	Goal  string `json:"goal"`
	Held  bool   `json:"held,omitempty"`  // by a person, or a /stop
	Waits bool   `json:"waits,omitempty"` // for people to confirm it
	// Bounds are what people confirm.
	Bounds string  `json:"bounds,omitempty"`
	Spent  float64 `json:"spent_usd,omitempty"` // by its workers so far
	Steps  []Step  `json:"steps"`

	Give []string `json:"give,omitempty"` // steps that workers would begin now
	USD  float64  `json:"usd,omitempty"`  // that these cost at most
	Say  string   `json:"say,omitempty"`  // that the identity would hear
}

// Step is a step of a plan as it is shown.
type Step struct {
	State string `json:"state"` // checked, unchecked, said, open, asked, given or failed
	What  string `json:"what"`
	Check string `json:"check,omitempty"` // as the plan has it
}

// Changes are the commands that change a plan.
func Changes(app *cli.App) (commands []*cobra.Command) {
	for _, verb := range [][2]string{
		{"confirm", "Let a plan go on"}, {"drop", "Set a plan aside"}, {"pause", "Hold a plan until it is confirmed"},
	} {
		commands = append(commands, &cobra.Command{
			Use: verb[0] + " PLAN [NAME]", Short: verb[1], Args: cli.RangeArgs(1, 2),
			RunE: app.WithHome(func(ctx context.Context, args []string) error {
				id, err := app.FindToChange(ctx, cli.Argument(args, 1))
				if err != nil {
					return err
				}
				said, err := change(app, id, verb[0], args[0])
				if err != nil {
					return err
				}
				return app.Print(map[string]string{"done": said}, "%s\n", said)
			}),
		})
	}
	return append(commands, eachCommand(app))
}

func change(app *cli.App, id home.Identity, verb, plan string) (said string, err error) {
	context, err := app.Look.Context(id)
	if err != nil {
		return "", err
	}
	return work.Obey(app.Home.Dir, app.Settings.Workspace(id.Dir), context.State, verb, plan)
}

// Show prints the plans of an identity, and with next what would begin.
func Show(app *cli.App, id home.Identity, next bool) error {
	context, err := app.Look.Context(id)
	if err != nil {
		return err
	}
	all, err := app.Home.List()
	if err != nil {
		return err
	}
	read, problem := work.Read(app.Settings.Workspace(id.Dir))
	plans := []Plan{}
	stands := behind(id, context.State)
	for _, p := range read {
		plan := Plan{Plan: p.Name, Goal: p.Goal, Steps: []Step{}, Bounds: p.Bounds}
		plan.Waits = p.Waits(app.Home.Dir, context.State)
		plan.Held = plan.Waits && !p.Unconfirmed(app.Home.Dir, context.State)
		if next {
			p.Held = plan.Waits
			pass := p.Pass(context.State, children.MaxAlive, time.Now())
			for _, step := range pass.Give {
				plan.Give = append(plan.Give, step.What)
			}
			plan.USD, plan.Say = p.Price(len(pass.Give)), pass.Say
		}
		for _, step := range p.Steps {
			state := []string{"open", "asked", "given", "failed"}[max(0, strings.Index(" ?>!", step.Mark))]
			switch {
			case step.Mark != "x":
			case !step.Checked():
				state = "said"
			case slices.Contains(context.State.Passed, step.Digest):
				state = "checked"
			default:
				state = "unchecked"
			}
			plan.Steps = append(plan.Steps, Step{state, step.What, step.Rule})
			stands = append(stands, strings.ToLower(p.Goal+" "+step.String()))
		}
		plans = append(plans, plan)
	}
	for _, one := range all {
		child, _ := one.Child()
		if child == nil || child.Of != id.Name {
			continue
		}
		told, of := work.Gave(one.Dir, child.Brief)
		n := slices.IndexFunc(read, func(p work.Plan) bool { return p.Name == of })
		if n < 0 { // it has another name now
			n = slices.IndexFunc(read, func(p work.Plan) bool {
				return slices.ContainsFunc(p.Steps, func(s work.Step) bool { return s.Told() == told })
			})
		}
		if n >= 0 {
			plans[n].Spent += app.Look.Agent(one).CostUSD
		}
	}
	promises := work.Promises(context.State, stands)
	shown := map[string]any{"plans": plans, "promises": promises}
	if err := app.Show(shown, func(out io.Writer) { write(out, id, plans, promises) }); err != nil {
		return err
	}
	return problem
}

// behind returns what stands behind promises beside plans: the texts of triggers, jobs and questions.
func behind(id home.Identity, s *mind.State) (texts []string) {
	files, _ := filepath.Glob(filepath.Join(id.Dir, "triggers", "*.toml"))
	for _, job := range s.Jobs {
		files = append(files, filepath.Join(id.Dir, "jobs", fmt.Sprint(job.ID), "command"))
	}
	for _, file := range files {
		text, _, _ := durable.ReadRegular(file, 1<<16) // without it less stands there
		texts = append(texts, strings.ToLower(string(text)))
	}
	for _, question := range s.Questions {
		texts = append(texts, strings.ToLower(question.Text))
	}
	return texts
}

func write(out io.Writer, id home.Identity, plans []Plan, promises []string) {
	if len(plans) == 0 {
		fmt.Fprintf(out, "%s has no plans: files %s/NAME.md of its workspace\n", id.Name, work.Dir)
	}
	for _, plan := range plans {
		fmt.Fprintf(out, "%s: %s\n", console.OneLine(plan.Plan), console.OneLine(plan.Goal))
		if plan.Waits {
			name := console.Quoted(console.OneLine(strings.TrimSuffix(plan.Plan, ".md")))
			if name[0] == '-' {
				name = "-- " + name
			}
			fmt.Fprintf(out, "  waits for: lethe work confirm %s\n", name)
			fmt.Fprintf(out, "  bounds: %s\n", plan.Bounds)
		}
		if plan.Spent > 0 {
			fmt.Fprintf(out, "  workers: %.2f USD so far\n", plan.Spent)
		}
		for _, step := range plan.Steps {
			what := step.What
			if plan.Waits && step.Check != "" { // whoever says yes says it to this, too
				what += " · check: " + step.Check
			}
			fmt.Fprintf(out, "  %-10s %s\n", step.State, console.OneLine(what))
		}
		if len(plan.Give) > 0 {
			fmt.Fprintf(out, "  next, for at most %.2f USD: %s\n", plan.USD, console.OneLine(strings.Join(plan.Give, "; ")))
		}
		if plan.Say != "" {
			fmt.Fprintf(out, "  next, one turn: %s\n", console.OneLine(plan.Say))
		}
	}
	for _, promise := range promises {
		fmt.Fprintf(out, "by its words, no step, trigger, job or question stands behind: %s\n", console.OneLine(promise))
	}
}
