package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"lethe/home"
	"lethe/llm"
)

func (p *program) runCommand() *cobra.Command {
	var with []string
	cmd := &cobra.Command{
		Use:   "run [NAME|HASH]...",
		Short: "Run identities as a daemon: these, the default one, or a new one",
		Long: `Run is the daemon. It resumes the identities that are given by name, hash or the
beginning of a hash. With --name, run resumes the identity of that name, or boots it.
Without either, run resumes the default identity, or boots it.

Run prints "ready <hash> <name>" once an identity hears its rooms. SIGINT or SIGTERM
stop it within two seconds. SIGHUP makes paused identities try again.

--with keeps a bridge running beside the daemon, as a process of its own.`,
		Example: `  lethe run --name ada --soul ada.md --room dev --room ops
  lethe run ada 51c0
  lethe run --offline
  lethe run --with telegram --with serve`,
		RunE:              func(cmd *cobra.Command, who []string) error { return p.daemon(cmd.Context(), who, with) },
		ValidArgsFunction: p.offers(p.identities),
	}
	p.runFlags(cmd)
	option(cmd, &with, "with", "`BRIDGE` to keep running beside the daemon: "+
		strings.Join(p.companionNames(), ", ")+"; may be repeated", oneOf(p.companionNames()))
	return cmd
}

// daemon runs identities, and bridges beside them, until it is told to stop.
func (p *program) daemon(ctx context.Context, who, with []string) error {
	p.unhurried()
	ids, err := p.named(who)
	if err != nil {
		return err
	}
	bridges, err := p.children(with)
	if err != nil {
		return err
	}
	var ready sync.Map // an identity can be opened again
	o := p.hostOptions(p.logTo(p.err))
	o.Ready = func(id home.Identity) {
		child, _ := id.Child() // the parent has asked for it, and waits for no such line
		if _, again := ready.LoadOrStore(id.Self, true); !again && child == nil {
			p.event("ready", id)
		}
	}
	h, err := p.newHost(o)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		id, _, err := p.identity(h)
		if err != nil {
			return err
		}
		ids = []home.Identity{id}
	}
	for _, id := range ids {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		o.Retry[id.Self] = hup
	}
	return p.beside(ctx, bridges, func(ctx context.Context) error { return h.Run(ctx, ids) })
}

// named finds the identities of a command line, each once.
func (p *program) named(who []string) ([]home.Identity, error) {
	if len(who) > 0 && (p.runs.name != "" || p.runs.soul != "") {
		return nil, usagef("--name and --soul are for one identity; leave them out to run %s", who[0])
	}
	var ids []home.Identity
	for _, name := range who {
		id, err := p.find(name)
		if errors.Is(err, home.ErrNotFound) {
			if !home.ValidName(name) {
				name = "NAME"
			}
			err = hint(err, "%s; boot a new one with: %s", p.hintOf(err), p.howToRun(home.Identity{}, " --name "+name))
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// runFlags say how identities run.
type runFlags struct {
	name, soul, preset, model, baseURL, workspace string
	rooms                                         []string
	offline                                       bool
	fresh                                         bool // --new
	limit                                         int
}

func (p *program) newFlag(cmd *cobra.Command) {
	option(cmd, &p.runs.fresh, "new", "boot a new identity, which --name names")
}

// runFlags adds the flags of commands that run identities.
func (p *program) runFlags(cmd *cobra.Command) {
	f, r := cmd.Flags(), &p.runs
	option(cmd, &r.name, "name", "`NAME` of the identity to resume, or to boot", p.offers(p.identities))
	option(cmd, &r.soul, "soul", "`FILE` with the purpose of a new identity",
		cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	option(cmd, &r.rooms, "room", "`ROOM` to hear; may be repeated (default for a new identity: dev)",
		p.offers(p.rooms))
	option(cmd, &r.model, "model", "`MODEL` to use (default: the identity's last one, or the provider's)")
	option(cmd, &r.preset, "preset",
		"`PROVIDER` of the model: deepseek, openai, openrouter, ollama, … (default deepseek)",
		oneOf(llm.Presets()))
	option(cmd, &r.baseURL, "base-url", "`URL` of another OpenAI-compatible endpoint")
	option(cmd, &r.offline, "offline", "use the offline rehearsal model")
	f.IntVar(&r.limit, "context-limit", 0, "`TOKENS` of a request with its answer at most (default 100000)")
	option(cmd, &r.workspace, "workspace", "`DIR` that the tools work in (default: the identity's own)")
	_ = cmd.MarkFlagDirname("workspace")
}
