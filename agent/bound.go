package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"lethe/agent/llm"
	"lethe/compactor"
	"lethe/life/event"
)

// The bound: no request is larger than the limit, whatever arrives. What comes in
// at once is cut to a share of the limit with a ref to all of it, the past has
// budgets, and when all that is not enough, makeRoom compacts until it is. How
// much each may have is the policy of package compactor.

// settings returns the settings of a compaction.
func (f *forgetter) settings() compactor.Settings {
	set, asked := f.thinker.window().Settings(), f.cfg.Forgetting
	if asked.Target != nil {
		set.Target = *asked.Target
	}
	set.Parallel = cmp.Or(asked.Parallel, set.Parallel)
	set.Alone = asked.Model != ""
	return set
}

// makeRoom brings the request under the limit at once, without a model. Where
// even that cannot be done, the identity pauses and says why.
func (f *forgetter) makeRoom() error {
	if err := f.outpaced(); err != nil {
		return err
	}
	hasOtherTools := string(f.thinker.schemas()) != f.State.Stable.Tools
	if f.thinker.wanted() != f.State.Stable.Params || hasOtherTools { // a smaller limit has room for less of both
		if err := f.thinker.renew("limit"); err != nil {
			return err
		}
	}
	w := f.thinker.window()
	if w.Free() == 0 {
		return f.stuck() // no compaction would help
	}
	fits, err := w.MakeRoom(f.settings(), f.thinker.contextTokens, f.compactNow)
	if err != nil || fits {
		return err
	}
	return f.stuck()
}

// compactNow compacts at once and without a model.
func (f *forgetter) compactNow(set compactor.Settings, share float64) error {
	job, ok, err := f.plan(share)
	if err != nil {
		return err
	}
	var fades []compactor.Fade
	if ok {
		fades = job.Mechanical()
	}
	return f.swap(fades, set, limit, 0)
}

// stuck pauses an identity whose next request would not fit although all that can be forgotten is: it tells people
// the sizes.
func (f *forgetter) stuck() error {
	w := f.thinker.window()
	const text = "the context cannot be brought under its limit of %d tokens: " +
		"system prompt and tools have %d, the answer %d, the rest %d"
	why := fmt.Sprintf(text, w.Limit, w.Fixed, w.Answer, f.thinker.contextTokens()-w.Fixed-w.Answer)
	mend := "Raise the limit, or shorten what stands in the way."
	if f.State.Short {
		mend = mendWindow
	}
	return f.Pause(why, "I cannot think: "+why+". "+mend, time.Time{})
}

// overflowed deals with a provider that refused a request as too large: it lowers the limit and makes room. again says
// that the call is worth another try.
func (f *forgetter) overflowed(e *llm.Error) (again bool, err error) {
	first, before := f.State.Overflows == 0, f.thinker.contextTokens()
	window := f.thinker.window().Lower(before, e.Limit)
	if err := f.Happen(event.Error{What: "overflow", Window: window, Text: e.Error()}); err != nil {
		return false, err
	}
	f.Log.Warn("the provider takes less than was believed", "window", window)
	if err := f.makeRoom(); err != nil {
		return false, err
	}
	return first && f.thinker.contextTokens() < before, nil
}

// request lets a compaction begin.
func (f *forgetter) request() error {
	if f.job != nil {
		return errors.New("a compaction is under way already; its summaries come in by themselves")
	}
	if !f.thinker.window().Grown(f.thinker.contextTokens(), f.after) {
		return errors.New("you have just forgotten what could be forgotten; little has come in since")
	}
	f.requested = true
	return nil
}
