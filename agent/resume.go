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
func (a *Agent) makeTools() error {
	conf := a.cfg.Tools
	life := mind.State{Self: a.state.Self, Ancestors: slices.Clone(a.state.Ancestors)}
	b := &reach.Reach{Home: a.cfg.Home, Identity: a.id, Store: a.store, Owns: life.Owns, Reviews: a.cfg.Reviews.Self}
	b.Know(reach.Known{})
	conf.Rooms, conf.Past, conf.CheckTrigger = b, b, b.CheckTrigger
	conf.JobEnded = a.Stir
	set, err := tools.New(conf)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.id.Name, err)
	}
	a.tools = set
	if a.cfg.runTrigger == nil {
		a.cfg.runTrigger = set.RunTrigger
	}
	c := a.wakeConfig()
	a.triggers, a.jobs = wake.NewTriggers(c), wake.Jobs{Config: c, Tools: a.tools}
	a.sources = []wake.Source{a.triggers, a.jobs}
	if of := a.cfg.Reviews; of.Self != "" {
		a.sources = append(a.sources, &wake.Review{Config: c, Of: of, Every: a.cfg.reviewEvery})
	}
	c.Put = nil // that is the loop's
	a.reach, b.Triggers = b, c
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
