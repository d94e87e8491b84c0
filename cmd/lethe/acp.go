package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lethe/bridge/acp"
	"lethe/home"
	"lethe/host"
	"lethe/llm"
)

func (p *program) acpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acp [NAME]",
		Short: "Connect an editor, by the Agent Client Protocol on standard input and output",
		Long: `Acp is what an editor starts to talk with an identity: Zed, JetBrains, Emacs, Neovim and
others that speak the Agent Client Protocol. A session of the editor is a room.

If the identity runs already, acp attaches to it. Otherwise the identity is resumed, or
booted if there is none, when the first session is opened, and works in the editor's folder, unless
--workspace or tools.workspace names another one. docs/acp.md has the settings of editors.`,
		Example: `  lethe acp
  lethe acp ada --room dev`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if len(list) == 1 {
				p.runs.name = list[0]
			}
			return p.acp(cmd.Context())
		},
	}
	p.runFlags(cmd)
	return cmd
}

func (p *program) acp(ctx context.Context) error {
	id, err := p.meant()
	if err != nil {
		return err
	}
	logs, err := p.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	log := p.logTo(logs)
	if isTerminal(p.in) {
		p.note("an editor starts this, and talks with it in JSON; docs/acp.md has the settings. To talk here: %s",
			p.lethe(""))
	}
	var h *host.Host
	open := func(ctx context.Context, cwd string) (*host.Identity, bool, error) {
		o := p.hostOptions(log)
		o.Rehearse = !p.livedOnline(id)
		own := p.mayWorkIn(cwd, o)
		if own {
			o.Workspace = cwd
		}
		_, running := home.Running(id)
		if h, err = p.newHost(o); errors.Is(err, llm.ErrNoKey) && running { // with another model, or another key
			h, err = host.Look(p.home, p.settings.Settings, o)
		}
		if err == nil {
			id, _, err = p.identity(h)
		}
		if err != nil {
			return nil, false, hint(err, "%s", p.hintOf(err))
		}
		i := h.Of(id)
		err = i.Resume(ctx)
		return i, own && i.Inside(), err
	}
	err = acp.Run(ctx, acp.Config{
		Self: id, Home: p.home, Store: p.look.Store, User: p.settings.UserName(), People: p.settings.Deciders(),
		Log: log, In: p.in, Out: p.out, Open: open,
	})
	if h != nil {
		err = errors.Join(err, h.Close())
	}
	return err
}

// mayWorkIn reports whether tools may work in the folder of the editor: the folder of all of a person's files is no
// project, and the tools must not reach the home.
func (p *program) mayWorkIn(cwd string, o host.Options) bool {
	if o.Workspace != "" || p.settings.Tools.Workspace != "" {
		return false
	}
	rel, err := filepath.Rel(cwd, p.home.Dir)
	persons, _ := os.UserHomeDir()
	return err == nil && strings.HasPrefix(rel, "..") && filepath.Clean(cwd) != persons
}
