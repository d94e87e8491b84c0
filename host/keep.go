package host

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"lethe/chat"
	"lethe/config"
	"lethe/home"
)

// keepPace is how often Keep looks whether another process has let go of a started identity.
const keepPace = 5 * time.Second

// Keep runs the identities of a home that people have started (home.Started), also those that they start meanwhile,
// until ctx ends or, once last is closed, none runs any more. Each begins with the settings and keys as they are then;
// of the options Offline does not count. Why one cannot be run is written down with it. It is tried again when people
// start it again, and by the next Keep. While another process keeps them, Keep waits for its end.
func Keep(ctx context.Context, place home.Home, o Options, last <-chan struct{}) error {
	done, err := place.Keep()
	for done == nil && err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-last:
			return nil
		case <-time.After(keepPace):
			done, err = place.Keep()
		}
	}
	if err != nil {
		return err
	}
	defer done()
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	watcher, around := chat.NewWatcher(0, o.Log), make(chan error, 1)
	watched, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() { around <- watcher.Run(watched) }() // ends with this function
	defer func() { end(); <-around }()
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: place.StartedDir()})
	defer cancel()
	runs, tried, ended, alone := map[string]bool{}, map[string]bool{}, make(chan home.Started), false
	for stop := ctx.Done(); ; {
		list, err := place.Started()
		if err != nil {
			o.Log.Error("the started identities cannot be read", "error", err)
		}
		for _, s := range list {
			_, elsewhere := home.Running(s.Identity)
			if runs[s.Self] || elsewhere || s.Failed != "" && tried[s.Self] || ctx.Err() != nil {
				continue
			}
			runs[s.Self], tried[s.Self] = true, true
			go func() { // ends with ctx
				keep(ctx, place, s, o)
				ended <- s
			}()
		}
		if len(runs) == 0 && (alone || ctx.Err() != nil) {
			return nil
		}
		select {
		case s := <-ended:
			delete(runs, s.Self)
		case <-changed:
		case <-time.After(keepPace):
		case <-last:
			last, alone = nil, true
		case <-stop:
			stop = nil
		}
	}
}

// keep runs a started identity until it is stopped, or writes down why it cannot be run.
func keep(ctx context.Context, place home.Home, s home.Started, o Options) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	o.Offline, o.Retry = s.Offline, map[string]chan os.Signal{s.Self: hup}
	var settings config.Settings
	err := config.Read(place.Dir, &settings)
	var h *Host
	if err == nil {
		h, err = New(place, settings, o)
	}
	if err == nil {
		err = h.Run(ctx, []home.Identity{s.Identity})
	}
	_, still := s.Started()
	if err == nil || ctx.Err() != nil || !still || errors.As(err, new(*home.RunningError)) {
		return
	}
	o.Log.Error("a started identity cannot be run", "identity", s.Name, "error", err)
	s.Failed = err.Error()
	if err := s.Write(); err != nil {
		o.Log.Error("why it cannot be run is not written down", "identity", s.Name, "error", err)
	}
}
