package agent

import (
	"maps"
	"slices"
	"time"

	"lethe/agent/wake"
	"lethe/life/event"
	"lethe/mind"
)

// wakeView is what sources see of the identity now.
func (a *Agent) wakeView() wake.View {
	return wake.View{
		Now: time.Now(), Joined: a.joined(), Company: a.company(),
		Fires: a.state.Fires, Wakes: a.state.Wakes, Jobs: a.state.Jobs, // the fold replaces them, and changes none
		Files: maps.Clone(a.state.Files), Last: a.state.LastBlob, Wishes: a.wishes,
	}
}

// Stir makes the agent ask its sources soon. Any goroutine may call it.
func (a *Agent) Stir() {
	select {
	case a.stirred <- struct{}{}:
	default:
	}
}

// fireDue records what is due. The lines are heard like any others.
func (a *Agent) fireDue() error {
	if err := a.subscriptions(); err != nil { // which rooms its calls have joined and left
		return err
	}
	for _, due := range []func(time.Time) []record{a.lateAnswers, a.postAgain, a.lostChildren} {
		for _, r := range due(time.Now()) {
			if err := a.commit(r); err != nil {
				return err
			}
		}
	}
	a.due = time.Time{}
	for _, s := range a.sources {
		commits, next, err := s.Due(a.wakeView())
		if err != nil {
			return err
		}
		for _, c := range commits {
			if err := a.commit(c...); err != nil {
				return err
			}
		}
		a.due = wake.Sooner(a.due, next)
	}
	a.watch()
	return nil
}

// settleTime is how long a room is left alone that an editor may be about to write.
const settleTime = 2 * time.Second

// postAgain posts lines again that were to wake the identity and have gone from their rooms before
// it heard them: somebody has edited the room, or removed it.
func (a *Agent) postAgain(now time.Time) (out []record) {
	if a.missing.IsZero() || now.Before(a.missing.Add(settleTime)) {
		return nil
	}
	for _, w := range a.missingLines() {
		e := event.Fired{By: w.By, Again: w.Hash, Notice: event.Notice{Posting: a.posting(w.Room)}}
		out = append(out, record{Event: e})
	}
	a.missing = time.Time{}
	return out
}

// nextRepost is when postAgain posts.
func (a *Agent) nextRepost() time.Time {
	switch {
	case len(a.missingLines()) == 0:
		a.missing = time.Time{}
		return a.missing
	case a.missing.IsZero():
		a.missing = time.Now()
	}
	return a.missing.Add(settleTime)
}

func (a *Agent) missingLines() []mind.Wake {
	return slices.DeleteFunc(a.state.LostWakes(), func(w mind.Wake) bool { return !a.heardAll(w.Room) })
}

// heardAll reports whether a room has nothing that is still to be heard.
func (a *Agent) heardAll(room string) bool {
	return slices.Contains(a.joined(), room) && a.cursor(room).AtEnd(a.path(room))
}
