package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/llm"
)

func (p *program) runCommand() *cobra.Command {
	var with []string
	cmd := &cobra.Command{
		Use:   "run [NAME|HASH]...",
		Short: "The daemon: resume these identities, or the default one, or boot a new one",
		Long: `Run is the daemon. It resumes the identities that are named, by name, hash or the
beginning of a hash. With --name it resumes the one of that name, or boots it.
Without either it resumes the default identity, or boots one.

It prints "ready <hash> <name>" once an identity hears its rooms. SIGINT or
SIGTERM stop it within two seconds; SIGHUP makes paused identities try again.

With --with it keeps a bridge running beside itself, as a process of its own.`,
		Example: `  lethe run --name ada --soul ada.md --room dev --room ops
  lethe run ada 51c0
  lethe run --offline
  lethe run --with telegram`,
		RunE:              func(cmd *cobra.Command, who []string) error { return p.daemon(cmd.Context(), who, with) },
		ValidArgsFunction: p.completeIdentities,
	}
	p.runFlags(cmd)
	cmd.Flags().StringArrayVar(&with, "with", nil, "`BRIDGE` to keep running beside the daemon: telegram; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("with", cobra.FixedCompletions(companions, cobra.ShellCompDirectiveNoFileComp))
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
	w, err := p.newWorld(p.logTo(p.err), false)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		id, _, err := w.birth()
		if err != nil {
			return err
		}
		ids = []agent.Identity{id}
	}
	w.ready = perIdentity(func(id agent.Identity) { p.event("ready", id) })
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	w.mended = hup
	return p.beside(ctx, bridges, func(ctx context.Context) error { return w.run(ctx, ids) })
}

// named finds the identities of a command line, each once.
func (p *program) named(who []string) ([]agent.Identity, error) {
	if len(who) > 0 && (p.runs.name != "" || p.runs.soul != "") {
		return nil, usagef("--name and --soul are for one identity; leave them out to run %s", who[0])
	}
	var ids []agent.Identity
	seen := map[string]bool{}
	for _, name := range who {
		id, err := p.find(name)
		if errors.Is(err, agent.ErrNotFound) {
			return nil, hint(err, "%s lists them; boot a new one with: %s", p.lethe("agents"), p.howToRun(agent.Identity{}, " --name "+quoted(name)))
		}
		if err != nil {
			return nil, err
		}
		if !seen[id.Self] {
			seen[id.Self] = true
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
	limit                                         int
}

// given reports whether a flag is set that only matters when an identity is run.
func (r runFlags) given() bool {
	return r.soul != "" || r.preset != "" || r.model != "" || r.baseURL != "" || r.workspace != "" || r.offline || r.limit != 0
}

// runFlags adds the flags of commands that run identities.
func (p *program) runFlags(cmd *cobra.Command) {
	f, r := cmd.Flags(), &p.runs
	f.StringVar(&r.name, "name", "", "`NAME` of the identity to resume or boot")
	f.StringVar(&r.soul, "soul", "", "`FILE` with the purpose of an identity to boot")
	f.StringArrayVar(&r.rooms, "room", nil, "`ROOM` to hear, may be repeated (a new identity hears dev)")
	f.StringVar(&r.model, "model", "", "`MODEL` to think with (default: the life's own, or the provider's)")
	f.StringVar(&r.preset, "preset", "", "`PROVIDER` of the model: deepseek, openai, openrouter, ollama, … (default deepseek)")
	f.StringVar(&r.baseURL, "base-url", "", "`URL` of another OpenAI-compatible endpoint")
	f.BoolVar(&r.offline, "offline", false, "think with the offline rehearsal model")
	f.IntVar(&r.limit, "context-limit", 0, "`TOKENS` of a whole request with its answer (default 100000)")
	f.StringVar(&r.workspace, "workspace", "", "`DIR` the tools work in (default: one of the identity's own)")
	_ = cmd.MarkFlagDirname("workspace")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"room": p.completeRooms, "name": p.completeIdentities,
		"soul":   cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // any file
		"preset": cobra.FixedCompletions(llm.Presets(), cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails for a flag that is not there
	}
}
