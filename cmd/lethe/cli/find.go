package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/exit"
	"lethe/internal/secret"
)

// Find returns the identity of a name or hash; for "" the default one.
func (app *App) Find(who string) (home.Identity, error) {
	if who == "" {
		return app.DefaultIdentity()
	}
	id, err := app.Home.Find(who)
	if !errors.Is(err, home.ErrNotFound) {
		return id, err
	}
	if app.Shared != nil {
		for _, elsewhere := range app.Shared.Elsewhere() {
			if elsewhere.Identity.Name == who || elsewhere.Identity.Self == who {
				return id, elsewhere
			}
		}
	}
	return id, exit.Hint(err, "%s%s lists them", app.nearest(who), app.Lethe("agents"))
}

// findAnew is Find that asks other hosts for an identity of which this one has not been told.
func (app *App) findAnew(ctx context.Context, who string) (home.Identity, error) {
	id, err := app.Find(who)
	if errors.Is(err, home.ErrNotFound) && app.Shared != nil {
		app.Refresh(ctx)
		id, err = app.Find(who)
	}
	return id, err
}

// FindForClient returns the identity that a program means: "" is the one of --name, or the default one. An identity that
// another host has is a *home.ElsewhereError.
func (app *App) FindForClient(who string) (home.Identity, error) {
	return app.FindToChange(context.Background(), cmp.Or(who, app.Runs.Name))
}

// DefaultIdentity is host.Default with advice in its error.
func (app *App) DefaultIdentity() (home.Identity, error) {
	id, err := host.Default(app.Home, app.Settings.Settings)
	if errors.Is(err, home.ErrNotFound) && app.Shared != nil {
		if id, err = host.DefaultOf(app.grownElsewhere(), app.Settings.Settings); err == nil {
			return id, app.knownElsewhere(id)
		}
	}
	switch {
	case errors.As(err, new(*host.SeveralError)):
		err = exit.Hint(exit.With(exit.Usage, err),
			"name one, as the command's argument or with --name, or set default_identity in %s", config.File(app.Home.Dir))
	case errors.Is(err, home.ErrNotFound):
		err = exit.Hint(err, "boot one with: %s", app.Lethe(""))
	}
	return id, err
}

// Named reports whether a word is the name of an identity of the home, at any host.
func (app *App) Named(ctx context.Context, word string) bool {
	id, err := app.findAnew(ctx, word)
	if elsewhere, is := errors.AsType[*home.ElsewhereError](err); is {
		return elsewhere.Identity.Name == word
	}
	return err == nil && id.Name == word
}

// nearest asks for the identity with a name much like who; "" if there is no such identity.
func (app *App) nearest(who string) string {
	var names []string
	all, _ := host.Grown(app.Home)
	for _, id := range all {
		names = append(names, id.Name)
	}
	if near := config.Nearest(who, names); near != "" {
		return fmt.Sprintf("did you mean %s? ", near)
	}
	return ""
}

// NearestRoom asks for the room with a name much like a missing one; "" if there is no such room.
func (app *App) NearestRoom(room string) string {
	all := chat.All(app.Home.Dir)
	if near := config.Nearest(room, all); near != "" && !slices.Contains(all, room) {
		return fmt.Sprintf("did you mean room %s? ", near)
	}
	return ""
}

// RoomOf returns the room to talk to an identity in.
func (app *App) RoomOf(id home.Identity) string {
	if len(app.Runs.Rooms) > 0 {
		return app.Runs.Rooms[0]
	}
	return host.RoomOf(id)
}

// HowToHear returns the command that makes an identity hear a room.
func (app *App) HowToHear(room string) string {
	id, _ := app.DefaultIdentity()
	candidates, flags := app.Look.Hearers(room), ""
	hears := len(candidates) > 0
	if !hears {
		candidates, _ = host.Grown(app.Home)
		flags = " --room " + room
	}
	if elsewhere := app.Elsewhere(); elsewhere != nil && len(candidates) == 0 {
		return app.Lethe("take %s", elsewhere.Identity.Name)
	}
	if len(candidates) > 0 && !slices.Contains(candidates, id) {
		id = candidates[0]
	}
	start := app.HowToRun(id, flags)
	if _, running := home.Running(id); running && !hears { // an identity that hears has stopped when this is said
		return fmt.Sprintf("%s, then %s", app.Lethe("stop %s", id.Name), start)
	}
	return start
}

// HowToRun returns the command that runs an identity; the zero one is a new one.
func (app *App) HowToRun(id home.Identity, flags string) string {
	again := app.Runs.Again()
	flags += again
	if again == "" && app.RunsOffline(id) {
		flags += " --offline"
	}
	return app.Lethe("run %s", strings.TrimSpace(id.Name+flags))
}

// NoteWaiting notes what waits for people's leave in the workspace of an identity that came to a home: leave that other
// hosts gave does not come along.
func (app *App) NoteWaiting(to home.Home, id home.Identity) {
	workspace := app.Settings.Workspace(id.Dir)
	var waiting []string
	for _, entry := range host.Shelf(to, app.Settings.Settings, workspace).All() {
		if entry.Waits {
			waiting = append(waiting, entry.Name)
		}
	}
	if len(waiting) > 0 {
		app.Note("nobody has allowed at this host: %s; %s shows and allows one",
			home.Shorten(waiting), app.Lethe("skills allow --workspace %s NAME", workspace))
	}
}

// RunsOffline reports whether the offline model is all that an identity can run with here.
func (app *App) RunsOffline(id home.Identity) bool {
	if app.Settings.Model.BaseURL != "" {
		return false
	}
	preset, known := llm.Preset(cmp.Or(app.Settings.Model.Preset, llm.Presets()[0]))
	needsKey := known && preset.KeyRequired
	if !needsKey || secret.Value(preset.KeyEnv) != "" {
		return false
	}
	return !app.LivedOnline(id)
}

// LivedOnline reports whether an identity has used a real model: the offline one must not speak in its name unasked.
func (app *App) LivedOnline(id home.Identity) bool {
	return host.LivedOnline(id, app.Look.Store)
}

// ParseHash finds the hash in a text: hash=3fa9…, a whole ref, the id of a question, or bare digits.
func (app *App) ParseHash(text string) (string, error) {
	hash := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(text, "hash=")), "q")
	if refs := blobs.ParseRefs(text); len(refs) == 1 {
		hash = refs[0].Hash
	}
	rightLength := blobs.MinPrefix <= len(hash) && len(hash) <= 64
	if !rightLength || strings.Trim(hash, "0123456789abcdef") != "" {
		err := exit.Usagef("%q is not the hash of a stored text", text)
		return "", exit.Hint(err, "give at least %d hex digits of a hash; %s lists them", blobs.MinPrefix, app.Lethe("life"))
	}
	return hash, nil
}
