package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"lethe/agent/host"
)

// runFlags are the flags of all commands that run identities: which identity runs, and how.
type runFlags struct {
	host.Options
	name, soul string
	fresh      bool // --new
}

// addTo adds the flags, which set f.
func (f *runFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.BaseURL, "base-url", "", "`URL` of another OpenAI-compatible endpoint")
	flags.IntVar(&f.Limit, "context-limit", 0, "`TOKENS` of a request with its answer at most (default 100000)")
	flags.StringVar(&f.Model, "model", "", "`MODEL` to use (default: the identity's last one, or the provider's)")
	flags.StringVar(&f.name, "name", "", "`NAME` of the identity to resume, or to boot")
	flags.BoolVar(&f.fresh, "new", false, "boot a new identity, which --name names")
	flags.BoolVar(&f.Offline, "offline", false, "use the offline rehearsal model")
	flags.StringVar(&f.Preset, "preset", "",
		"`PROVIDER` of the model: deepseek, openai, openrouter, ollama, … (default deepseek)")
	flags.StringArrayVar(&f.Rooms, "room", nil, "`ROOM` to hear; may be repeated (default for a new identity: dev)")
	flags.StringVar(&f.soul, "soul", "", "`FILE` with the purpose of a new identity")
	flags.StringVar(&f.Workspace, "workspace", "", "`DIR` that the tools work in (default: the identity's own)")
}

// again returns the flags that a command in a hint has to repeat to run an identity the same way, with a space before
// each.
func (f *runFlags) again() (flags string) {
	if f.BaseURL != "" {
		flags += " --base-url " + quoted(f.BaseURL)
	}
	if f.Limit != 0 {
		flags += fmt.Sprint(" --context-limit ", f.Limit)
	}
	if f.Offline {
		flags += " --offline"
	}
	if f.Preset != "" {
		flags += " --preset " + quoted(f.Preset)
	}
	if f.Workspace != "" {
		flags += " --workspace " + quoted(f.Workspace)
	}
	return flags
}
