package main

import (
	"fmt"
	"os"
	"path/filepath"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"lethe/config"
	"lethe/doctor"
	"lethe/host"
)

func (p *program) doctorCommand() *cobra.Command {
	var silent bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps Lethe from working well here, and say how to mend it",
		Long: `Doctor looks at the configuration, the home, bridges, the machine, the key, the endpoint
and its model: a line each, and a command that mends what is wrong. It changes nothing.
With a key it asks the model for one word; what that costs at most is said before. It
fails when there is trouble. With --json it prints one object a line.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := host.Dir(p.homeDir)
			if err == nil {
				p.home.Dir, err = filepath.Abs(dir)
			}
			if err != nil {
				return hint(err, "name it with --home")
			}
			troubles := 0
			tell := func(f doctor.Finding) { troubles += p.printFinding(f) }
			p.examine(tell)
			doctor.Exam{Home: p.home, Settings: p.settings.Settings, Request: !silent, Tell: tell}.Run(cmd.Context())
			if troubles > 0 {
				err = fmt.Errorf("doctor: %d found in trouble", troubles)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&silent, "no-request", false, "send nothing to the model's endpoint")
	return cmd
}

// examine reads the settings, and tells of them and of the bridges' tokens and lists.
func (p *program) examine(tell func(doctor.Finding)) {
	found := func(state, what, remedy string, err error) {
		if err != nil {
			tell(doctor.Finding{State: state, What: what, Text: plain(err), Remedy: remedy})
		}
	}
	var err error
	p.settings, err = readSettings(p.home.Dir)
	found(doctor.Trouble, "configuration", "${EDITOR:-vi} "+config.File(p.home.Dir), err)
	for _, t := range transports() {
		if _, err := os.Stat(p.bridgeDir(t)); err != nil {
			continue
		}
		_, err := p.token(t)
		found(doctor.Warning, "bridges", "export "+t.variable+"=…", err)
		if policy, err := p.policy(t); err == nil {
			list, err := policy.List()
			if err == nil && len(list.Users)+len(list.Chats) == 0 {
				err = fmt.Errorf("nobody may write over %s: allow the code that it gives", t.service)
			}
			found(doctor.Warning, "bridges", p.lethe("bridge %s who", t.name), err)
		}
	}
}

// printFinding prints a line, and returns how much trouble it is.
func (p *program) printFinding(f doctor.Finding) (troubles int) {
	if f.State == doctor.Trouble {
		troubles = 1
	}
	if f.Text = oneLine(f.Text); p.json {
		printLine(p.out, f)
		return troubles
	}
	style := map[string]lipgloss.Style{doctor.OK: lipgloss.NewStyle().Faint(true), doctor.Trouble: lipgloss.NewStyle().Foreground(lipgloss.Red)}[f.State]
	_, _ = lipgloss.Fprintln(p.out, style.Render(fmt.Sprintf("%-7s  %-13s  %s", f.State, f.What, f.Text)))
	if f.Remedy != "" {
		fmt.Fprintf(p.out, "%24s $ %s\n", "", f.Remedy)
	}
	return troubles
}
