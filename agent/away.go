package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/summariser"
	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

const (
	maxModel = 100              // bytes of a model's name
	tryTime  = 10 * time.Second // that a try may take, while the identity waits
	patience = time.Minute      // with a model that cannot be reached, before another one stands in for it
	tryEvery = 10               // patiences: after so long a model that is away is tried again

	tryTokens = 4096 // of the answer of a try: so many every model may give
)

// try asks a model for one word, with the tools and parameters of the life, and returns why it does not answer.
func (t *thinker) try(ctx context.Context, model string) (why, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	one := t.summariser(cancel)
	one.Frozen.Model, one.Frozen.MaxTokens = model, min(one.Frozen.MaxTokens, tryTokens)
	ask := compactor.Ask{Fork: true, Messages: []mind.Message{{Role: "user", Content: llm.Text("Say ok.")}}}
	_, why = one.Ask(ctx, ask)
	if errors.Is(why, compactor.ErrGarbage) && llm.KindOf(why) == 0 { // another word
		why = nil
	}
	return why, t.pay(one, "model")
}

// inModel are the characters of a model's name, beside letters and digits.
const (
	inModel = "._-:/@+[]~"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// TryModel tries the model that somebody named, and returns an answer to that. taken is "" if the model refuses.
func (t *thinker) TryModel(name string) (taken, say string, err error) {
	was := t.State.Stable.Params.Model
	isStruck := shape.Text(secret.Text(name)) != name // whoever mistook it, the provider is not to know it
	if isStruck || len(name) > maxModel || strings.Trim(name, letters+inModel) != "" {
		const say = "A model's name has at most %d bytes: letters, digits and %s; it is no key. I keep the model %s."
		return "", fmt.Sprintf(say, maxModel, inModel, was), nil
	}
	name = t.cfg.Known.Settle(name, was, t.cfg.Preset)
	called := name
	if other := t.cfg.Known.Doubt(name, cmp.Or(llm.ParseName(was).Preset, t.cfg.Preset)); other != "" {
		called += " (not " + other + ")"
	}
	say = fmt.Sprintf("From the next turn on I use the model %s; /model %s brings the one before back.",
		called, llm.Explicit(was, t.cfg.Preset))
	if t.cfg.Offline && strings.HasPrefix(name, "rehearsal") {
		return name, say, nil
	}
	why, err := t.try(context.Background(), name)
	if llm.KindOf(why) == llm.Permanent || errors.Is(why, budget.ErrUnpriced) {
		name, say = "", fmt.Sprintf("I tried the model %s, and keep the model %s: %s", called, was, why)
	} else if why != nil {
		say += " I could not try it: " + why.Error()
	}
	return name, say, err
}

// switchIfAsked obeys WishModel. After a crash it does so again, to no effect.
func (t *thinker) switchIfAsked() error {
	for _, wish := range t.Wishes {
		if name, asked := wish.Of(home.WishModel); asked {
			name, _ = url.PathUnescape(name)
			taken, say, err := t.TryModel(name)
			if err != nil {
				return err
			}
			if err := t.Happen(event.Model{Use: taken, Text: say}); err != nil {
				return err
			}
			return t.Obeyed(wish)
		}
	}
	return nil
}

// returnIfDue tries the model that is away, in each epoch and from time to time, while something is asked.
func (t *thinker) returnIfDue(ctx context.Context) (turned bool, err error) {
	state := t.State
	tried := state.Epoch == t.triedIn && time.Since(t.triedAt) < tryEvery*t.cfg.patience
	if state.Away == "" || tried {
		return false, nil
	}
	t.triedIn, t.triedAt = state.Epoch, time.Now()
	return t.turnTo(ctx, nil, state.Away)
}

// turnTo goes over to the first of models that answers a try; it does not try the one in use. why is the error of the
// one in use; nil where that one works and the wanted model is tried again.
func (t *thinker) turnTo(ctx context.Context, why error, models ...string) (turned bool, err error) {
	uses := t.State.Stable.Params.Model
	wanted := cmp.Or(t.State.Away, uses)
	for _, model := range models {
		hasFailed := why != nil && slices.Contains(t.outage.failed, model)
		if model == uses || hasFailed {
			continue
		}
		refused, err := t.try(ctx, model)
		if err != nil || ctx.Err() != nil { // who stops decides nothing
			return true, err
		}
		if refused != nil {
			t.Log.Warn("the model cannot stand in", "model", model, "error", refused)
			continue
		}
		now := outage{}
		if why != nil {
			now.failed = append(t.outage.failed, uses)
		}
		change, say := event.Model{Use: model, Text: "it answers again"}, fmt.Sprintf("The model %s answers again.", wanted)
		if model != wanted {
			change.For, change.Text = wanted, why.Error()
			say = fmt.Sprintf("%s I use the model %s until %s answers again.", sentence(why), model, wanted)
		}
		change.Notice = t.Notice(say, t.People()...)
		t.outage, t.triedIn, t.triedAt = now, t.State.Epoch+1, time.Now()
		return true, t.Happen(change)
	}
	return false, nil
}

// summariser asks a model beside the turns.
func (t *thinker) summariser(cancel context.CancelFunc) *summariser.Model {
	rates := t.rates()
	return &summariser.Model{
		Complete: t.cfg.Model.Complete, Frozen: t.request(), Cheaper: t.cfg.Forgetting.Model,
		Rates: rates, Pay: t.wallet.Pay(rates), Writable: t.writable, Cancel: cancel,
	}
}
