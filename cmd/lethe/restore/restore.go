// Package restore is lethe restore: it makes a home from a store.
package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/internal/seal"
)

// Options are the flags of lethe restore.
type Options struct {
	At      string // a moment; "": now
	KeyFile string // "": a person types the key
	Plain   bool   // the store is not encrypted
}

// Run makes a home, in the directory of --home, from the store at url. The directory is missing or empty before, or an
// earlier Run was cut short: then it goes on. Nobody else opens the home before its end.
func Run(ctx context.Context, app *cli.App, url string, options Options) error {
	dir, err := app.Dir()
	if err != nil {
		return err
	}
	at, err := parseTime(options.At)
	if err != nil {
		return err
	}
	how := "lethe restore " + url
	if !at.IsZero() {
		how += " --at " + at.Format(time.RFC3339)
	}
	was, err := home.Making(dir)
	if err != nil {
		return err
	}
	goesOn := was == how
	left, err := os.ReadDir(dir)
	isMissing := errors.Is(err, fs.ErrNotExist)
	isEmpty := err == nil && !slices.ContainsFunc(left, func(entry os.DirEntry) bool {
		return !strings.HasPrefix(entry.Name(), ".tmp-") // a Run that was cut short at its beginning
	})
	isFree := isMissing || isEmpty
	if !isFree && !goesOn {
		why := exit.Usagef("restore: %s is there already", dir)
		if was != "" {
			why = exit.Usagef("restore: in %s %s was cut short", dir, was)
		}
		return exit.Hint(why, "name a new directory with --home")
	}
	if goesOn && !at.IsZero() { // which changes nothing in the store
		if err := empty(dir, left); err != nil {
			return err
		}
	}
	made, err := home.Make(dir, how)
	if err != nil {
		return err
	}
	restoring := &restoring{app: app, home: made, conf: hosts.Config{URL: url, Plain: options.Plain}}
	err = restoring.run(ctx, options.KeyFile, at)
	switch {
	case err == nil:
		return restoring.end()
	case !restoring.began && !goesOn:
		return errors.Join(err, os.RemoveAll(dir)) // it is no home
	}
	return exit.Hint(err, "restore it again, and it goes on; or remove %s/restoring, and what is there is the home", dir)
}

// empty removes the entries of a directory, except the file that says that a home is made there.
func empty(dir string, all []os.DirEntry) error {
	for _, entry := range all {
		if home.IsMaking(entry.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// parseTime reads a time; "" and now are the zero time.
func parseTime(text string) (time.Time, error) {
	if text == "" || text == "now" {
		return time.Time{}, nil
	}
	moment, err := report.ParseMoment(text, time.Now())
	if moment.At.IsZero() {
		err = exit.Usagef("restore --at: %q is no time; write now, 2026-11-20, 2026-11-20T12:57 or 2h ago", text)
	}
	return moment.At, err
}

// restoring is one Run.
type restoring struct {
	app  *cli.App
	home home.Home
	conf hosts.Config
	lost int // texts that the store has lost

	began bool // lives may have been taken
}

// run restores the home as it was at a time, if at is not zero. keyFile has the key of the store; for "" a person types
// it.
func (r *restoring) run(ctx context.Context, keyFile string, at time.Time) error {
	if err := r.putKey(keyFile); err != nil {
		return err
	}
	store, err := blobs.Open(r.home.Blobs())
	if err != nil {
		return err
	}
	shared := hosts.New(&r.home, r.conf, store, r.app.LogTo(r.app.Err))
	defer shared.Close()
	if at.IsZero() {
		settings := map[string]any{"share.url": r.conf.URL}
		if r.conf.Plain {
			settings["share.plain"] = true
		}
		if err := config.Set(r.home.Dir, settings); err != nil {
			return err
		}
		r.began = true
		err := shared.Restore(ctx, r.tell, r.lose)
		if errors.Is(err, home.ErrNotFound) || errors.Is(err, seal.ErrKey) {
			r.began = false // nothing is there
		}
		return err
	}
	if err := shared.RestoreAt(ctx, store, at, r.tell, r.lose); err != nil {
		return err
	}
	r.app.Note("this home is as it was at %s, and shares nothing: its hosts go on with theirs",
		at.Format("Mon 2006-01-02 15:04:05 MST (-07:00)"))
	return os.RemoveAll(filepath.Join(r.home.Dir, "share"))
}

// end lets everybody open the home. The error says if it is not whole.
func (r *restoring) end() error {
	r.app.Note("not in the store, since each host has its own: config.toml but its limits of money, skills/, hooks/, bin/, " +
		"prompts/, roles/, what people allowed, titles of rooms, MCP servers with their logins, tokens and devices of the " +
		"page, and keys: bring these and keys.env from the old machine")
	if err := r.home.Made(); err != nil || r.lost == 0 {
		return err
	}
	err := fmt.Errorf("restore: %w: the home is there without what the store has lost: %d", home.ErrCorrupt, r.lost)
	return exit.Hint(err, "%s says what that means for it, and --repair has lives go on",
		r.app.Lethe("check"))
}

func (r *restoring) tell(restored hosts.Restored) {
	if !restored.Here {
		r.app.Warn("%s: %s", restored.Name, restored.Why)
		return
	}
	r.began = true
	id := r.home.Identity(restored.Self, restored.Name)
	r.app.Event("restored", id)
	r.app.NoteWaiting(r.home, id)
}

func (r *restoring) lose(what error) {
	r.lost++
	r.app.Warn("not restored: %v", what)
}

// putKey writes share.key, from a file or as a person types it, unless an earlier Run has done so and no file may have
// more keys.
func (r *restoring) putKey(file string) error {
	if _, err := os.Stat(seal.File(r.home.Dir)); r.conf.Plain || err == nil && file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	key := string(text)
	if file == "" {
		key, err = r.app.ReadTyped(r.app.Err, "The key of the home, as it stands in its share.key; "+
			"where that has several lines, use --key FILE (not shown): ", true)
	}
	if err != nil {
		return err
	}
	return seal.Put(r.home.Dir, key)
}
