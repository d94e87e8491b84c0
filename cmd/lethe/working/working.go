// Package working is lethe work: the plans that an identity works by.
package working

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"lethe/agent/home"
	"lethe/agent/work"
	"lethe/cmd/lethe/cli"
	"lethe/internal/screen"
)

// Plan is a plan as it is shown.
type Plan struct {
	Plan  string `json:"plan"` // the name of its file
	Goal  string `json:"goal"`
	Steps []Step `json:"steps"`
}

// Step is a step of a plan as it is shown.
type Step struct {
	State string `json:"state"` // checked, unchecked, said, open, asked, given or failed
	What  string `json:"what"`
	Check string `json:"check,omitempty"` // a command
}

var states = map[string]string{" ": "open", "?": "asked", ">": "given", "!": "failed"}

// Show prints the plans of an identity.
func Show(app *cli.App, id home.Identity) error {
	context, err := app.Look.Context(id)
	if err != nil {
		return err
	}
	read, problem := work.Read(cmp.Or(app.Settings.Tools.Workspace, filepath.Join(id.Dir, "workspace")))
	plans := []Plan{}
	for _, p := range read {
		plan := Plan{Plan: p.Name, Goal: p.Goal, Steps: []Step{}}
		for _, step := range p.Steps {
			state := states[step.Mark]
			switch {
			case step.Mark != "x":
			case !step.Checked():
				state = "said"
			case slices.Contains(context.State.Passed, step.Digest):
				state = "checked"
			default:
				state = "unchecked"
			}
			plan.Steps = append(plan.Steps, Step{state, step.What, step.Check})
		}
		plans = append(plans, plan)
	}
	if err := app.Show(plans, func(out io.Writer) { write(out, id, plans) }); err != nil {
		return err
	}
	return problem
}

func write(out io.Writer, id home.Identity, plans []Plan) {
	if len(plans) == 0 {
		fmt.Fprintf(out, "%s has no plans: files %s/NAME.md of its workspace\n", id.Name, work.Dir)
	}
	for _, plan := range plans {
		fmt.Fprintf(out, "%s: %s\n", screen.Sanitize(plan.Plan), screen.Sanitize(plan.Goal))
		for _, step := range plan.Steps {
			fmt.Fprintf(out, "  %-10s %s\n", step.State, screen.Sanitize(step.What))
		}
	}
}
