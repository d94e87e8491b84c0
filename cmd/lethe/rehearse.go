package main

import (
	"context"
	"net"
	"time"

	"github.com/spf13/cobra"

	"lethe/llm/rehearsal"
)

func (p *program) rehearseCommand() *cobra.Command {
	var addr string
	var pace time.Duration
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "Serve the offline model over HTTP, on loopback",
		Long: `Rehearse serves the API of a chat model from a small scripted program. It is not
intelligent; it follows plain phrases, and refuses what DeepSeek would refuse.`,
		Example: `  lethe rehearse --addr 127.0.0.1:8080
  LETHE_API_KEY=x lethe run --base-url http://127.0.0.1:8080/ --model rehearsal`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.rehearse(cmd.Context(), addr, pace)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "loopback `ADDRESS` to listen on")
	cmd.Flags().DurationVar(&pace, "pace", 8*time.Millisecond, "`DELAY` between the pieces of an answer")
	return cmd
}

func (p *program) rehearse(ctx context.Context, addr string, pace time.Duration) error {
	if host, _, err := net.SplitHostPort(addr); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return usagef("--addr is %q; it is a loopback address with a port, such as 127.0.0.1:8080", addr)
	}
	server := rehearsal.New(rehearsal.Options{Pace: pace})
	url, err := server.Listen(addr)
	if err != nil {
		return err
	}
	p.announce(map[string]string{"serving": url}, "serving %s", url)
	return server.Serve(ctx)
}
