package agent

import (
	"slices"
	"strconv"

	"lethe/branch"
	"lethe/home"
)

// readWishes looks at the wishes, and obeys those that wait for nothing. The watcher tells of later ones.
func (a *Agent) readWishes() {
	a.wishes = home.Wishes(a.id)
	for _, w := range a.wishes {
		if job, ok := w.Of(home.WishStopJob); ok {
			_ = w.Drop(a.id)
			n, _ := strconv.Atoi(job)
			_ = a.tools.StopJob(n, "by a person") // one that does not run has ended meanwhile
		}
	}
}

// wished reports whether a wish without an argument was there when the wishes were read.
func (a *Agent) wished(w home.Wish) bool { return slices.Contains(a.wishes, w) }

// obeyed removes a wish that the identity has obeyed.
func (a *Agent) obeyed(w home.Wish) error {
	a.wishes = slices.DeleteFunc(a.wishes, func(other home.Wish) bool { return other == w })
	return w.Drop(a.id)
}

// branchIfAsked obeys WishLabel and WishBack between turns. After a crash it does so again, to no effect.
func (a *Agent) branchIfAsked() error {
	if a.busy() && a.state.Paused == "" {
		return nil
	}
	was := a.state.Epoch
	if err := branch.Obey(a.log, a.wishes); err != nil || a.state.Epoch == was {
		return err
	}
	a.indexIfFaded()
	a.forgetting.after, a.forgetting.keptChunks = a.contextTokens(), nil
	return a.dropJob()
}
