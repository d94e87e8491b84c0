package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"lethe/agent/host"
	"lethe/cmd/lethe/console"
)

// RunFlags are the flags of all commands that run identities: which identity runs, and how.
type RunFlags struct {
	host.Options
	Name string
	Soul string // a file
	New  bool
}

// AddTo adds the flags, which set f.
func (f *RunFlags) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.BaseURL, "base-url", "", "`URL` of another OpenAI-compatible endpoint")
	flags.IntVar(&f.Limit, "context-limit", 0, "`TOKENS` of a request with its answer at most (default 100000)")
	flags.StringVar(&f.Model, "model", "", "`MODEL` to use (default: the identity's last one, or the provider's)")
	flags.StringVar(&f.Name, "name", "", "`NAME` of the identity to resume, or to boot")
	flags.BoolVar(&f.New, "new", false, "boot a new identity, which --name names")
	flags.BoolVar(&f.Offline, "offline", false, "use the offline rehearsal model")
	flags.StringVar(&f.Preset, "preset", "",
		"`PROVIDER` of the model: deepseek, openai, openrouter, ollama, … (default deepseek)")
	flags.StringArrayVar(&f.Rooms, "room", nil, "`ROOM` to hear; may be repeated (default for a new identity: dev)")
	flags.StringVar(&f.Soul, "soul", "", "`FILE` with the purpose of a new identity")
	flags.StringVar(&f.Workspace, "workspace", "", "`DIR` that the tools work in (default: the identity's own)")
}

// Again returns the flags that a command in a hint has to repeat to run an identity the same way, with a space before
// each.
func (f *RunFlags) Again() (flags string) {
	if f.BaseURL != "" {
		flags += " --base-url " + console.Quoted(f.BaseURL)
	}
	if f.Limit != 0 {
		flags += fmt.Sprint(" --context-limit ", f.Limit)
	}
	if f.Offline {
		flags += " --offline"
	}
	if f.Preset != "" {
		flags += " --preset " + console.Quoted(f.Preset)
	}
	if f.Workspace != "" {
		flags += " --workspace " + console.Quoted(f.Workspace)
	}
	return flags
}
