package main

import (
	"github.com/spf13/cobra"

	"lethe/bridge/stdin"
)

func (p *program) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch all identities: what each does, its context, dollars and questions; Enter opens one",
		Long: `Top shows all identities of the home as it changes: state, context, what was spent today
and the limit, and what each does or waits for. Enter opens one in a chat; leaving the chat
comes back. In a pipe and with --json it prints once.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := p.reports()
			if err != nil {
				return err
			}
			if !p.interactive() || p.json {
				rows, err := stdin.Rows(home)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(rows)
				}
				if len(rows) == 0 {
					return p.noIdentities()
				}
				return stdin.PrintRows(p.out, rows)
			}
			for last := ""; ; {
				chosen, err := stdin.Top(cmd.Context(), stdin.Config{Home: p.home.Dir, User: p.settings.UserName(), Self: last, In: p.in, Out: p.out}, home)
				if err != nil || chosen == nil {
					return err
				}
				last = chosen.Self
				id, err := p.home.Find(last)
				if err != nil {
					return err
				}
				if err := p.bridge(cmd.Context(), stdin.Config{Room: p.roomOf(id), Self: id.Self}); err != nil || cmd.Context().Err() != nil {
					return err
				}
			}
		},
	}
}
