package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/cmd/lethe/doctor"
	"lethe/mind"
)

// doctorOptions are the flags of lethe doctor.
type doctorOptions struct {
	noRequest bool
	harness   bool
}

func newDoctorCommand(app *app) *cobra.Command {
	var options doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps Lethe from working well here, and say how to mend it",
		Long: `Doctor looks at the configuration, the home, bridges, the machine, the key, the endpoint
and its model: a line each, and a command that mends what is wrong. It changes nothing.
With a key it asks the model for one word; what that costs at most is said before. It
fails when there is trouble. With --json it prints one object a line.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), app, options)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.noRequest, "no-request", false, "send nothing to the model's endpoint")
	flags.BoolVar(&options.harness, "harness", false,
		"print the rules by which identities live, to be changed in prompts/harness.md")
	return cmd
}

func runDoctor(ctx context.Context, app *app, options doctorOptions) (err error) {
	if app.home.Dir, err = app.dir(); err != nil {
		return err
	}
	if options.harness {
		_, err := fmt.Fprintf(app.out, "%s%s -->\n%s", mind.VersionMark, mind.RulesVersion(), mind.Rules())
		return err
	}
	troubles := 0
	tell := func(finding doctor.Finding) {
		if finding.State == doctor.Trouble {
			troubles++
		}
		finding.Text = oneLine(finding.Text)
		showFinding(app, finding)
	}
	app.examine(func(state, what, remedy string, err error) {
		if err != nil {
			tell(doctor.Finding{State: state, What: what, Text: plain(err), Remedy: remedy})
		}
	})
	exam := doctor.Exam{Home: app.home, Settings: app.settings.Settings, Request: !options.noRequest, Tell: tell}
	exam.Run(ctx)
	if troubles > 0 {
		return fmt.Errorf("doctor: %d found in trouble", troubles)
	}
	return nil
}

// showFinding prints a finding as soon as it is there.
func showFinding(app *app, finding doctor.Finding) {
	if app.json {
		_ = printLine(app.out, finding) // the exam goes on
		return
	}
	fmt.Fprintf(app.out, "%-7s  %-13s  %s\n", finding.State, finding.What, finding.Text)
	if finding.Remedy != "" {
		fmt.Fprintf(app.out, "%24s $ %s\n", "", finding.Remedy)
	}
}

// examine reads the settings, and tells of them and of the bridges' tokens and lists.
func (app *app) examine(found func(state, what, remedy string, err error)) {
	err := config.Read(app.home.Dir, &app.settings)
	found(doctor.Trouble, "configuration", "${EDITOR:-vi} "+config.File(app.home.Dir), err)
	if _, err := os.Stat(app.bridgeDir()); err != nil {
		return
	}
	_, err = app.token()
	found(doctor.Warning, "bridges", "export "+botToken+"=…", err)
	rules, err := app.policy().Rules()
	who := app.lethe("bridge telegram who")
	found(doctor.Trouble, "bridges", who, err)
	if err == nil && len(rules.Users)+len(rules.Chats) == 0 {
		found(doctor.Warning, "bridges", who, errors.New("nobody may write over Telegram: allow the id that it tells"))
	}
}
