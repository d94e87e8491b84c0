package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
)

// HostOptions returns the options of identities, by the flags and config.toml. Their Secrets are files outside the home
// that agents must not read.
func (app *App) HostOptions(log *slog.Logger) host.Options {
	options := app.Runs.Options
	options.Log, options.Report, options.Listed = log, app.Report, app.listed
	for _, file := range []string{app.Settings.Serve.In(app.Home.Dir).Key, app.botTokenFile()} {
		if file != "" {
			options.Secrets = append(options.Secrets, file)
		}
	}
	for _, hook := range app.Settings.Serve.Hooks {
		options.Webhooks = append(options.Webhooks, hook.Agent+"/"+hook.Trigger)
	}
	return options
}

// Opened opens an identity that does not run, as run would, without letting it hear.
func (app *App) Opened(ctx context.Context, id home.Identity, f func(*host.Agent) error) error {
	options := app.HostOptions(app.LogTo(app.Err))
	options.Rehearse = !app.LivedOnline(id)
	here, err := host.New(app.Home, app.Settings.Settings, options)
	if err != nil {
		return err
	}
	return here.Serving(ctx, func(context.Context) error {
		opened, err := here.OpenAgent(id)
		if err != nil {
			return err
		}
		defer opened.Close()
		return f(opened)
	})
}

// A Conversation is had with an identity, which runs as long as it lasts. The banner says which one was started for it.
type Conversation func(ctx context.Context, identity *host.Identity, banner string) error

// Talk runs f with the identity that is meant. Where no other process or host runs it, this process does meanwhile.
func (app *App) Talk(ctx context.Context, f Conversation) error {
	id, err := app.Meant()
	isNew := err == nil && id.Self == ""
	if isNew && app.Shared != nil { // another host may have it
		app.Refresh(ctx)
		id, err = app.Meant()
	}
	if elsewhere, is := errors.AsType[*home.ElsewhereError](err); is {
		return app.talkAfar(ctx, elsewhere.Identity, f)
	}
	if err != nil {
		return err
	}
	if app.movedOn(id) != nil {
		return app.talkAfar(ctx, id, f)
	}
	if _, running := home.Running(id); running {
		if err := app.refuseFlags(id); err != nil {
			return err
		}
		return app.Attached([]home.Identity{id}, func(all []*host.Identity) error { return f(ctx, all[0], "") })
	}
	resumed, err := app.talkHere(ctx, id, f)
	if !resumed && app.knownElsewhere(id) != nil { // this host did not know
		return app.talkAfar(ctx, id, f)
	}
	return err
}

// talkHere runs an identity, and f beside it. resumed is false if f was not run.
func (app *App) talkHere(ctx context.Context, id home.Identity, f Conversation) (resumed bool, err error) {
	logs, err := app.LogFile()
	if err != nil {
		return false, err
	}
	defer logs.Close()
	options := app.HostOptions(app.LogTo(logs))
	options.Rehearse = !app.LivedOnline(id)
	here, err := host.New(app.Home, app.Settings.Settings, options)
	if err != nil {
		return false, app.usedElsewhere(id, err)
	}
	id, fresh, err := app.Identity(here)
	if err != nil {
		return false, err
	}
	identity := here.Of(id)
	err = identity.Resume(ctx)
	if resumed = err == nil; resumed {
		err = errors.Join(f(ctx, identity, banner(app, here, id, fresh)), identity.Stop())
	}
	return resumed, errors.Join(err, here.Close())
}

// usedElsewhere gives an error for want of a key a hint where the identity's last model was at another address.
func (app *App) usedElsewhere(id home.Identity, err error) error {
	last := host.LastEndpoint(id, app.Look.Store)
	preset, _ := llm.Preset(cmp.Or(app.Runs.Preset, app.Preset()))
	isThere := last == "" || strings.Contains(preset.BaseURL, "//"+last+"/")
	if isThere || !errors.Is(err, llm.ErrNoKey) {
		return err
	}
	return exit.Hint(err, "the last model of %s was at %s: give that --preset or --base-url again, set it by %s, "+
		"or add --offline",
		id.Name, last, app.Lethe("init"))
}

