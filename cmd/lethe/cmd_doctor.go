package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/doctor"
	"lethe/mind"
)

// doctorOptions are the flags of lethe doctor.
type doctorOptions struct {
	noRequest bool
	harness   bool
}

func newDoctorCommand(app *cli.App) *cobra.Command {
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

func runDoctor(ctx context.Context, app *cli.App, options doctorOptions) (err error) {
	if app.Home.Dir, err = app.Dir(); err != nil {
		return err
	}
	if options.harness {
		_, err := fmt.Fprintf(app.Out, "%s%s -->\n%s", mind.VersionMark, mind.RulesVersion(), mind.Rules())
		return err
	}
	troubles := 0
	tell := func(finding doctor.Finding) {
		if finding.State == doctor.Trouble {
			troubles++
		}
		finding.Text = console.OneLine(finding.Text)
		showFinding(app, finding)
	}
	examine(app, func(state, what, remedy string, err error) {
		if err != nil {
			tell(doctor.Finding{State: state, What: what, Text: cli.Plain(err), Remedy: remedy})
		}
	})
	exam := doctor.Exam{Home: app.Home, Settings: app.Settings.Settings, Request: !options.noRequest, Tell: tell}
	exam.Run(ctx)
	if troubles > 0 {
		return fmt.Errorf("doctor: %d found in trouble", troubles)
	}
	return nil
}

// showFinding prints a finding as soon as it is there.
func showFinding(app *cli.App, finding doctor.Finding) {
	if app.JSON {
		_ = console.PrintLine(app.Out, finding) // the exam goes on
		return
	}
	fmt.Fprintf(app.Out, "%-7s  %-13s  %s\n", finding.State, finding.What, finding.Text)
	if finding.Remedy != "" {
		fmt.Fprintf(app.Out, "%24s $ %s\n", "", finding.Remedy)
	}
}

// examine reads the settings, and calls found with each fault of theirs, of the bridges' tokens and of their lists. An
// err of nil is no fault.
func examine(app *cli.App, found func(state, what, remedy string, err error)) {
	err := config.Read(app.Home.Dir, &app.Settings)
	found(doctor.Trouble, "configuration", "${EDITOR:-vi} "+config.File(app.Home.Dir), err)
	if _, err := os.Stat(bot.Dir(app.Home.Dir)); err != nil {
		return
	}
	_, err = app.BotToken()
	found(doctor.Warning, "bridges", "export "+bot.Variable+"=…", err)
	rules, err := app.Policy().Rules()
	who := app.Lethe("bridge telegram who")
	found(doctor.Trouble, "bridges", who, err)
	if err == nil && len(rules.Users)+len(rules.Chats) == 0 {
		found(doctor.Warning, "bridges", who, errors.New("nobody may write over Telegram: allow the id that it tells"))
	}
}
