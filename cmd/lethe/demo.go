package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
)

func (p *program) demoCommand() *cobra.Command {
	var fast, keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A tour of two minutes, offline: an identity forgets, is reminded, is killed, goes on",
		Long: `Demo boots a throwaway identity with a small context in a temporary home, talks
to it until things fade, mentions one of them so that it is reminded and looks it
up, kills the daemon with kill -9, resumes it by its hash and asks again. It
needs no key, no network and no typing. The daemon is the real one in a process of its own; what is shown is
read from its files, and if a step does not happen, demo says so and fails.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			t := &tour{exe: exe, limit: demoLimit, patience: demoPatience, keep: keep, story: demoLines(), teller: newTeller(p.out, fast)}
			return t.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&fast, "fast", false, "no pauses for reading")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the home at the end, and say where it is")
	return cmd
}

const (
	demoName  = "iris"
	demoRoom  = "dev"
	demoLimit = 20_000 // tokens; the fixed parts and 8000 for living need about 13,000

	// demoPatience is how long each thing may take to happen. All of the tour
	// takes seconds, so this is for machines that are busy with something else.
	demoPatience = 45 * time.Second
)

// demoConfig is the throwaway home's config.toml. Everything eligible fades, so
// that one compaction shows the whole effect; BASH is off, so that the tour is
// the same where the kernel has no sandbox.
func demoConfig(limit int) string {
	return fmt.Sprintf(`user = "you"
[context]
limit = %d
[model]
max_tokens = 1024
[fade]
target = 0.0
[tools]
bash = "off"
`, limit)
}

// tour is one run of the demo.
type tour struct {
	*teller
	exe      string // the program whose daemon is shown: this one
	limit    int    // tokens of the context
	patience time.Duration
	keep     bool
	story    []string // what the user says until something fades
	config   string   // what config.toml has beside demoConfig

	dir    string // holds the home and what the daemons say
	home   agent.Home
	store  *blobs.Store
	id     agent.Identity
	daemon *daemon

	said          int // lines by the user
	before, after int // tokens of the context around the compaction
}

// scene is one step of the tour. Its name stands in the error when it does not
// happen.
type scene struct {
	title string
	play  func(context.Context) error
}

func (t *tour) scenes() []scene {
	return []scene{
		{"A life begins", t.begin},
		{"Talk", t.talk},
		{"Forgetting", t.forget},
		{"Remembering that it forgot", t.remember},
		{"kill -9", t.kill},
		{"What you saw", t.sum},
	}
}

// run shows all scenes. Whatever happens, the daemon is gone when it returns, and
// so is the home unless it is to be kept.
func (t *tour) run(ctx context.Context) (err error) {
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer cancel()
	// A reader that went away (lethe demo | head) must not end this process before
	// it has ended the daemon: with somebody to tell, SIGPIPE is an error of Write.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	if t.dir, err = os.MkdirTemp("", "lethe-demo-"); err != nil {
		return fmt.Errorf("make a home for the demo: %w", err)
	}
	defer func() { err = t.clear(err) }()
	t.opening(ctx)
	for i, s := range t.scenes() {
		t.scene(i+1, s.title)
		if err := s.play(ctx); err != nil {
			return t.failure(ctx, s.title, err)
		}
		if t.err != nil {
			return fmt.Errorf("tell the demo: %w", t.err)
		}
	}
	return nil
}

// failure is what a scene that did not happen comes to.
func (t *tour) failure(ctx context.Context, title string, err error) error {
	t.wipe()
	if ctx.Err() != nil {
		return fmt.Errorf("demo: interrupted at %q: %w", title, context.Canceled)
	}
	err = fmt.Errorf("demo: %q did not happen: %w", title, err)
	if t.keep {
		return err
	}
	return hint(err, "lethe demo --keep leaves its home, with daemon.log, to look at")
}

// clear ends the daemon and takes the home away.
func (t *tour) clear(err error) error {
	if t.daemon != nil {
		t.daemon.kill()
	}
	if t.keep {
		t.text("The home stays. To look around in it:")
		t.command("lethe life " + demoName + " --home " + filepath.Join(t.dir, "home"))
		return err
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

// furnish makes the throwaway home.
func (t *tour) furnish() error {
	var err error
	if t.home, err = agent.OpenHome(filepath.Join(t.dir, "home")); err != nil {
		return err
	}
	if t.store, err = blobs.Open(t.home.Blobs()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.home.Dir, "config.toml"), []byte(demoConfig(t.limit)+t.config), 0o600)
}
