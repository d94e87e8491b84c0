package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lethe"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/life/event"
)

// Run lives until ctx ends, until a stop is asked for, or until something fails
// that the identity cannot go on after. It closes the agent.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer a.Close()
	defer func() {
		a.cfg.restoredFor(err) // so that it can be opened again
		a.showEnd(err)
	}()
	defer a.endJob()
	a.startIndexer()
	defer a.stopIndexer()
	a.watch()
	defer func() { a.unwatch() }()
	a.sources = a.startSources()
	defer a.stopSources()
	if err := a.begin(); err != nil {
		return err
	}
	for {
		again, err := a.advance(ctx)
		why := a.stopReason(ctx)
		if err == nil && why == "" && !again && a.finished() {
			why = "done"
		}
		if err == nil && why != "" {
			if why == "request" {
				a.team.dismiss()
			}
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
	if err := inOrder(a.payLost, a.settle, a.checkFiles, a.subscriptions); err != nil {
		return err
	}
	for _, c := range a.state.Working() {
		if _, err := a.cfg.Home.Find(c.Name); err != nil {
			a.team.lose(c.Name, err)
		}
		a.callChild(c.Room)
	}
	a.showResting()
	if a.cfg.Ready != nil {
		a.cfg.Ready(a.id)
	}
	return nil
}

// scopes is what on disk concerns the identity. Of the rooms those that it hears are
// watched, or each line would wake every identity of the home.
func (a *Agent) scopes() []chat.Scope {
	all := []chat.Scope{
		{Dir: a.id.Subs()},
		{Dir: a.id.Dir, Names: append([]string{stopFile, compactFile, stopJobFile, branchFile, contextFile, triggerDir}, editable...)},
	}
	if len(a.watched) > 0 { // no names would be all of them
		all = append(all, chat.Scope{Dir: a.cfg.Home.Chats(), Names: a.watched})
	}
	if of := a.cfg.Reviews; of.Self != "" {
		all = append(all, chat.Scope{Dir: of.Dir, Names: []string{filepath.Base(of.LIFE())}})
	}
	return all
}

// watch waits for changes of what concerns the identity, which may have changed.
func (a *Agent) watch() {
	changed, cancel := a.cfg.Watcher.Subscribe(append(a.scopes(), a.triggers.scopes()...)...)
	if a.unwatch != nil {
		a.unwatch()
	}
	a.changed, a.unwatch = changed, cancel
}

// advance does the next thing that is due, and reports whether more may be.
func (a *Agent) advance(ctx context.Context) (again bool, err error) {
	a.asked = requests{requested(a.id, stopFile), requested(a.id, compactFile), requested(a.id, branchFile)}
	if err := inOrder(a.goOn, a.settle, a.checkFiles, a.fireDue, a.payPosts); err != nil {
		return false, err
	}
	more, err := a.listen()
	if err != nil {
		return false, err
	}
	if err := inOrder(a.settle, a.epochIfDue, a.branchIfAsked); err != nil { // first the answers to commands
		return false, err
	}
	if a.outage.noSpace != nil && !time.Now().Before(a.outage.retryAt) {
		a.canRecord()
	}
	if ran, err := a.runApproved(ctx); ran || err != nil {
		return true, err
	}
	if err := a.compactIfDue(ctx); err != nil {
		return false, err
	}
	if a.stopReason(ctx) != "" || !a.state.Owed().Answer || time.Now().Before(a.outage.retryAt) {
		if due, err := a.concludeIfDue(); due || err != nil {
			return true, err
		}
		return more, a.idle()
	}
	return true, a.step(ctx)
}

// wait blocks until something may be due. It costs nothing.
func (a *Agent) wait(ctx context.Context) error {
	var retry, look time.Time
	if a.state.Owed().Answer || a.outage.noSpace != nil {
		retry = a.outage.retryAt
	}
	if a.files.writing {
		look = time.Now().Add(halfWritten / 4)
	}
	var summarised <-chan struct{}
	if job := a.forgetting.job; job != nil {
		summarised = job.ready
	}
	select {
	case <-ctx.Done():
	case <-a.changed:
	case <-a.stirred:
	case <-summarised:
	case <-alarm(a.nextDue()):
	case <-alarm(a.nextPost()):
	case <-alarm(retry):
	case <-alarm(look):
	case <-alarm(a.files.due):
	case <-alarm(a.state.Until):
	case <-a.cfg.Retry:
		a.outage.retryAt = time.Time{}
		return a.commit(record{event: event.Resumed{Version: lethe.Version, Why: "asked"}})
	}
	return nil
}

// stopReason is why the identity should stop, as far as it has looked, or "".
func (a *Agent) stopReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return "signal"
	}
	if a.asked.stop {
		return "request"
	}
	return ""
}

