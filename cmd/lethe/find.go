package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/chat"
	"lethe/internal/secret"
)

// find returns the identity of a name or hash; for "" the default one.
func (app *app) find(who string) (home.Identity, error) {
	if who == "" {
		return app.defaultIdentity()
	}
	id, err := app.home.Find(who)
	if !errors.Is(err, home.ErrNotFound) {
		return id, err
	}
	if app.shared != nil {
		for _, elsewhere := range app.shared.Elsewhere() {
			if elsewhere.Identity.Name == who || elsewhere.Identity.Self == who {
				return id, elsewhere
			}
		}
	}
	return id, hint(err, "%s‹agents› lists them", app.nearest(who))
}

// defaultIdentity is host.Default with advice in its error.
func (app *app) defaultIdentity() (home.Identity, error) {
	id, err := host.Default(app.home, app.settings.Settings)
	if errors.Is(err, home.ErrNotFound) && app.shared != nil {
		for _, elsewhere := range app.shared.Elsewhere() {
			return id, elsewhere
		}
	}
	switch {
	case errors.As(err, new(*host.SeveralError)):
		err = hint(usageError(err), "name one, as the command's argument or with --name, or set default_identity in %s",
			config.File(app.home.Dir))
	case errors.Is(err, home.ErrNotFound):
		err = hint(err, "boot one with: %s", app.lethe(""))
	}
	return id, err
}

// nearest returns a question for an identity whose name is much like who, or "".
func (app *app) nearest(who string) string {
	var names []string
	all, _ := host.Grown(app.home)
	for _, id := range all {
		names = append(names, id.Name)
	}
	if near := config.Nearest(who, names); near != "" {
		return fmt.Sprintf("did you mean %s? ", near)
	}
	return ""
}

// nearestRoom returns a question for a room whose name is much like that of a missing one, or "".
func (app *app) nearestRoom(room string) string {
	all := chat.All(app.home.Dir)
	if near := config.Nearest(room, all); near != "" && !slices.Contains(all, room) {
		return fmt.Sprintf("did you mean room %s? ", near)
	}
	return ""
}

// roomOf returns the room to talk to an identity in.
func (app *app) roomOf(id home.Identity) string {
	if len(app.runs.Rooms) > 0 {
		return app.runs.Rooms[0]
	}
	return host.RoomOf(id)
}

// howToHear returns the command that makes an identity hear a room.
func (app *app) howToHear(room string) string {
	id, _ := app.defaultIdentity()
	candidates, flags := app.look.Hearers(room), ""
	hears := len(candidates) > 0
	if !hears {
		candidates, _ = host.Grown(app.home)
		flags = " --room " + room
	}
	if len(candidates) > 0 && !slices.Contains(candidates, id) {
		id = candidates[0]
	}
	start := app.howToRun(id, flags)
	if _, running := home.Running(id); running && !hears { // one that hears has stopped when this is said
		return fmt.Sprintf("%s, then %s", app.lethe("stop %s", id.Name), start)
	}
	return start
}

// howToRun returns the command that runs an identity; the zero one is a new one.
func (app *app) howToRun(id home.Identity, flags string) string {
	again := app.runs.again()
	flags += again
	if again == "" && app.runsOffline(id) {
		flags += " --offline"
	}
	return app.lethe("run %s", strings.TrimSpace(id.Name+flags))
}

// runsOffline reports whether the offline model is all that an identity can run with here.
func (app *app) runsOffline(id home.Identity) bool {
	if app.settings.Model.BaseURL != "" {
		return false
	}
	preset, known := llm.Preset(cmp.Or(app.settings.Model.Preset, llm.Presets()[0]))
	needsKey := known && preset.KeyRequired
	if !needsKey || secret.Value(preset.KeyEnv) != "" {
		return false
	}
	return !app.livedOnline(id)
}

// livedOnline reports whether an identity has used a real model: the offline one
// must not speak in its name unasked.
func (app *app) livedOnline(id home.Identity) bool {
	return host.LivedOnline(id, app.look.Store)
}
