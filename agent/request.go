package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/part"
	"lethe/agent/prompt"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/mind"
)

// request renders the next call to the model.
func (t *thinker) request() llm.Request {
	request := t.rendering.Request(t.State, t.tail())
	request.Window = t.limit()
	return request
}

// contextTokens estimates the next request.
func (t *thinker) contextTokens() int { return t.rendering.Tokens(t.State, t.tail(), t.estimate) }

// tail is the last message: the pins for the readers of this turn, and in the classic order MEMORY and LIFE; "" without
// both.
func (t *thinker) tail() string {
	tail := ""
	if t.State.Stable.Params.Order == mind.OrderTail {
		tail = t.frame().Tail(t.State.Stable)
	}
	if confided := t.State.Confided(); confided != "" {
		tail = strings.TrimSpace(confided + "\n" + tail)
	}
	return tail
}

// limit is the largest request in tokens, its answer included.
func (t *thinker) limit() int {
	return prompt.Limit(t.State, prompt.Bound(t.cfg.Known, t.State.Stable.Params.Model, t.cfg.ContextLimit))
}

// window divides the limit.
func (t *thinker) window() compactor.Window {
	return prompt.Window(t.estimate, t.State.Stable, t.limit())
}

// BatchChars bounds the weighted characters that the results of one unit, or one batch of
// room lines, may bring into the context.
func (t *thinker) BatchChars() int { return t.estimate.Chars(t.window().Batch()) }

// Tokens estimates the tokens of weighted characters.
func (t *thinker) Tokens(weight int) int { return t.estimate.Tokens(weight) }

// shownOf returns how much of a note is shown; 0 for all.
func (t *thinker) shownOf(text part.Body) int {
	weigh := func(s string) int { return llm.Weight(mind.Indent(s)) }
	return mind.Fit(mind.Result(text.Data), text.Gist, compactor.MaxResult, t.BatchChars(), weigh)
}

// frame holds the parts of a request beside the state.
func (t *thinker) frame() prompt.Frame {
	return prompt.Frame{
		ID:       t.ID,
		Life:     t.life,
		Lines:    t.cfg.LifeLines,
		Limit:    t.limit(),
		Estimate: t.estimate,
		Log:      t.Log,
	}
}

// epoch appends an epoch event, a snapshot to resume from; renew begins the next epoch of the prompt.
func (t *thinker) epoch(why string, before ...part.Record) error {
	defer t.indexIfFaded() // or was cut out by a person
	return t.Epoch(why, nil, before...)
}

// renew begins a new epoch.
func (t *thinker) renew(why string, before ...part.Record) error {
	if err := t.refresh(t.State); err != nil {
		return err
	}
	return t.epoch(why, before...)
}

// refresh makes the stable parts of a state anew from the files on disk: the request's
// beginning changes.
func (t *thinker) refresh(state *mind.State) error {
	texts, err := t.ID.Texts(t.Log)
	if err != nil {
		return err
	}
	in := mind.Inputs{Tools: t.schemas(), Params: t.wanted(), Texts: texts}
	refs := map[string]mind.Ref{}
	for _, own := range texts {
		if own.Name == home.MemoryFile {
			continue
		}
		if refs[own.Name], err = t.Put(blobs.Meta{At: time.Unix(0, 0), Gist: own.Name}, own.Body); err != nil {
			return err
		}
	}
	soul, err := t.ReadOwn("SOUL.md")
	if err != nil {
		return err
	}
	rules, _, err := t.Home.Harness()
	if err != nil {
		return err
	}
	if t.cfg.Mentions {
		rules += mind.Called
	}
	in.Spare = cmp.Or(llm.ParseName(in.Params.Model).Preset, t.cfg.Preset) == "custom"
	in.System = mind.System(t.ID.Name, t.ID.Self, string(soul), rules, refs["SEGMENT.md"], refs["SUMMARISE.md"])
	others, versions, err := t.reader.System(state.Used, t.estimate.Chars(t.limit()), llm.Weight)
	if err != nil {
		return err
	}
	in.System += others
	in.Texts = append(append(in.Texts, versions...), t.choice())
	state.Renew(in)
	shown, lines, err := t.frame().Notes(state.Stable) // in the space that the stable parts leave
	if err != nil {
		return err
	}
	state.Open(shown, lines, t.Now().In(t.Zone))
	return nil
}

func (t *thinker) wanted() mind.Params { return t.cfg.wanted(t.State) }

// schemas are the tools of the next epoch's requests.
func (t *thinker) schemas() json.RawMessage { return t.cfg.schemas(t.Tools, t.State, t.wanted()) }

// switched are the tools that settings switch on and off.
var switched = []string{"BASH", "FETCH", "SEARCH"}

// choice states the tools that the settings offer.
func (t *thinker) choice() mind.Text {
	var on []string
	for _, name := range switched {
		if t.Tools.Has(name) {
			on = append(on, name)
		}
	}
	return mind.Text{Name: "tools", Body: fmt.Append(nil, on, t.Tools.Only)}
}

// offersOthers reports whether the settings offer other tools than at the beginning of the epoch. Epochs of earlier
// versions tell by their list alone.
func (t *thinker) offersOthers() bool {
	if t.State.Files["tools"] != "" {
		return !t.State.Knows(t.choice())
	}
	return slices.ContainsFunc(switched, func(name string) bool {
		return strings.Contains(t.State.Stable.Tools, `"name":"`+name+`"`) != t.Tools.Has(name)
	})
}
