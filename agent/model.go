package agent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"lethe/agent/budget"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/part"
	"lethe/agent/prompt"
	"lethe/agent/status"
	"lethe/compactor/recall"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// thinker asks the model: it renders requests, pays for them, turns to other models where one does not answer, and
// looks up forgotten entries to remind the identity of.
type thinker struct {
	*part.View
	cfg *Config

	life      *life.Log     // requests may show its newest lines
	reader    prompt.Reader // of texts by others in the system message
	estimate  llm.Estimator
	rendering prompt.Rendering // of the State

	outage  outage
	space   durable.Space // for an answer
	triedIn int           // the epoch of the last try of a model that is away
	triedAt time.Time

	// Of the answer that is awaited. The goroutine of the call writes streamed, which others read when it has ended.
	streamed  streamed                  // kept when a /stop ends the call
	lastPiece atomic.Pointer[time.Time] // when its newest piece came, or the call began; nil while no model is asked

	spending *budget.Spending // as LIFE has it
	wallet   *budget.Wallet   // nil where no limit is set, or the model is for nothing
	counted  budget.Counted
	counts   llm.Counts

	indexer       *recall.Keeper // nil while the identity does not run
	hintedThrough int            // the newest entry that a hint was looked up for
}

func newThinker(view *part.View, cfg *Config, held *journal.Journal, wallet *budget.Wallet) *thinker {
	t := &thinker{
		View: view, cfg: cfg, life: held.Log, spending: &held.Spending, wallet: wallet,
		estimate: prompt.Estimator(held.State), space: durable.Space{Dir: view.ID.Dir, Size: answerBytes},
	}
	t.reader = prompt.Reader{
		Store: view.Store, Put: held.Put, Roots: append([]string{view.Tools.Workspace}, view.Tools.ExtraRoots...),
		Home: cfg.Home.Dir, Say: func(text string) event.Notice {
			if view.State.Task != nil { // the parent, who works in the same place, asks
				return event.Notice{}
			}
			return view.Notice(text, view.Notified(view.People()...)...)
		},
		Layers: []*prompt.Layer{
			{Dir: cfg.RulesDir, Of: "this user"},
			{Dir: cfg.Home.Dir, Of: "this home"},
			{Dir: view.Tools.Workspace, Of: "the workspace"},
		},
	}
	if view.Tools.Has("USE") {
		t.reader.Sources = cfg.Tools.Others
	}
	return t
}

// think calls the model, and listens for commands meanwhile.
func (t *thinker) think(ctx context.Context) (answer thought, err error) {
	request, rates := t.request(), t.rates()
	if len(t.cfg.Fallback) > 0 {
		request.Patience = t.cfg.patience
	}
	answer.asked, answer.weight = request, request.Weight()
	pay := t.wallet.Pay(rates)
	answer.call = pay.Attempts(&request)
	t.piece()
	t.Show(status.Thinking, "")
	defer func() {
		answer.heard = *t.lastPiece.Swap(nil)
		t.Screen.Begin(status.Live{})
	}()
	model, on := t.cfg.Model, t.stream()
	failed := t.During(ctx, func(ctx context.Context) {
		answer.reply, err = model.Complete(ctx, request, func(d llm.Delta) { on(ctx, d) })
	})
	if failed != nil { // the cost is not known; the hold stays
		return answer, failed
	}
	waste := rates.Billed(answer.reply.Waste)
	answer.lost = event.Spent{On: "turn", Calls: waste.Calls, Estimated: waste.Uncounted > 0}
	answer.lost.Tokens = rates.Wasted(request, waste)
	kept := err == nil && answer.reply.Finish != "length"
	if err == nil {
		answer.cost = rates.Answered(request, answer.reply)
		if !kept {
			answer.lost.Calls++
			answer.lost.Add(answer.cost)
		}
	}
	if why := answer.call.End(answer.lost.Tokens, kept); why != nil {
		err = why
	}
	answer.lost.Tokens, answer.cost = pay.Note(answer.lost.Tokens, 0), pay.Note(answer.cost, answer.call.Open)
	answer.reply = answer.reply.Redacted() // before anything is cut out of it
	return answer, err
}

// thought is the outcome of asking the model.
type thought struct {
	reply  llm.Reply
	asked  llm.Request
	weight int              // of the request
	cost   event.Tokens     // of the reply
	lost   event.Spent      // paid for nothing: attempts that failed, answers that were cut off
	call   *budget.Attempts // the reply pays its hold
	heard  time.Time        // the last piece of an answer, or when the first was awaited
}

