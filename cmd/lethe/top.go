package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lethe/bridge/terminal"
)

func (p *program) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch all identities: what each does, its context, dollars and questions; Enter opens one",
		Long: `Top shows all identities of the home as it changes: state, context, what was spent today
and the limit, and what each does or waits for. Enter opens one in a chat; leaving the chat
comes back. In a pipe and with --json it prints once.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !p.interactive() || p.json {
				return p.topOnce()
			}
			c := terminal.Config{Home: p.home.Dir, User: p.settings.UserName(), In: p.in, Out: p.out}
			for {
				chosen, err := terminal.Top(cmd.Context(), c, p.look)
				if err != nil || chosen == nil {
					return err
				}
				c.Self = chosen.Self
				id, err := p.home.Find(c.Self)
				if err == nil {
					err = p.bridge(cmd.Context(), terminal.Config{Room: p.roomOf(id), Self: id.Self})
				}
				if err != nil || cmd.Context().Err() != nil {
					return err
				}
			}
		},
	}
}

func (p *program) topOnce() error {
	rows, err := terminal.Rows(p.look)
	if err != nil {
		return err
	}
	return p.show(rows, func() {
		if len(rows) == 0 {
			fmt.Fprintln(p.out, p.noIdentities())
			return
		}
		_ = terminal.PrintRows(p.out, rows)
	})
}
