package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/bridge/report"
)

// restoreOptions are the flags of lethe restore.
type restoreOptions struct {
	at    string
	key   string
	plain bool
}

func newRestoreCommand(app *app) *cobra.Command {
	var options restoreOptions
	cmd := &cobra.Command{
		Use:   "restore URL",
		Short: "Make a home of what is stored of one in a directory, a bucket or JetStream",
		Long: `Restore asks for the key that was in share.key of the home. Identities of a host that has
been silent for half a minute go on here, when they are run; those of a host that is there
stay with it.

With --at the home is as it was at that time, and shares nothing: its hosts go on with theirs.`,
		Example: `  lethe --home ~/new restore s3://s3.eu-central-1.amazonaws.com/bucket/home?region=eu-central-1
  lethe --home ~/then restore file:///mnt/nas/lethe --at 2026-11-20T12:57 --key share.key`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRestore(cmd.Context(), app, options, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.at, "at", "", "as it was at this `TIME`")
	flags.StringVar(&options.key, "key", "", "a `FILE` with the key; otherwise it is asked for")
	flags.BoolVar(&options.plain, "plain", false, "it was stored with share.plain = true")
	return cmd
}

// runRestore makes a home from a store.
func runRestore(ctx context.Context, app *app, options restoreOptions, args []string) error {
	dir, err := app.dir()
	if err != nil {
		return err
	}
	left, err := os.ReadDir(dir)
	isMissing := errors.Is(err, fs.ErrNotExist)
	isEmpty := err == nil && len(left) == 0
	if !isMissing && !isEmpty {
		return hint(usagef("restore: %s is there already", dir), "name a new directory with --home")
	}
	at, err := parseRestoreTime(options.at)
	if err != nil {
		return err
	}
	here, err := restoreInto(ctx, app, dir, hosts.Config{URL: args[0], Plain: options.plain}, options.key, at)
	if err != nil && here == 0 {
		return errors.Join(err, os.RemoveAll(dir)) // it is no home
	}
	return err
}

// parseRestoreTime reads a time; "" is the zero one.
func parseRestoreTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	moment, err := report.ParseMoment(text, time.Now())
	if err == nil && moment.At.IsZero() {
		err = usagef("restore --at: %q is no time; write 2026-11-20 or 2026-11-20T12:57", text)
	}
	return moment.At, err
}

// restoreInto makes a home in dir, as it was at a time, if that is not zero. It returns the number of identities that go
// on here, also with an error. keyFile has the key of the store; for "" a person types it.
func restoreInto(
	ctx context.Context, app *app, dir string, conf hosts.Config, keyFile string, at time.Time,
) (here int, err error) {
	if !conf.Plain {
		key, err := readStoreKey(app, keyFile)
		if err != nil {
			return 0, err
		}
		if err := hosts.PutKey(dir, key); err != nil {
			return 0, err
		}
	}
	made, err := home.Open(dir)
	if err != nil {
		return 0, err
	}
	store, err := blobs.Open(made.Blobs())
	if err != nil {
		return 0, err
	}
	shared := hosts.New(&made, conf, store, app.logTo(app.err))
	defer shared.Close()
	tell := func(restored hosts.Restored) {
		if restored.Here {
			here++
			app.event("restored", made.Identity(restored.Self, restored.Name))
		} else {
			app.warn("%s: %s", restored.Name, restored.Why)
		}
	}
	if at.IsZero() {
		err = restoreShared(ctx, made, shared, conf, tell)
		return here, err
	}
	if err := shared.RestoreAt(ctx, store, at, tell); err != nil {
		return here, err
	}
	app.note("this home is as it was at %s, and shares nothing: its hosts go on with theirs", app.at(at))
	return here, os.RemoveAll(filepath.Join(made.Dir, "share"))
}

// restoreShared restores a home that goes on sharing.
func restoreShared(
	ctx context.Context, made home.Home, shared *hosts.Cluster, conf hosts.Config, tell func(hosts.Restored),
) error {
	settings := map[string]any{"share.url": conf.URL}
	if conf.Plain {
		settings["share.plain"] = true
	}
	if err := config.Set(made.Dir, settings); err != nil {
		return err
	}
	return shared.Restore(ctx, tell)
}

// readStoreKey reads the key that opens a store: from a file, or as a person types it.
func readStoreKey(app *app, file string) (string, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		return string(text), err
	}
	return app.readTyped(app.err, "The key of the home, as it stands in its share.key (not shown): ", true)
}
