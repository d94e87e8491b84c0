// Package restore is lethe restore: it makes a home from a store.
package restore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// Options are the flags of lethe restore.
type Options struct {
	At      string // a moment; "": now
	KeyFile string // "": a person types the key
	Plain   bool   // the store is not encrypted
}

// Run makes a home, in the directory of --home, from the store at url. The directory is missing or empty before.
func Run(ctx context.Context, app *cli.App, url string, options Options) error {
	dir, err := app.Dir()
	if err != nil {
		return err
	}
	left, err := os.ReadDir(dir)
	isMissing := errors.Is(err, fs.ErrNotExist)
	isEmpty := err == nil && len(left) == 0
	if !isMissing && !isEmpty {
		return exit.Hint(exit.Usagef("restore: %s is there already", dir), "name a new directory with --home")
	}
	at, err := parseTime(options.At)
	if err != nil {
		return err
	}
	here, err := restoreInto(ctx, app, dir, hosts.Config{URL: url, Plain: options.Plain}, options.KeyFile, at)
	if err != nil && here == 0 {
		return errors.Join(err, os.RemoveAll(dir)) // it is no home
	}
	app.Note("not in the store, since each host has its own: config.toml but its limits of money, skills/, hooks/, bin/, " +
		"titles of rooms, MCP servers with their logins, and keys: bring these and keys.env from the old machine")
	return err
}

// parseTime reads a time; "" is the zero time.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	moment, err := report.ParseMoment(text, time.Now())
	if err == nil && moment.At.IsZero() {
		err = exit.Usagef("restore --at: %q is no time; write 2026-11-20 or 2026-11-20T12:57", text)
	}
	return moment.At, err
}

// restoreInto makes a home in dir, as it was at a time, if at is not zero. It returns the number of identities that
// go on here, also with an error. keyFile has the key of the store; for "" a person types it.
func restoreInto(
	ctx context.Context, app *cli.App, dir string, conf hosts.Config, keyFile string, at time.Time,
) (here int, err error) {
	if !conf.Plain {
		key, err := readKey(app, keyFile)
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
	shared := hosts.New(&made, conf, store, app.LogTo(app.Err))
	defer shared.Close()
	tell := func(restored hosts.Restored) {
		if restored.Here {
			here++
			app.Event("restored", made.Identity(restored.Self, restored.Name))
		} else {
			app.Warn("%s: %s", restored.Name, restored.Why)
		}
	}
	if at.IsZero() {
		err = restoreShared(ctx, made, shared, conf, tell)
		return here, err
	}
	if err := shared.RestoreAt(ctx, store, at, tell); err != nil {
		return here, err
	}
	app.Note("this home is as it was at %s, and shares nothing: its hosts go on with theirs", app.At(at))
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

// readKey reads the key of a store: from a file, or as a person types it.
func readKey(app *cli.App, file string) (string, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		return string(text), err
	}
	return app.ReadTyped(app.Err, "The key of the home, as it stands in its share.key (not shown): ", true)
}
