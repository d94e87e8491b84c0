package host

import (
	"context"
	"errors"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/chat"
)

// keepPace is the time between two looks for identities that another process has let go.
const keepPace = time.Second

// Keep runs f, and beside it the identities of a home that people have started (home.Started) or start meanwhile. It
// returns when f and all identities have ended. An error of f ends them, as ctx does. Each begins with the settings and
// keys as they are then, without the options that stand in for settings. If an identity cannot be run, Keep writes down
// why, and tries it again when people start it again. While another process keeps them, Keep waits for its end. Log is
// set.
func Keep(ctx context.Context, place home.Home, o Options, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lock := place.Keeper()
	defer lock.Close()
	watcher := chat.NewWatcher(0, o.Log)
	changed, _ := watcher.Subscribe(chat.Scope{Dir: lock.Path()})
	go func() { _ = watcher.Run(ctx) }() // ends with ctx
	runs, ended, other := map[string]bool{}, make(chan string), make(chan error, 1)
	go func() { other <- f(ctx) }() // ends with ctx
	for alone := false; ; {
		mine, _ := lock.TryLock()
		elsewhere := !mine
		for _, started := range place.Started() {
			_, running := home.Running(started.Identity)
			isWanted := !runs[started.Self] && started.Failed == ""
			mayRun := mine && ctx.Err() == nil
			if !isWanted || !mayRun {
				continue
			}
			if running {
				elsewhere = true
				continue
			}
			runs[started.Self] = true
			go func() { // ends with ctx
				keep(ctx, place, started, o)
				ended <- started.Self
			}()
		}
		if len(runs) == 0 && alone {
			return err
		}
		var again <-chan time.Time
		if elsewhere {
			again = time.After(keepPace)
		}
		select {
		case self := <-ended:
			delete(runs, self)
		case <-changed:
		case <-again:
		case err = <-other:
			if alone = true; err != nil {
				cancel()
			}
		}
	}
}

// keep runs a started identity until it is stopped, or writes down why it cannot be run.
func keep(ctx context.Context, place home.Home, started home.Started, o Options) {
	var settings config.Settings
	var h *Host
	o.Offline, o.Preset, o.BaseURL, o.Model, o.Limit, o.Workspace, o.Rooms = started.Offline, "", "", "", 0, "", nil
	o.Standby = false
	err := config.Read(place.Dir, &settings)
	if err == nil {
		h, err = New(place, settings, o)
	}
	if err == nil {
		err = h.Run(ctx, []home.Identity{started.Identity})
	}
	runsElsewhere := errors.As(err, new(*home.RunningError))
	hasEnded := err == nil || ctx.Err() != nil
	if hasEnded || runsElsewhere {
		return
	}
	if now, still := started.Started(); !still || now != started { // it was stopped, or started otherwise, meanwhile
		return
	}
	o.Log.Error("a started identity cannot be run", "identity", started.Name, "error", err)
	_ = started.Start(started.Offline, err.Error()) // else it is tried again, and logged again
}
