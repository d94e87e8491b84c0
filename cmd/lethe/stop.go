package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
)

func (p *program) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop NAME",
		Short: "Ask a running identity to stop, and wait until it has",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, err := p.find(list[0])
			if err != nil {
				return err
			}
			pid, running := agent.Running(id)
			if !running {
				return hint(fmt.Errorf("stop %s: it is not running", id.Name), "start it with: lethe run %s", id.Name)
			}
			if err := agent.Stop(id); err != nil {
				return err
			}
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				if _, running := agent.Running(id); !running {
					fmt.Fprintf(p.out, "stopped %s %s\n", id.Self, id.Name)
					return nil
				}
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
			}
			return hint(fmt.Errorf("stop %s: it still runs in process %s", id.Name, pid), "it has been asked; kill %s ends it at once, and loses nothing", pid)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
}
