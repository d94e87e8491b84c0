package agent

import (
	"fmt"
	"maps"
	"slices"

	"lethe/blobs"
	"lethe/llm"
	"lethe/mind"
	"lethe/reach"
	"lethe/tools"
	"lethe/wake"
)

// makeTools makes the tools, and what wakes the identity by itself, as far as it is configured.
func (a *Agent) makeTools() (err error) {
	conf := a.cfg.Tools
	life := mind.State{Self: a.state.Self, Ancestors: slices.Clone(a.state.Ancestors)}
	b := &reach.Reach{Owns: life.Owns, Reviews: a.cfg.Reviews.Self}
	b.Know(reach.Known{})
	conf.Rooms, conf.Past, conf.CheckTrigger = b, b, b.CheckTrigger
	conf.JobEnded = a.Stir
	if a.tools, err = tools.New(conf); err != nil {
		return fmt.Errorf("open %s: %w", a.id.Name, err)
	}
	c := wake.Config{
		Home: a.cfg.Home, Identity: a.id, Store: a.store, Log: a.cfg.Log, Tools: a.tools,
		AddTriggers: a.cfg.AddTriggers, Webhooks: a.cfg.Webhooks,
		Stir: a.Stir, Run: a.tools.RunTrigger, Put: a.log.Put, Notice: a.notice, Notify: a.notify,
	}
	a.triggers, a.jobs = wake.NewTriggers(c), wake.Jobs{Config: c}
	a.sources = []wake.Source{a.triggers, a.jobs}
	if of := a.cfg.Reviews; of.Self != "" {
		a.sources = append(a.sources, &wake.Review{Config: c, Of: of, Every: a.cfg.reviewEvery})
	}
	c.Put = nil // that is the loop's
	a.reach, b.Config = b, c
	return nil
}

// known copies what a call may know.
func (a *Agent) known() reach.Known {
	k := reach.Known{
		Rooms: a.joined(), Company: a.company(), Granted: maps.Clone(a.state.Grants), Spoken: a.state.Spoken,
		Summaries: map[blobs.Hash]bool{}, Overtaken: maps.Clone(a.state.Overtaken),
		Page: max(minPage, min(a.estimate.Chars(a.window().Page()), a.call.share)),
	}
	if t := a.state.Task; t != nil {
		k.Work = t.Room
	}
	for _, r := range a.state.Faded {
		k.Summaries[r.Original.Hash] = r.Level == mind.Summary
	}
	return k
}

// minPage is how many weighted characters a page of an original shows at least, of however many
// that are asked for at once.
const minPage = 200

// weightOf is what a text weighs as the result of a call.
func weightOf(text string) int { return llm.Weight(mind.Result([]byte(text))) }
