package listen

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/part"
	"lethe/agent/wake"
	"lethe/agent/work"
	"lethe/chat"
	"lethe/life/event"
	"lethe/mind"
)

// wakeView shows the identity to sources.
func (l *Listener) wakeView() wake.View {
	return wake.View{
		Now: time.Now(), Joined: l.Speaks(), Company: l.Company(), Audience: l.State.Readers, Together: l.State.Together,
		Fires: l.State.Fires, Wakes: l.State.Wakes, Jobs: l.State.Jobs, // the fold replaces them, and never changes one
		Files: maps.Clone(l.State.Files), Last: l.State.LastBlob, Wishes: l.Wishes, Busy: l.Busy(),
		Mind: l.State, Free: l.Team.Free(),
		Unread: func() bool { return slices.ContainsFunc(l.Joined(), l.hasUnread) },
	}
}

// FireDue records what is due: questions that nobody has answered in time, lines to be posted again, children that are
// lost, and what triggers, jobs and the life that it reviews have to say. Their lines are heard like any others.
func (l *Listener) FireDue() error {
	if err := l.FollowLinks(); err != nil { // which rooms its calls have joined and left
		return err
	}
	for _, due := range []func(time.Time) []part.Record{l.expireQuestions, l.postAgain, l.lostChildren} {
		for _, r := range due(time.Now()) {
			if err := l.Commit(r); err != nil {
				return err
			}
		}
	}
	l.due = time.Time{}
	for _, s := range l.sources {
		commits, next, err := s.Due(l.wakeView())
		if err != nil {
			return err
		}
		for _, c := range commits {
			if err := l.Commit(c...); err != nil {
				return err
			}
		}
		l.due = wake.Sooner(l.due, next)
	}
	l.Watch()
	return nil
}

// Wake makes the loop call FireDue soon. Any goroutine may call it.
func (l *Listener) Wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// NextLook is the time at which the clock makes something due for FireDue; zero if nothing waits for the clock.
func (l *Listener) NextLook() time.Time { return wake.Sooner(l.due, l.nextDeadline(), l.nextRepost()) }

// Stop ends the watch of files and the triggers.
func (l *Listener) Stop() {
	l.unwatch()
	l.Triggers.Stop()
}

// settleTime is the time that a room is left alone when an editor may be about to write it.
const settleTime = 2 * time.Second

// postAgain posts lines again that were to wake the identity and have gone from their rooms before
// it heard them: somebody has edited the room, or removed it.
func (l *Listener) postAgain(now time.Time) (out []part.Record) {
	if l.missing.IsZero() || now.Before(l.missing.Add(settleTime)) {
		return nil
	}
	for _, w := range l.missingLines() {
		e := event.Fired{By: w.By, Again: w.Hash, Notice: event.Notice{Posting: l.Posting(w.Room)}}
		out = append(out, part.Record{Event: e})
	}
	l.missing = time.Time{}
	return out
}

// nextRepost notes when lines were first missed, and returns the time at which postAgain posts; zero if nothing is
// missed.
func (l *Listener) nextRepost() time.Time {
	switch {
	case len(l.missingLines()) == 0:
		l.missing = time.Time{}
		return time.Time{}
	case l.missing.IsZero():
		l.missing = time.Now()
	}
	return l.missing.Add(settleTime)
}

func (l *Listener) missingLines() []mind.Wake {
	return slices.DeleteFunc(l.State.LostWakes(), func(w mind.Wake) bool { return !l.heardAll(w.Room) })
}

// heardAll reports whether a room has nothing that is still to be heard.
func (l *Listener) heardAll(room string) bool {
	return slices.Contains(l.Joined(), room) && l.cursor(room).AtEnd(l.Path(room))
}

// Rest returns the rest of an identity that has had nothing to do for RestAfter, else nil, and when to ask again. due is
// when the clock makes something due; zero: never. A whole round, which began after the look, has found nothing.
func (l *Listener) Rest(busy bool, due time.Time) (rest *home.Rest, at time.Time) {
	if l.conf.RestAfter == 0 || busy || l.Triggers.Running() {
		l.restAt = time.Time{}
		return nil, due
	}
	scopes := append(l.scopes(), chat.Scope{Dir: l.ID.Dir, Names: []string{filepath.Base(l.ID.LIFE())}})
	if look := home.LookAt(scopes...); l.restAt.IsZero() || look != l.rest.Look {
		l.rest, l.restAt = home.Rest{Scopes: scopes, Look: look}, time.Now().Add(l.conf.RestAfter)
	}
	if l.rest.Until = due; time.Now().Before(l.restAt) {
		return nil, wake.Sooner(due, l.restAt)
	}
	alone := l.rest // a pointer into the listener would keep the whole life in memory
	return &alone, due
}

// scopes are the files that concern the identity. It watches only the rooms that it
// hears, or each line would wake every identity of the home.
func (l *Listener) scopes() []chat.Scope {
	all := []chat.Scope{
		{Dir: l.ID.Subs()},
		{Dir: home.WishDir(l.ID)},
		{Dir: l.ID.Dir, Names: append([]string{home.ContextFile, wake.Dir}, home.Editable...)},
	}
	if len(l.subs.rooms) > 0 { // without names it would watch all; some cannot be joined yet
		files := chat.Scope{Dir: filepath.Dir(l.Path(l.subs.rooms[0]))}
		for _, room := range l.subs.rooms {
			files.Names = append(files.Names, chat.FileName(room))
		}
		all = append(all, files)
	}
	if of := l.conf.Reviews; of.Self != "" {
		all = append(all, chat.Scope{Dir: of.Dir, Names: []string{filepath.Base(of.LIFE())}})
	}
	if l.plans.Tools != nil {
		all = append(all, chat.Scope{Dir: l.Tools.Workspace, Names: []string{work.Dir}})
	}
	if l.plans.Dir != "" {
		all = append(all, chat.Scope{Dir: l.plans.Dir})
	}
	return append(all, l.Triggers.Scopes()...)
}

// Watch watches the files that concern the identity, which may be other files than before.
func (l *Listener) Watch() {
	scopes := l.scopes()
	if reflect.DeepEqual(scopes, l.watched) {
		return
	}
	l.unwatch()
	l.changed, l.unwatch = l.conf.Watcher.Subscribe(scopes...)
	l.watched = scopes
}

// EndJobs stops all jobs and records their ends, when the daemon stops in good order.
func (l *Listener) EndJobs() error {
	l.Tools.StopJobs()
	for {
		ends, _, err := l.jobs.Due(l.wakeView())
		if err != nil || len(ends) == 0 {
			return err
		}
		if err := l.Commit(ends[0]...); err != nil {
			return err
		}
	}
}

// lostChildren writes the results of children that cannot be run.
func (l *Listener) lostChildren(now time.Time) (out []part.Record) {
	for _, child := range l.State.Working() {
		why := l.Team.Lost(child.Name)
		told := mind.Awaits(l.State.Wakes, child.Name) > 0
		if why == nil || told {
			continue
		}
		owed := slices.ContainsFunc(l.State.Outbox, func(p mind.Post) bool { return p.Room == child.Room })
		unread := owed || !l.heardAll(child.Room)
		stopped := why == children.ErrStopped
		if stopped && unread {
			continue
		}
		failed := chat.Outcome{N: child.Given, Failed: true, Text: "it cannot be run: " + why.Error()}
		if stopped {
			failed.Text = why.Error()
		}
		out = append(out, l.Triggers.Fire(event.Fired{By: child.Name}, failed.String(), now, child.Room))
	}
	return out
}
