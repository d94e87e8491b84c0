package agent

import (
	"cmp"
	"strings"

	"lethe/agent/journal"
	"lethe/agent/prompt"
	"lethe/compactor"
	"lethe/life/event"
	"lethe/mind"
)

type (
	record = journal.Record
	body   = journal.Text
)

// noted is a note to the model.
func noted(why, gist, text string, kept ...body) record {
	return journal.Told(event.Note{Why: why}, gist, text, kept...)
}

// A resume has to fold at most so many events, or as many as weigh in LIFE what the snapshot does: so
// snapshots together weigh no more than the events, however long the context is.
const (
	epochEvery = 200
	lineBytes  = 150 // about as much an event has in LIFE
)

// epochIfDue writes an epoch when another model is to answer, when there is something to use for the first time, or when
// a resume would have too much to fold.
func (a *Agent) epochIfDue() error {
	if want := a.state.WantModel; want != "" && want != a.state.Stable.Params.Model {
		return a.thinker.renew("model")
	}
	if a.tools.HasOthers() && !strings.Contains(a.state.Stable.Tools, `"USE"`) {
		return a.thinker.renew("tools")
	}
	if a.log.SinceEpoch >= max(epochEvery, a.state.Size/lineBytes) {
		return a.thinker.epoch("count")
	}
	return nil
}

// wanted are the parameters that a new epoch of a life takes.
func (c Config) wanted(s *mind.State) mind.Params {
	p := s.NextParams(c.Params, c.DefaultModel)
	model, _ := c.Known.Of(p.Model)
	limit := prompt.Bound(c.Known, p.Model, c.ContextLimit)
	p.Sees = model.Sees
	if p.SameModel(s.Stable.Params) { // what was learned of another model does not hold
		limit = prompt.Limit(s, limit)
	}
	if p.MaxTokens == 0 || limit != c.ContextLimit {
		p.MaxTokens = compactor.AnswerTokens(p.MaxTokens, limit)
	}
	p.MaxTokens = min(p.MaxTokens, cmp.Or(model.Output, p.MaxTokens))
	return p
}
