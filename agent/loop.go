package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"lethe"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/tools"
	"lethe/agent/wake"
	"lethe/life/event"
	"lethe/mind"
)

// Run lives until ctx ends, until a stop is asked for, or until something fails
// that the identity cannot go on after. It closes the agent.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer a.Close()
	a.journal.Until(ctx)
	a.startIndexer()
	tools.LoseJobs(a.view.ID.Dir)
	a.listener.Watch()
	defer func() { a.leave(err) }()
	if err := a.begin(); err != nil {
		return err
	}
	for {
		again, err := a.advance(ctx)
		if err != nil {
			return err
		}
		if why := a.view.StopReason(ctx); why != "" {
			return a.end(why)
		}
		if again {
			continue
		}
		if a.leaveIfFinished() {
			return a.end("done")
		}
		rest, at := a.rest()
		if rest != nil {
			return rest
		}
		if err := a.wait(ctx, at); err != nil {
			return err
		}
	}
}

// begin brings the life up to date: the crash that may have happened, the files
// that somebody may have edited, the debts.
func (a *Agent) begin() error {
	if !a.fresh {
		if err := a.view.Happen(event.Resumed{Version: lethe.Version}); err != nil {
			return err
		}
	}
	if err := inOrder(
		a.thinker.billLost,
		a.outbox.PostOwed,
		a.caller.finishPending,
		a.tellMissing,
		a.keeper.CheckFiles,
		a.listener.FollowLinks,
	); err != nil {
		return err
	}
	for _, c := range a.view.State.Working() {
		if _, err := a.view.Home.Find(c.Name); err != nil {
			a.view.Team.Lose(c.Name, err)
		}
		a.outbox.CallChild(c.Room)
	}
	a.showResting()
	if a.cfg.Ready != nil {
		a.cfg.Ready(a.view.ID)
	}
	return nil
}

// tellMissing tells the identity, once, which files of its workspace stayed at the host that it was taken from.
func (a *Agent) tellMissing() error {
	names := a.journal.Missing()
	if len(names) == 0 {
		return nil
	}
	text := fmt.Sprintf("You go on at another host. Of your workspace these files are not here: %s.",
		strings.Join(names, ", "))
	told := mind.Text{Name: "workspace", Body: fmt.Appendf(nil, "%d %s", a.view.State.Custody, text)}
	return a.view.Tell("workspace", told, "files that are not here", text)
}

// advance is one round of the loop: it does the next thing that is due, and reports whether more may be.
func (a *Agent) advance(ctx context.Context) (again bool, err error) {
	a.view.ReadWishes()
	more, err := a.takeIn()
	if err != nil {
		return false, err
	}
	if err := a.obey(ctx); err != nil {
		return false, err
	}
	a.thinker.lookForSpace()
	if ran, err := a.caller.runApproved(ctx); ran || err != nil {
		return ran, err
	}
	if err := a.forgetter.compactIfDue(ctx); err != nil {
		return false, err
	}
	if asks := a.view.State.Owed().Answer && !a.thinker.rests(); asks && a.view.StopReason(ctx) == "" {
		return true, a.step(ctx)
	}
	if failed, err := a.caller.failUnfinishedWork(); failed || err != nil {
		return failed, err
	}
	return more, a.idle()
}

// takeIn records what has happened around the identity since the last round. more says that a room holds more.
func (a *Agent) takeIn() (more bool, err error) {
	if err := inOrder(
		a.thinker.goOn,         // when a budget has money again
		a.outbox.PostOwed,      // what could not be posted before
		a.caller.finishPending, // what a crash or a stop has cut short
		a.keeper.CheckFiles,    // what people edited
		a.listener.FireDue,     // what wakes the identity by itself
		a.outbox.PostOwed,      // what that has left to post
		a.journal.ShipDue,      // what has waited long enough
	); err != nil {
		return false, err
	}
	return a.listener.Listen()
}

// obey does what waits for the end of a turn: wishes of people, another model, a new epoch. Listen has run the commands
// of rooms by then.
func (a *Agent) obey(ctx context.Context) error {
	return inOrder(
		a.outbox.PostOwed, // the answers to commands
		a.caller.finishPending,
		a.caller.seen.RestoreIfAsked,
		a.thinker.switchIfAsked,
		a.epochIfDue,
		a.branchIfAsked,
		func() error { return a.desk.Look(ctx, a.view.Wishes) },
	)
}

// rest returns a rest of the identity, or nil and when the clock may make something due.
func (a *Agent) rest() (*home.Rest, time.Time) {
	busy := a.view.Busy() || a.hasWork() || a.forgetter.requested || a.desk.Batches() != nil
	return a.listener.Rest(busy, wake.Sooner(a.listener.NextLook(), a.outbox.NextTry(), a.keeper.Due(),
		a.thinker.nextTry(), a.view.State.Until, a.journal.Due()))
}

// wait blocks until something may be due. It asks no model. A person who says that a cause is mended ends a pause.
func (a *Agent) wait(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
	case <-a.listener.Changed():
	case <-a.listener.Woken():
	case <-a.forgetter.summarised():
	case <-alarm(at):
	case batch, more := <-a.desk.Batches():
		defer a.thinker.indexer.Stale()
		return a.desk.Lay(ctx, batch, more)
	case <-a.cfg.Retry:
		a.thinker.AskAtOnce()
		return a.view.Happen(event.Resumed{Version: lethe.Version, Why: "asked"})
	}
	return nil
}

// Wake makes the agent ask its sources soon. Any goroutine may call it.
func (a *Agent) Wake() { a.listener.Wake() }

// idle brings the views up to date when nothing is due.
func (a *Agent) idle() error {
	a.thinker.idle()
	a.showResting()
	return a.keeper.WriteIfDue()
}

