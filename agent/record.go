package agent

import (
	"cmp"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/blobs"
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

// paid records what calls have cost, and then releases what was put aside for them.
func (a *Agent) paid(costs ...record) error {
	if err := a.commit(costs...); err != nil {
		return err
	}
	return a.release()
}

// epoch appends an epoch event, a snapshot to resume from; renew begins the next epoch of the prompt.
func (a *Agent) epoch(why string, before ...record) error {
	defer a.indexIfFaded() // or was cut out by a person
	return a.log.Epoch(why, nil, before...)
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
		return a.renew("model")
	}
	if a.tools.HasOthers() && !strings.Contains(a.state.Stable.Tools, `"USE"`) {
		return a.renew("tools")
	}
	if a.log.SinceEpoch >= max(epochEvery, a.state.Size/lineBytes) {
		return a.epoch("count")
	}
	return nil
}

// renew begins a new epoch.
func (a *Agent) renew(why string, before ...record) error {
	if err := a.refresh(a.state); err != nil {
		return err
	}
	return a.epoch(why, before...)
}

// refresh makes the stable parts of a state anew from what is on disk: the request's
// beginning changes.
func (a *Agent) refresh(s *mind.State) error {
	texts, err := a.id.Texts(a.cfg.Log)
	if err != nil {
		return err
	}
	in := mind.Inputs{Tools: a.tools.Schemas(), Params: a.wanted(), Texts: texts}
	refs := map[string]mind.Ref{}
	for _, t := range texts {
		if t.Name == home.MemoryFile {
			continue
		}
		if refs[t.Name], err = a.log.Put(blobs.Meta{At: time.Unix(0, 0), Gist: t.Name}, t.Body); err != nil {
			return err
		}
	}
	soul, err := a.log.ReadOwn("SOUL.md")
	rules, _, rerr := a.cfg.Home.Harness()
	if err = cmp.Or(err, rerr); err != nil {
		return err
	}
	if a.cfg.Mentions {
		rules += mind.Called
	}
	in.System = mind.System(a.id.Name, a.id.Self, string(soul), rules, refs["SEGMENT.md"], refs["SUMMARISE.md"])
	others, versions, err := a.outside.System(s.Used, a.estimate.Chars(a.limit()), llm.Weight)
	if err != nil {
		return err
	}
	in.System += others
	in.Texts = append(in.Texts, versions...)
	s.Renew(in)
	shown, lines, err := a.frame().Notes(s.Stable) // in what space the stable parts leave
	if err == nil {
		s.Open(shown, lines, a.log.Now())
	}
	return err
}

func (a *Agent) wanted() mind.Params { return a.cfg.wanted(a.state) }

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
