package agent

import (
	"cmp"
	"fmt"
	"time"

	"lethe/blobs"
	"lethe/compactor"
	"lethe/life/event"
	"lethe/mind"
)

// epoch writes down everything to resume from. It changes no byte of the
// request: whoever wants that changes a.state.Stable before. The lines of before
// are in it already, and go out in the same append.
func (a *Agent) epoch(why string, before ...record) error {
	events, err := a.prepare(before)
	if err != nil {
		return err
	}
	if err := a.apply(events); err != nil {
		return err
	}
	snapshot, err := a.state.Snapshot()
	if err != nil {
		return err
	}
	epoch, err := a.prepare([]record{{
		event:  event.Epoch{K: a.state.Epoch, Why: why},
		bodies: []body{{fmt.Sprintf("epoch %d of %s (%s)", a.state.Epoch, a.id.Name, why), snapshot}},
	}})
	if err != nil {
		return err
	}
	if err := a.append(append(events, epoch...)); err != nil {
		return err
	}
	if err := a.apply(epoch); err != nil {
		return err
	}
	a.log.sinceEpoch = 0
	a.indexer.stale() // what has faded, was cut out by a person, or was opened meanwhile
	return nil
}

// epochEvery bounds what a resume has to fold.
const epochEvery = 200

// renew begins a new epoch: the stable parts are made anew from what is on disk,
// and the request's beginning changes.
func (a *Agent) renew(why string, before ...record) error {
	was := a.state.Stable
	if was.System != "" { // there was an epoch before
		a.state.Epoch++
	}
	params := a.wanted()
	if params.Model != was.Params.Model || params.Endpoint != was.Params.Endpoint {
		a.state.Window, a.state.Overflows = 0, 0 // what was learned was the other one's
		params = a.wanted()
	}
	a.state.WantModel = ""
	segment, err := a.ownFile("SEGMENT.md")
	if err != nil {
		return err
	}
	summarise, err := a.ownFile("SUMMARISE.md")
	if err != nil {
		return err
	}
	soul, err := a.files.read("SOUL.md")
	if err != nil {
		return err
	}
	a.state.Stable = mind.Stable{
		System: mind.System(a.id.Name, a.id.Self, string(soul), segment, summarise),
		Tools:  a.tools.Schemas(),
		Params: params,
	}
	if a.state.Stable.Past, err = a.past(); err != nil {
		return err
	}
	return a.epoch(why, before...)
}

// past renders the message that opens an epoch, in what space the stable parts
// leave.
func (a *Agent) past() (string, error) {
	memory, err := a.files.read("MEMORY.md")
	if err != nil {
		return "", err
	}
	a.state.Files["MEMORY.md"] = digest(memory)
	if a.state.Stable.Params.Order == mind.OrderTail {
		return a.state.FadedPast(), nil
	}
	shown, lines, err := a.notes()
	return a.state.Past(shown, lines), err
}

// wanted are the parameters that a new epoch takes: what was asked for now, then
// what the life has, then the defaults.
func (a *Agent) wanted() mind.Params {
	want, has := a.cfg.Params, a.state.Stable.Params
	if want.Endpoint != has.Endpoint { // another server need not know the old model
		has.Model, a.state.WantModel = "", ""
	}
	if want.Model != has.Asked { // configured since; otherwise a /model stays
		has.Model = cmp.Or(want.Model, has.Model)
	}
	model := cmp.Or(a.state.WantModel, has.Model, want.Model, a.cfg.DefaultModel)
	return mind.Params{
		Model:     model,
		MaxTokens: a.answerTokens(),
		Thinking:  cmp.Or(want.Thinking, has.Thinking, "enabled"),
		Effort:    cmp.Or(want.Effort, has.Effort),
		Order:     cmp.Or(want.Order, has.Order),
		Endpoint:  want.Endpoint,
		Asked:     want.Model,
	}
}

// answerTokens bounds one answer.
func (a *Agent) answerTokens() int {
	limit, asked := a.limit(), a.cfg.Params.MaxTokens
	if asked > 0 && limit == a.cfg.ContextLimit {
		return asked
	}
	return compactor.AnswerTokens(asked, limit)
}

// ownFile stores one of the identity's own files as a blob, so that the prompt
// can refer to it, and notes the version.
func (a *Agent) ownFile(name string) (mind.Ref, error) {
	text, err := a.files.read(name)
	if err != nil {
		return mind.Ref{}, err
	}
	a.state.Files[name] = digest(text)
	h, err := a.store.Put(blobs.Meta{At: time.Unix(0, 0), Gist: name, Life: a.id.Self}, text)
	if err != nil {
		return mind.Ref{}, err
	}
	return mind.Ref{Hash: h, Short: a.store.Short(h), Gist: name}, nil
}