// drop says that no line will tell of the reply: its cost is lost.
func (t *thought) drop() error {
	t.lost.Calls++
	t.lost.Add(t.cost)
	err := t.call.End(t.lost.Tokens, false)
	t.lost.Tokens = t.call.Note(t.lost.Tokens, 0)
	return err
}

// stream returns a function that takes the pieces of a reply as they stream, from the goroutine
// of the call. The pieces that come before its context ends stay in streamed.
func (t *thinker) stream() func(context.Context, llm.Delta) {
	got := &t.streamed
	*got = streamed{}
	t.Screen.Begin(status.Live{Entry: mind.EntryID(t.State.Next)})
	return func(ctx context.Context, delta llm.Delta) {
		switch {
		case !delta.Reset:
			t.piece()
		case ctx.Err() != nil:
			return
		default:
			*got = streamed{}
		}
		got.reasoning.WriteString(delta.Reasoning)
		got.text.WriteString(delta.Text)
		text := got.text.String()
		if strings.HasPrefix(mind.Nothing, strings.TrimSpace(text)) { // it may be all of the answer
			text = ""
		}
		t.Screen.Live(func(now *status.Live) bool {
			now.Thinking, now.Text = got.reasoning.String(), text
			return true
		})
	}
}

// streamed is the beginning of an answer that is not whole yet.
type streamed struct{ reasoning, text strings.Builder }

// TakePartial returns the beginning of an answer that was cut off, without the beginning of a key at its end.
func (t *thinker) TakePartial() mind.Answer {
	got := &t.streamed
	partial := mind.Answer{Reasoning: secret.Begun(got.reasoning.String()), Text: secret.Begun(got.text.String())}
	t.streamed = streamed{}
	return partial
}

// piece notes that something has come of an answer, or that it is awaited.
func (t *thinker) piece() {
	now := time.Now()
	t.lastPiece.Store(&now)
}

// quietAfter is the silence after which people are told that no answer comes.
// Bytes that only keep the connection alive are silence, too.
const quietAfter = 20 * time.Second

// silence is since when nothing has come of an answer that is awaited, once it is long.
func (t *thinker) silence() (since time.Time) {
	if last := t.lastPiece.Load(); last != nil && time.Since(*last) >= t.cfg.quiet {
		since = last.UTC()
	}
	return since
}

// answered notes that the model has answered.
func (t *thinker) answered() { t.outage, t.streamed = outage{}, streamed{} }

// judge takes what a count may teach out of an answer whose server dropped a part of the request. cut says that it
// has done so before.
func (t *thinker) judge(answer *thought) (cut bool) {
	believed, cut := t.counts.Judge(answer.asked, answer.reply.Usage.Input)
	if !believed {
		answer.weight = 0
	}
	return cut
}

// observe learns the weight of requests from the provider's count.
func (t *thinker) observe(answer thought) {
	counted := answer.reply.Usage.Input
	t.estimate = t.estimate.Observe(answer.weight, counted)
	if counted > 0 && answer.weight > 0 {
		t.counted = budget.Count(answer.asked, answer.weight, counted)
	}
}

// mendWindow tells people the way to give a server a larger window.
const mendWindow = "Give the server a larger window (Ollama: OLLAMA_CONTEXT_LENGTH=32768; " +
	"llama.cpp: --ctx-size 32768) and start me again."

// hold keeps requests within what a server takes that drops the rest. It tells rooms once.
func (t *thinker) hold(rooms []string) error {
	t.estimate = llm.Estimator{} // cut requests may have taught it
	limit, window := t.limit(), t.counts.Most
	if window >= limit {
		window = limit * 3 / 4
	}
	found := event.Error{What: mind.Short, Window: window}
	found.Text = fmt.Sprintf("the server of %s counts %d tokens, however long a request is: it drops the rest",
		t.State.Stable.Params.Model, t.counts.Most)
	if !t.State.Short {
		say := fmt.Sprintf("%s. I keep to %d tokens and forget sooner. %s", found.Text, window, mendWindow)
		found.Notice = t.Notice(strings.ToUpper(say[:1])+say[1:], rooms...)
	}
	t.Log.Warn(found.Text, "window", window)
	return t.Happen(found)
}
