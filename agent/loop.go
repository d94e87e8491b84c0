package agent

import (
	"context"
	"time"

	"lethe"
	"lethe/agent/home"
	"lethe/agent/wake"
	"lethe/life/event"
)

// Run lives until ctx ends, until a stop is asked for, or until something fails
// that the identity cannot go on after. It closes the agent.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer a.Close()
	a.log.Until(ctx)
	a.startIndexer()
	a.tools.LoseJobs()
	a.listener.watch()
	defer func() {
		a.listener.unwatch()
		a.listener.triggers.Stop()
		a.tools.StopJobs()
		a.thinker.indexer.Stop()
		if job := a.forgetter.job; job != nil {
			job.End()
		}
		a.cfg.restoredFor(err) // so that it can be opened again
		a.showEnd(err)
	}()
	if err := a.begin(); err != nil {
		return err
	}
	for {
		again, err := a.advance(ctx)
		if err != nil {
			return err
		}
		why := a.stopReason(ctx)
		if why == "" && !again && a.finished() {
			why = "done"
		}
		if why != "" {
			return a.end(why)
		}
		if !again {
			if err := a.wait(ctx); err != nil {
				return err
			}
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
		if err := a.happen(event.Resumed{Version: lethe.Version}); err != nil {
			return err
		}
	}
	if err := inOrder(a.thinker.billLost, a.caller.finishPending, a.keeper.checkFiles, a.listener.subscriptions); err != nil {
		return err
	}
	for _, c := range a.state.Working() {
		if _, err := a.cfg.Home.Find(c.Name); err != nil {
			a.team.Lose(c.Name, err)
		}
		a.outbox.callChild(c.Room)
	}
	a.showResting()
	if a.cfg.Ready != nil {
		a.cfg.Ready(a.id)
	}
	return nil
}

// advance does the next thing that is due, and reports whether more may be.
func (a *Agent) advance(ctx context.Context) (again bool, err error) {
	a.caller.readWishes()
	if err := inOrder(a.thinker.goOn, a.caller.finishPending, a.keeper.checkFiles, a.listener.fireDue, a.outbox.postOwed); err != nil {
		return false, err
	}
	more, err := a.listener.listen()
	if err != nil {
		return false, err
	}
	if err := inOrder(a.caller.finishPending, a.thinker.switchIfAsked, a.epochIfDue, a.forgetter.branchIfAsked); err != nil { // first the answers to commands
		return false, err
	}
	if a.thinker.outage.noSpace != nil && !time.Now().Before(a.thinker.outage.retryAt) {
		a.thinker.canRecord()
	}
	if ran, err := a.caller.runApproved(ctx); ran || err != nil {
		return true, err
	}
	if err := a.forgetter.compactIfDue(ctx); err != nil {
		return false, err
	}
	if a.stopReason(ctx) != "" || !a.state.Owed().Answer || time.Now().Before(a.thinker.outage.retryAt) {
		if due, err := a.caller.concludeIfDue(); due || err != nil {
			return true, err
		}
		return more, a.idle()
	}
	return true, a.step(ctx)
}

// wait blocks until something may be due. It costs nothing.
func (a *Agent) wait(ctx context.Context) error {
	at := wake.Sooner(a.listener.due, a.listener.nextDeadline(), a.listener.nextRepost(), a.outbox.nextPost(), a.keeper.due, a.state.Until)
	if a.state.Owed().Answer || a.thinker.outage.noSpace != nil {
		at = wake.Sooner(at, a.thinker.outage.retryAt)
	}
	var summarised <-chan struct{}
	if job := a.forgetter.job; job != nil {
		summarised = job.Done
	}
	select {
	case <-ctx.Done():
	case <-a.listener.changed:
	case <-a.listener.woken:
	case <-summarised:
	case <-alarm(at):
	case <-a.cfg.Retry:
		a.thinker.outage.retryAt = time.Time{}
		return a.happen(event.Resumed{Version: lethe.Version, Why: "asked"})
	}
	return nil
}

// end records the stop, with an epoch so that the next resume is short.
func (a *Agent) end(why string) error {
	if why != "done" {
		a.team.Forget()
	}
	return inOrder(a.listener.endJobs, a.caller.finishPending, a.keeper.writeContext, a.forgetter.dropJob,
		func() error { return a.log.Stop(why) },
		func() error { return a.obeyed(home.WishStop) })
}

// idle brings the views up to date when nothing is due.
func (a *Agent) idle() error {
	if !a.state.Owes {
		a.thinker.outage.money = ""
	}
	a.showResting()
	if a.keeper.shown == a.keeper.viewMark() {
		return nil
	}
	// That of an epoch that is over is replaced at once: of an edit made in it, not all can be obeyed.
	a.keeper.due = a.keeper.written.Add(a.cfg.viewEvery)
	if a.keeper.shown[0] == a.state.Epoch && time.Now().Before(a.keeper.due) {
		return nil
	}
	return a.keeper.writeContext()
}

// Wake makes the agent ask its sources soon. Any goroutine may call it.
func (a *Agent) Wake() {
	select {
	case a.listener.woken <- struct{}{}:
	default:
	}
}
