package main

import (
	"context"

	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/serving"

	"github.com/spf13/cobra"
)

func newServeCommand(app *cli.App) *cobra.Command {
	var options serving.Options
	cmd := &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"web", "page", "ui", "browser"},
		Short:      "Serve the page and the APIs over HTTP, for this machine",
		Long: `Serve lets browsers and programs in over HTTP: the page at /, JSON at /api, an
OpenAI-compatible API at /v1, metrics at /metrics, webhooks at /hooks. It shows what
the commands show, and what a client says is a line of a room. Identities run
beside it: lethe run --with serve is both.

Whoever wants in needs the token in bridges/serve/token of the home. A browser gets in
by the link that --open prints; also beside a server that runs already. What
people start on the page runs in a process of its own, which outlives the server. docs/serve.md
has the rest. It prints "ready serve URL" once it listens.`,
		Example: `  lethe serve --open
  curl -H "Authorization: Bearer $(cat ~/.lethe/bridges/serve/token)" http://127.0.0.1:8420/api/agents`,
		RunE: app.MakingHome(func(ctx context.Context, _ []string) error {
			return serving.Run(ctx, app, options)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Address, "addr", "", "`HOST:PORT` to listen on (default 127.0.0.1:8420)")
	flags.BoolVar(&options.AllowUnencrypted, "allow-unencrypted", false,
		"listen beyond this machine without TLS: others on the way can read the token and all that is said, and use it")
	flags.BoolVar(&options.Open, "open", false,
		"open the page in a browser, and print the link that logs it in, once, within a minute")
	return cmd
}