// end records the stop, with an epoch so that the next resume is short.
func (a *Agent) end(why string) error {
	return inOrder(a.endJobs, a.settle, a.writeContext, a.dropJob,
		func() error { return a.epochOf("stop", nil, nil, record{event: event.Stopped{Why: why}}) },
		func() error { return clearRequest(a.id, stopFile) })
}

// idle brings the views up to date when nothing is due.
func (a *Agent) idle() error {
	if !a.state.Owes {
		a.outage.money = ""
	}
	a.showResting()
	if a.files.shown == a.viewMark() {
		return nil
	}
	// That of an epoch that is over is replaced at once: of an edit made in it, not all can be obeyed.
	if a.files.due = a.files.written.Add(a.cfg.viewEvery); a.files.shown[0] == a.state.Epoch && time.Now().Before(a.files.due) {
		return nil
	}
	return a.writeContext()
}

// Supervise runs identities side by side until ctx ends or all have stopped,
// each isolated from the others' failures. open is asked for the running form of
// an identity: its first error is that identity's end; after that, one that fails
// (a full disk, a panic) is opened again, more and more slowly, since its log
// holds everything. Corruption is final, and so is another process that took the
// identity up meanwhile. The error joins those of all identities. The children that an
// identity spawns run with it, and end before it.
func Supervise(ctx context.Context, ids []Identity, open func(Identity) (*Agent, error), log *slog.Logger) error {
	errs := make([]error, len(ids))
	c := &crew{open: open, log: log, members: map[string]*member{}}
	for _, id := range ids {
		c.members[id.Name] = &member{runs: true}
	}
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			errs[i] = c.run(ctx, id)
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.members, id.Name)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func supervise(ctx context.Context, id Identity, open func(Identity) (*Agent, error), log *slog.Logger) error {
	a, err := open(id)
	if err != nil {
		return err
	}
	var failing time.Time // since when
	for wait := time.Duration(0); ; {
		began := time.Now()
		if err == nil {
			err = guard(ctx, a)
		}
		if err == nil || errors.Is(err, ErrCorrupt) || errors.As(err, new(*RunningError)) || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > 2*longestWait {
			wait = 0
		}
		if wait == 0 {
			failing = time.Now().UTC()
		}
		wait = min(max(2*wait, time.Second), longestWait)
		log.Error("the identity failed; it is opened again from its log", "error", err, "in", wait)
		if !holdOut(ctx, id, err, failing, wait) {
			return err
		}
		a, err = open(id)
	}
}

// longestWait is the longest time between two attempts at opening an identity.
const longestWait = time.Minute

// holdOut waits until an identity that fails is to be opened again, and shows what
// is tried since when. It holds the lock meanwhile, so the identity is not taken
// for stopped. It reports false when the identity is to stop instead.
func holdOut(ctx context.Context, id Identity, err error, failing time.Time, wait time.Duration) bool {
	show := func(string) {}
	lock := lockOf(id)
	if locked, _ := lock.TryLock(); locked { // otherwise another process has it, and shows what it does
		defer lock.Unlock()
		show = func(state string) {
			s, _ := status.Read(id.Dir) // what else it shows stays
			s.Name, s.Self, s.PID, s.State, s.Since, s.Error = id.Name, id.Self, os.Getpid(), state, failing, err.Error()
			_ = status.Write(id.Dir, s) // a view
		}
	}
	show(status.Retrying)
	for end := time.Now().Add(wait); ctx.Err() == nil && !requested(id, stopFile); {
		if time.Now().After(end) {
			return true
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	_ = clearRequest(id, stopFile)
	show(status.Stopped)
	return false
}

// guard runs an agent and makes a panic an error.
func guard(ctx context.Context, a *Agent) (err error) {
	defer a.recovered(&err)
	return a.Run(ctx)
}
