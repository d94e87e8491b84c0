package main

import (
	"context"
	"net"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/llm/rehearsal"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// rehearseOptions are the flags of lethe rehearse.
type rehearseOptions struct {
	addr string
	pace time.Duration
}

func newRehearseCommand(app *cli.App) *cobra.Command {
	var options rehearseOptions
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "Serve the offline model over HTTP, on loopback",
		Long: `Rehearse serves the API of a chat model from a small scripted program. It is not
intelligent; it follows plain phrases, and refuses what DeepSeek would refuse.`,
		Example: `  lethe rehearse --addr 127.0.0.1:8080
  LETHE_API_KEY=x lethe run --base-url http://127.0.0.1:8080/ --model rehearsal`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runRehearse(cmd.Context(), app, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.addr, "addr", "127.0.0.1:0", "loopback `ADDRESS` to listen on")
	flags.DurationVar(&options.pace, "pace", cli.RehearsalPace, "`DELAY` between the pieces of an answer")
	return cmd
}

// runRehearse serves the offline model.
func runRehearse(ctx context.Context, app *cli.App, options rehearseOptions) error {
	host, _, err := net.SplitHostPort(options.addr)
	isLoopback := host == "localhost" || net.ParseIP(host).IsLoopback()
	if err != nil || !isLoopback {
		return exit.Usagef("--addr is %q; it is a loopback address with a port, such as 127.0.0.1:8080", options.addr)
	}
	server := rehearsal.New(rehearsal.Options{Pace: options.pace})
	url, err := server.Listen(options.addr)
	if err != nil {
		return cli.AddressTaken(err, "--addr")
	}
	app.Announce(map[string]string{"serving": url}, "serving %s", url)
	return server.Serve(ctx)
}
