package host

import (
	"cmp"
	"context"
	"errors"
	"time"

	"lethe/agent/children"
	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/chat"
)

// keepPace is the time between two looks for identities that another process has let go.
const keepPace = time.Second

// restAfter is the time for which a hired identity has nothing to do before it is not loaded any more.
const restAfter = time.Minute

// Keep runs f, and beside it the identities of a home that people have started (home.Started) or start meanwhile. It
// returns when f and all identities have ended. An error of f ends them, as ctx does. Each begins with the settings and
// keys as they are then, without the options that stand in for settings, but offline if o says so and it was hired. Then
// it is loaded only while it has something to do. If an identity cannot be run, Keep writes down why, and tries it again
// when people start it again, or another Keep begins. While another process keeps them, Keep waits for its end. Log is
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
	for alone, failed := false, true; ; {
		mine, _ := lock.TryLock()
		isBusy := false // elsewhere, with one that this process is to take up then
		for _, started := range place.Started() {
			isDone := runs[started.Self] || started.Failed != "" && !failed
			if isDone || !mine || ctx.Err() != nil {
				continue
			}
			if _, running := home.Running(started.Identity); running || started.Held() {
				isBusy = true
				continue
			}
			runs[started.Self] = true
			go func() { // ends with ctx
				keep(ctx, place, started, watcher, o)
				ended <- started.Self
			}()
		}
		failed = failed && !mine // what failed before is tried once
		if len(runs) == 0 && alone && !isBusy {
			return err
		}
		var again <-chan time.Time
		if isBusy || !mine {
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
func keep(ctx context.Context, place home.Home, started home.Started, watcher *chat.Watcher, o Options) {
	var settings config.Settings
	if started.Failed != "" { // else it is told over a run that goes well, and nobody begins that one again
		started.Failed = ""
		if err := started.Start(started.Offline, ""); err != nil {
			o.Log.Warn("what could not be run before is tried again", "identity", started.Name, "error", err)
		}
	}
	hired, _ := started.Hired()
	o.Offline = started.Offline || o.Offline && hired != nil
	o.Preset, o.BaseURL, o.Model, o.Limit, o.Workspace, o.Rooms = "", "", "", 0, "", nil
	o.Standby, o.started = false, true
	err := config.Read(place.Dir, &settings)
	if settings.Share.URL == "" { // else the host goes on serving
		o.restAfter = cmp.Or(o.restAfter, restAfter)
	}
	for err == nil {
		rest := started.Rests()
		isLoaded := rest == nil || o.restAfter == 0
		if isLoaded {
			var h *Host
			if h, err = New(place, settings, o); err == nil {
				err = h.Run(ctx, []home.Identity{started.Identity})
			}
		}
		if isLoaded && !errors.As(err, &rest) {
			break
		}
		rest.Watcher, err = watcher, nil
		if !children.HoldOut(ctx, started.Identity, rest, time.Now().UTC(), 0) {
			return
		}
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
