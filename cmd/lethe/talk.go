package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/internal/durable"
)

// hintTime is the longest that a turn waits for a hint; 0 leaves that to the
// agent. Tests that look for one on a busy machine set it.
var hintTime time.Duration

// rehearsalPace is the delay between the pieces of an answer of the offline model.
var rehearsalPace = 8 * time.Millisecond

// hostOptions returns the options of identities, by the flags and config.toml.
func (app *app) hostOptions(log *slog.Logger) host.Options {
	options := app.runs.Options
	options.Secrets, options.Log, options.Report = app.tokenFiles(), log, app.report
	options.HintTime, options.Pace = hintTime, rehearsalPace
	for _, hook := range app.settings.Serve.Hooks {
		options.Webhooks = append(options.Webhooks, hook.Agent+"/"+hook.Trigger)
	}
	return options
}

// talk runs f with the identity that is meant. Where no other process runs it, this one does meanwhile, and tells so in
// the banner.
func (app *app) talk(ctx context.Context, f func(identity *host.Identity, banner string) error) error {
	id, err := app.meant()
	if err != nil {
		return err
	}
	if _, running := home.Running(id); running {
		if app.runs.again()+app.runs.soul+app.runs.Model != "" {
			return hint(usagef("%s is running already, so flags for running it do nothing", id.Name),
				"leave them out, or stop it first: ‹stop %s›", id.Name)
		}
		return app.attached([]home.Identity{id}, func(all []*host.Identity) error { return f(all[0], "") })
	}
	logs, err := app.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	options := app.hostOptions(app.logTo(logs))
	options.Rehearse = !app.livedOnline(id)
	here, err := host.New(app.home, app.settings.Settings, options)
	if err != nil {
		return err
	}
	id, fresh, err := app.identity(here)
	if err != nil {
		return err
	}
	identity := here.Of(id)
	err = identity.Resume(ctx)
	if err == nil {
		err = errors.Join(f(identity, banner(app, here, id, fresh)), identity.Stop())
	}
	return errors.Join(err, here.Close())
}

// attached runs f with identities that other processes run.
func (app *app) attached(ids []home.Identity, f func([]*host.Identity) error) error {
	here, err := host.Look(app.home, app.settings.Settings, host.Options{})
	if err != nil {
		return err
	}
	defer here.Close()
	var all []*host.Identity
	for _, id := range ids {
		all = append(all, here.Of(id))
	}
	return f(all)
}

// banner names the identity that runs here, and its model.
func banner(app *app, here *host.Host, id home.Identity, fresh bool) string {
	began := "resumed"
	if fresh {
		began = "booted"
	}
	model := fmt.Sprintf("Its model is at %s.", here.Endpoint)
	if here.Offline {
		model = fmt.Sprintf("Its model is the offline rehearsal model, which is not intelligent; "+
			"%s asks for a real one and its key. Say help to see what it understands.", app.lethe("init"))
	}
	return fmt.Sprintf("%s %s (%.16s). %s", began, id.Name, id.Self, model)
}

// tell prints the banner on standard error, if there is one.
func (app *app) tell(banner string) {
	if banner != "" && app.json {
		app.note("%s", banner)
	} else if banner != "" {
		fmt.Fprintln(app.err, banner)
	}
}

// meant returns the identity of --name, or the default one; the zero one is to be booted. An unknown name boots an
// identity only with --new, or where there is no identity yet: it may be mistyped.
func (app *app) meant() (home.Identity, error) {
	if app.runs.fresh {
		return home.Identity{}, nil
	}
	name := app.runs.name
	id, err := app.find(name)
	byHash := name != "" && id.Name != name
	if err == nil && byHash { // only a name boots
		id, err = home.Identity{}, fmt.Errorf("find identity %q: %w", name, home.ErrNotFound)
	}
	if name == "" && errors.As(err, new(*home.ElsewhereError)) {
		return id, err
	}
	if errors.Is(err, home.ErrNotFound) {
		_, noDefault := host.Default(app.home, app.settings.Settings)
		if errors.Is(noDefault, home.ErrNotFound) {
			return id, nil
		}
		return id, hint(err, "%sboot a new one with: ‹--new --name %s›", app.nearest(name), quoted(name))
	}
	if app.runs.soul != "" {
		app.runs.name = id.Name // which has a soul
	}
	return id, err
}

// identity returns the identity of the flags, or the default one. It boots a missing one; fresh reports that.
func (app *app) identity(here *host.Host) (id home.Identity, fresh bool, err error) {
	name := app.runs.name
	if name == "" {
		if app.runs.fresh {
			return id, false, usagef("--new boots another identity: name it with --name")
		}
		id, err = app.find("")
		if err == nil && app.runs.soul == "" {
			return id, false, nil
		}
		if err != nil && !errors.Is(err, home.ErrNotFound) {
			return id, false, err
		}
		name = cmp.Or(app.settings.DefaultIdentity, config.DefaultName)
	}
	soul, err := readSoul(app.runs.soul)
	if err != nil {
		return id, false, err
	}
	if err := checkName(name); err != nil {
		return id, false, err
	}
	id, err = here.Boot(home.BootOptions{Name: name, Soul: soul, Rooms: app.runs.Rooms})
	if !errors.Is(err, home.ErrExists) {
		return id, err == nil, err
	}
	if soul != "" || app.runs.fresh {
		return id, false, hint(err, "a soul is for life: boot another identity with --name, "+
			"or leave out --soul and --new to resume %s", name)
	}
	return id, false, nil
}

func readSoul(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := config.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read soul %s: %w", path, home.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", usagef("read soul %s: it is empty", path)
	}
	return string(text), nil
}

// checkName refuses texts that cannot name an identity.
func checkName(name string) error {
	if !home.ValidName(name) {
		return usagef("%q is not a name for an identity: a lower-case letter, then up to 31 of a-z, 0-9 and -", name)
	}
	return nil
}

// logFile opens the log of identities that live inside a chat, where the
// terminal is taken. It is begun anew when it has grown over a megabyte.
func (app *app) logFile() (*os.File, error) {
	path := filepath.Join(app.home.Dir, "lethe.log")
	mode := os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > 1<<20 {
		mode = os.O_TRUNC
	}
	file, _, err := durable.OpenRegular(path, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	return file, err
}
