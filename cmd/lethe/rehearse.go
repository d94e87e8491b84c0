package main

import (
	"context"
	"net"
	"time"

	"github.com/spf13/cobra"

	"lethe/llm/rehearsal"
)

func (p *program) rehearseCommand() *cobra.Command {
	var addr, script string
	var pace time.Duration
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "Serve the offline model over HTTP, on loopback",
		Long: `Rehearse serves the API of a chat model from a small scripted program. It is not
intelligent; it follows plain phrases, refuses what DeepSeek would refuse, and
can be scripted and made to fail: docs/rehearse.md describes the script.`,
		Example: `  lethe rehearse --addr 127.0.0.1:8080
  LETHE_API_KEY=x lethe run --base-url http://127.0.0.1:8080/ --model rehearsal`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.rehearse(cmd.Context(), addr, script, pace)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "loopback `ADDRESS` to listen on")
	option(cmd, &script, "script", "`FILE` with steps to follow instead of answering")
	_ = cmd.MarkFlagFilename("script", "json")
	cmd.Flags().DurationVar(&pace, "pace", 8*time.Millisecond, "`DELAY` between the pieces of an answer")
	return cmd
}

func (p *program) rehearse(ctx context.Context, addr, script string, pace time.Duration) error {
	if host, _, err := net.SplitHostPort(addr); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return usagef("--addr is %q; it is a loopback address with a port, such as 127.0.0.1:8080", addr)
	}
	var steps []rehearsal.Step
	if script != "" {
		var err error
		if steps, err = rehearsal.LoadScript(script); err != nil {
			return usageError(err)
		}
	}
	server := rehearsal.New(rehearsal.Options{Pace: pace, Script: steps})
	url, err := server.Listen(addr)
	if err != nil {
		return err
	}
	p.announce(map[string]string{"serving": url}, "serving %s", url)
	return server.Serve(ctx)
}
