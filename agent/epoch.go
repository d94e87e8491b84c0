package agent

import (
	"fmt"
	"time"

	"lethe/blobs"
	"lethe/compactor"
	"lethe/life/event"
	"lethe/mind"
)

// epoch appends an epoch event, a snapshot to resume from. The epoch of the prompt
// goes on: no byte of the request changes; renew begins the next one. The snapshot has
// the records of before already, which go out in the same append.
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

// epochIfDue writes an epoch when a user wants another model, or when a resume
// would have too much to fold.
func (a *Agent) epochIfDue() error {
	if want := a.state.WantModel; want != "" && want != a.state.Stable.Params.Model {
		return a.renew("model")
	}
	if a.log.sinceEpoch >= epochEvery {
		return a.epoch("count")
	}
	return nil
}

// renew begins a new epoch: the stable parts are made anew from what is on disk,
// and the request's beginning changes.
func (a *Agent) renew(why string, before ...record) error {
	in := mind.Inputs{Tools: a.tools.Schemas(), Params: a.wanted(), Files: map[string]string{}}
	segment, err := a.instructionsRef("SEGMENT.md", in.Files)
	if err != nil {
		return err
	}
	summarise, err := a.instructionsRef("SUMMARISE.md", in.Files)
	if err != nil {
		return err
	}
	soul, err := a.files.read("SOUL.md")
	if err != nil {
		return err
	}
	in.System = mind.System(a.id.Name, a.id.Self, string(soul), segment, summarise)
	memory, err := a.files.read("MEMORY.md")
	if err != nil {
		return err
	}
	in.Files["MEMORY.md"] = digest(memory)
	a.state.Renew(in)
	shown, lines, err := a.notes() // in what space the stable parts leave
	if err != nil {
		return err
	}
	a.state.Open(shown, lines)
	return a.epoch(why, before...)
}

// instructionsRef stores one of the identity's own files as a blob, so that the
// prompt can refer to it, and notes its version.
func (a *Agent) instructionsRef(name string, versions map[string]string) (mind.Ref, error) {
	text, err := a.files.read(name)
	if err != nil {
		return mind.Ref{}, err
	}
	versions[name] = digest(text)
	h, err := a.store.Put(blobs.Meta{At: time.Unix(0, 0), Gist: name, Life: a.id.Self}, text)
	if err != nil {
		return mind.Ref{}, err
	}
	return mind.Ref{Hash: h, Short: a.store.Short(h), Gist: name}, nil
}

// wanted are the parameters that a new epoch takes.
func (a *Agent) wanted() mind.Params {
	p := a.state.NextParams(a.cfg.Params, a.cfg.DefaultModel)
	limit := a.limit()
	if !p.SameModel(a.state.Stable.Params) {
		limit = a.cfg.ContextLimit // what was learned of the other model does not hold
	}
	p.MaxTokens = a.answerTokens(limit)
	return p
}

// answerTokens bounds one answer.
func (a *Agent) answerTokens(limit int) int {
	asked := a.cfg.Params.MaxTokens
	if asked > 0 && limit == a.cfg.ContextLimit {
		return asked
	}
	return compactor.AnswerTokens(asked, limit)
}