// leaveIfFinished lets a child that its parent runs leave the team if the child has nothing left to do, and reports
// whether it has left. It then stops until it is called again.
func (a *Agent) leaveIfFinished() bool {
	isDone := a.view.State.Task != nil && !a.view.State.Works()
	return isDone && !a.hasWork() && a.view.Team.Leave()
}

// hasWork reports whether the identity owes something, waits for something, or forgets.
func (a *Agent) hasWork() bool {
	owed := a.view.State.Owed()
	owes := owed.Answer || len(owed.Calls)+len(owed.Posts) > 0
	return owes || a.caller.awaits() || a.forgetter.job != nil
}

// end records the stop. The journal writes an epoch with it, so that the next resume is short.
func (a *Agent) end(why string) error {
	if why != "done" {
		a.view.Team.Forget()
	}
	if err := inOrder(
		a.listener.EndJobs,
		a.outbox.PostOwed,
		a.caller.finishPending,
		a.keeper.WriteContext,
		a.forgetter.dropJob,
		a.desk.End,
	); err != nil {
		return err
	}
	if err := a.journal.Stop(why); err != nil {
		return err
	}
	return a.view.Obeyed(home.WishStop)
}

// leave stops all that runs beside the loop.
func (a *Agent) leave(err error) {
	a.listener.Stop()
	a.desk.Stop()
	a.view.Tools.StopJobs()
	a.thinker.indexer.Stop()
	a.forgetter.stop()
	a.view.Home.RepairFor(err, a.view.Log) // so that it can be opened again
	if !errors.As(err, new(*home.Rest)) {
		a.showEnd(err)
	}
}

// during runs work in another goroutine while this one goes on listening for commands. Commands change the State, so
// work must read a copy. Its context ends with ctx, at a /stop, and when a stop is asked for. during returns when work
// has returned.
func (a *Agent) during(ctx context.Context, work func(ctx context.Context)) error {
	if err := a.journal.Check(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() { cancel(); <-done }() // also when this panics: work writes to the wallet
	var crash error
	go func() { // ends with work, which ends soon after its context
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				a.view.Log.Error("panic", "value", p, "stack", string(debug.Stack()))
				crash = fmt.Errorf("panic: %v", p)
			}
		}()
		work(ctx)
	}()
	for { // only commands are looked for here; new lines wait for the next round
		var post <-chan time.Time
		if ctx.Err() == nil {
			post = alarm(a.outbox.NextTry())
		}
		select {
		case <-done:
			return crash
		case <-a.listener.Changed():
		case <-post:
		case <-time.After(a.cfg.quiet / 20): // does the model still say something?
		}
		stop, err := a.listener.PollCommands(true)
		if err == nil {
			err = a.journal.ShipDue()
		}
		if err != nil {
			return err
		}
		a.view.ReadWishes()
		if stop || a.view.Wished(home.WishStop) {
			cancel()
		}
		if !a.thinker.silence().Equal(a.shown.SilentSince) {
			a.show(a.shown.State, a.shown.Tool)
		}
	}
}

// alarm returns a channel that sends at a time; at the zero time it is nil and never does.
func alarm(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
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

// A resume folds at most epochEvery events, or more behind a snapshot that weighs more than epochEvery of them. So the
// snapshots of a life never outweigh its events, however long the context is.
const (
	epochEvery = 200
	lineBytes  = 150 // the weight of an event in LIFE, roughly
)

// epochIfDue writes an epoch when another model is to answer, when there is something to use for the first time, or
// when a resume would have too much to fold.
func (a *Agent) epochIfDue() error {
	state := a.view.State
	if want := state.WantModel; want != "" && want != state.Stable.Params.Model {
		return a.thinker.renew("model")
	}
	if a.view.Tools.HasOthers() && !strings.Contains(state.Stable.Tools, `"USE"`) {
		return a.thinker.renew("tools")
	}
	if !state.ShowsAdopted() {
		return a.thinker.renew("adopted")
	}
	if a.journal.SinceEpoch >= max(epochEvery, state.Size/lineBytes) {
		return a.thinker.epoch("count")
	}
	return nil
}

// branchIfAsked obeys WishLabel and WishBack between turns. After a crash it does so again, to no effect.
func (a *Agent) branchIfAsked() error {
	if a.view.Busy() && a.view.State.Paused == "" {
		return nil
	}
	was := a.view.State.Epoch
	if err := journal.Branch(a.journal, a.view.Wishes); err != nil || a.view.State.Epoch == was {
		return err
	}
	return a.forgetter.goneBack()
}

// Restore obeys each home.WishRestore. It is for an identity that is open and not running.
func (a *Agent) Restore() error {
	a.view.ReadWishes()
	return inOrder(a.outbox.PostOwed, a.caller.finishPending, a.caller.seen.RestoreIfAsked)
}

// Compact lets the identity forget now, to the bound of its settings, and waits for the end.
// It is for an identity that is open and not running. keep has a person's words about it, or "".
func (a *Agent) Compact(ctx context.Context, keep string) error {
	if err := inOrder(a.outbox.PostOwed, a.caller.finishPending); err != nil {
		return err
	}
	if err := a.forgetter.beginWished(ctx, keep); err != nil {
		return err
	}
	if job := a.forgetter.job; job != nil {
		<-job.Done
		if err := errors.Join(a.forgetter.finish(job), ctx.Err()); err != nil {
			return err
		}
	}
	if err := a.keeper.WriteContext(); err != nil { // it takes in a person's edit, on a full disk too
		return err
	}
	return a.thinker.outage.noSpace // nil, unless the disk is full: then no job began
}
