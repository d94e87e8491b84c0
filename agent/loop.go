package agent

import (
	"context"
	"time"

	"lethe"
	"lethe/chat"
	"lethe/life/event"
)

// Run lives until ctx ends, until a stop is asked for, or until something fails
// that the identity cannot go on after. It closes the agent.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer a.Close()
	defer func() {
		a.restoredFor(err) // so that it can be opened again
		a.showEnd(err)
	}()
	defer a.endJob()
	a.startIndexer()
	defer a.stopIndexer()
	changed, cancel := a.cfg.Watcher.Subscribe(a.scopes()...)
	defer cancel()
	a.changed = changed
	if err := a.begin(); err != nil {
		return err
	}
	for {
		again, err := a.advance(ctx)
		if why := a.stopReason(ctx); err == nil && why != "" {
			return a.end(why)
		}
		if err == nil && !again {
			err = a.wait(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// inOrder takes steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// begin brings the life up to date: the crash that may have happened, the files
// that somebody may have edited, the debts.
func (a *Agent) begin() error {
	if !a.fresh {
		if err := a.commit(record{event: event.Resumed{Version: lethe.Version}}); err != nil {
			return err
		}
	}
	if err := inOrder(a.settle, a.checkFiles, a.subscriptions); err != nil {
		return err
	}
	a.showResting()
	if a.cfg.Ready != nil {
		a.cfg.Ready(a.id)
	}
	return nil
}

// scopes is what on disk concerns the identity. The rooms are watched as a whole,
// since what it hears may change.
func (a *Agent) scopes() []chat.Scope {
	return []chat.Scope{
		{Dir: a.cfg.Home.Chats()},
		{Dir: a.id.Subs()},
		{Dir: a.id.Dir, Names: append([]string{stopFile, compactFile, contextFile}, editable...)},
	}
}

// advance does the next thing that is due, and reports whether more may be.
func (a *Agent) advance(ctx context.Context) (again bool, err error) {
	if err := inOrder(a.settle, a.checkFiles); err != nil {
		return false, err
	}
	more, err := a.listen()
	if err != nil {
		return false, err
	}
	if err := inOrder(a.settle, a.epochIfDue); err != nil { // first the answers to commands
		return false, err
	}
	if a.outage.noSpace != nil && !time.Now().Before(a.outage.retryAt) {
		a.canRecord()
	}
	if err := a.compactIfDue(ctx); err != nil {
		return false, err
	}
	if a.stopReason(ctx) != "" || !a.state.Owed().Answer || time.Now().Before(a.outage.retryAt) {
		return more, a.idle()
	}
	return true, a.step(ctx)
}

// wait blocks until something may be due. It costs nothing.
func (a *Agent) wait(ctx context.Context) error {
	due := a.nextPost()
	sooner := func(at time.Time) {
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	if (a.state.Owed().Answer || a.outage.noSpace != nil) && !a.outage.retryAt.IsZero() {
		sooner(a.outage.retryAt)
	}
	if a.files.writing {
		sooner(time.Now().Add(halfWritten / 4))
	}
	var summarised <-chan struct{}
	if job := a.forgetting.job; job != nil {
		summarised = job.ready
	}
	select {
	case <-ctx.Done():
	case <-a.changed:
	case <-summarised:
	case <-alarm(due):
	case <-a.cfg.Retry:
		a.outage.retryAt = time.Time{}
		return a.commit(record{event: event.Resumed{Version: lethe.Version, Why: "asked"}})
	}
	return nil
}

// stopReason is why the identity should stop, or "".
func (a *Agent) stopReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return "signal"
	}
	if requested(a.id, stopFile) {
		return "request"
	}
	return ""
}

// end records the stop, with an epoch so that the next resume is short.
func (a *Agent) end(why string) error {
	return inOrder(a.settle, a.writeContext, a.dropJob,
		func() error { return a.epoch("stop") },
		func() error { return a.commit(record{event: event.Stopped{Why: why}}) },
		func() error { return clearRequest(a.id, stopFile) })
}

// idle brings the views up to date when nothing is due.
func (a *Agent) idle() error {
	if a.files.shown != a.viewMark() {
		if err := a.writeContext(); err != nil {
			return err
		}
	}
	a.showResting()
	return nil
}
