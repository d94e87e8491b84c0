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

	"lethe/agent"
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
stop it within two seconds. SIGHUP makes paused identities try again, and bridges
read config.toml again.

--with keeps a bridge running beside the daemon, as a process of its own.`,
		Example: `  lethe run --name ada --soul ada.md --room dev --room ops
  lethe run ada 51c0
  lethe run --offline
  lethe run --with telegram --with serve`,
		RunE:              func(cmd *cobra.Command, who []string) error { return p.daemon(cmd.Context(), who, with) },
		ValidArgsFunction: p.completeIdentities,
	}
	p.runFlags(cmd)
	p.traceFlag(cmd)
	cmd.Flags().StringArrayVar(&with, "with", nil, "`BRIDGE` to keep running beside the daemon: "+strings.Join(p.companionNames(), ", ")+"; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(p.companionNames(), cobra.ShellCompDirectiveNoFileComp))
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
	o.Ready = func(id agent.Identity) {
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
		ids = []agent.Identity{id}
	}
	for _, id := range ids {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		o.Retry[id.Self] = hup
	}
	endTrace, err := p.startTrace(ids...)
	if err != nil {
		return err
	}
	err = p.beside(ctx, bridges, func(ctx context.Context) error { return h.Run(ctx, ids) })
	return errors.Join(err, endTrace())
}

// named finds the identities of a command line, each once.
func (p *program) named(who []string) ([]agent.Identity, error) {
	if len(who) > 0 && (p.runs.name != "" || p.runs.soul != "") {
		return nil, usagef("--name and --soul are for one identity; leave them out to run %s", who[0])
	}
	var ids []agent.Identity
	for _, name := range who {
		id, err := p.find(name)
		if errors.Is(err, agent.ErrNotFound) {
			near := p.nearest(name)
			if !agent.ValidName(name) {
				name = "NAME"
			}
			return nil, hint(err, "%s%s lists them; boot a new one with: %s", near, p.lethe("agents"), p.howToRun(agent.Identity{}, " --name "+name))
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
	name, soul, preset, model, baseURL, workspace, trace string
	rooms                                                []string
	offline                                              bool
	fresh                                                bool // --new
	limit                                                int
}

// given reports whether a flag is set that only matters when an identity is run.
func (r runFlags) given() bool {
	return r.soul != "" || r.preset != "" || r.model != "" || r.baseURL != "" || r.workspace != "" || r.trace != "" || r.offline || r.limit != 0
}

func (p *program) newFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.runs.fresh, "new", false, "boot a new identity, which --name names")
}

func (p *program) traceFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.runs.trace, "trace", "", "`FILE` that the events are appended to as they happen; - is standard output")
	_ = cmd.RegisterFlagCompletionFunc("trace", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)) // any file
}

// runFlags adds the flags of commands that run identities.
func (p *program) runFlags(cmd *cobra.Command) {
	f, r := cmd.Flags(), &p.runs
	f.StringVar(&r.name, "name", "", "`NAME` of the identity to resume, or to boot")
	f.StringVar(&r.soul, "soul", "", "`FILE` with the purpose of a new identity")
	f.StringArrayVar(&r.rooms, "room", nil, "`ROOM` to hear; may be repeated (default for a new identity: dev)")
	f.StringVar(&r.model, "model", "", "`MODEL` to use (default: the identity's last one, or the provider's)")
	f.StringVar(&r.preset, "preset", "", "`PROVIDER` of the model: deepseek, openai, openrouter, ollama, … (default deepseek)")
	f.StringVar(&r.baseURL, "base-url", "", "`URL` of another OpenAI-compatible endpoint")
	f.BoolVar(&r.offline, "offline", false, "use the offline rehearsal model")
	f.IntVar(&r.limit, "context-limit", 0, "`TOKENS` of a request with its answer at most (default 100000)")
	f.StringVar(&r.workspace, "workspace", "", "`DIR` that the tools work in (default: the identity's own)")
	_ = cmd.MarkFlagDirname("workspace")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"room": p.completeRooms, "name": p.completeIdentities,
		"soul":   cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // any file
		"preset": cobra.FixedCompletions(llm.Presets(), cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails for a flag that is not there
	}
}