// Attached runs f with identities that other processes run.
func (app *App) Attached(ids []home.Identity, f func([]*host.Identity) error) error {
	here, err := host.Look(app.Home, app.Settings.Settings, host.Options{})
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
func banner(app *App, here *host.Host, id home.Identity, fresh bool) string {
	began := "resumed"
	if fresh {
		began = "booted"
	}
	model := fmt.Sprintf("Its model is at %s.", here.Endpoint)
	if here.Offline {
		model = fmt.Sprintf("Its model is the offline rehearsal model, which is not intelligent; "+
			"%s asks for a real one and its key. Say help to see what it understands.", app.Lethe("init"))
	}
	return fmt.Sprintf("%s %s (%.16s). %s", began, id.Name, id.Self, model)
}

// Tell prints the banner on standard error, if there is one.
func (app *App) Tell(banner string) {
	if banner != "" && app.JSON {
		app.Note("%s", banner)
	} else if banner != "" {
		fmt.Fprintln(app.Err, banner)
	}
}

// Meant returns the identity of --name, or the default one; the zero one is to be booted. An unknown name boots an
// identity only with --new, or where there is no identity yet: it may be mistyped.
func (app *App) Meant() (home.Identity, error) {
	if app.Runs.New {
		return home.Identity{}, nil
	}
	name := app.Runs.Name
	id, err := app.Find(name)
	byHash := name != "" && id.Name != name
	if err == nil && byHash { // only a name boots
		id, err = home.Identity{}, fmt.Errorf("find identity %q: %w", name, home.ErrNotFound)
	}
	if name == "" && home.IsElsewhere(err) {
		return id, err
	}
	if errors.Is(err, home.ErrNotFound) {
		_, noDefault := host.Default(app.Home, app.Settings.Settings)
		if errors.Is(noDefault, home.ErrNotFound) {
			return id, nil
		}
		return id, exit.Hint(err, "%sboot a new one with: %s",
			app.nearest(name), app.Lethe("--new --name %s", console.Quoted(name)))
	}
	if app.Runs.Soul != "" {
		app.Runs.Name = id.Name // --soul is refused, since this identity has one
	}
	return id, err
}

// Identity returns the identity of the flags, or the default one. It boots a missing one; fresh reports that.
func (app *App) Identity(here *host.Host) (id home.Identity, fresh bool, err error) {
	name := app.Runs.Name
	if name == "" {
		if app.Runs.New {
			return id, false, exit.Usagef("--new boots another identity: name it with --name")
		}
		id, err = app.Find("")
		if err == nil && app.Runs.Soul == "" {
			return id, false, nil
		}
		if err != nil && !errors.Is(err, home.ErrNotFound) {
			return id, false, err
		}
		name = cmp.Or(app.Settings.DefaultIdentity, config.DefaultName)
	}
	soul, err := readSoul(app.Runs.Soul)
	if err != nil {
		return id, false, err
	}
	if err := CheckName(name); err != nil {
		return id, false, err
	}
	id, err = here.Boot(home.BootOptions{Name: name, Soul: soul, Rooms: app.Runs.Rooms})
	if !errors.Is(err, home.ErrExists) {
		return id, err == nil, err
	}
	if soul != "" || app.Runs.New {
		return id, false, exit.Hint(err, "a soul is for life: boot another identity with --name, "+
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
		return "", exit.Usagef("read soul %s: it is empty", path)
	}
	return string(text), nil
}

// LogFile opens the log of identities that live inside a chat, where the terminal is taken. A log of more than a
// mebibyte is begun anew.
func (app *App) LogFile() (*os.File, error) {
	path := filepath.Join(app.Home.Dir, "lethe.log")
	mode := os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > 1<<20 {
		mode = os.O_TRUNC
	}
	file, _, err := durable.OpenRegular(path, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	return file, err
}
