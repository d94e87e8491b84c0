package main

import (
	"context"

	"github.com/spf13/cobra"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/setup"
)

// initOptions are the flags of lethe init.
type initOptions struct {
	yes bool
}

func newInitCommand(app *cli.App) *cobra.Command {
	var options initOptions
	cmd := &cobra.Command{
		Use:        "init",
		SuggestFor: []string{"setup", "config", "configure", "login", "auth", "key"},
		Short:      "Set up a home by five questions: model and key, name, Telegram, budget, service",
		Long: `Init asks on a terminal for a model and its key, the name of the identity that you talk
to, the token of a Telegram bot, a budget, and whether systemd shall keep it running.
Enter leaves each as it is. Keys go into keys.env in the home, with mode 0600, settings
into config.toml, whose comments stay, as soon as they are answered.

With --yes nobody is asked, and what it would propose is taken: the provider whose key is
in the environment, no Telegram, no budget, no service.`,
		Example: `  lethe init
  OPENAI_API_KEY=sk-… lethe init --yes`,
		RunE: app.MakingHome(func(context.Context, []string) error {
			return setup.Run(app, options.yes)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.yes, "yes", false, "do not ask")
	return cmd
}
