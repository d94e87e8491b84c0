package agent

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"lethe/compactor"
	"lethe/life"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
)

// The bound: no request is larger than the limit, whatever arrives. What comes in
// at once is cut to a share of the limit with a ref to all of it, the past has
// budgets, and when all that is not enough, makeRoom compacts until it is. How
// much each may have is the policy of package compactor.

// limit is the largest request in tokens, its answer included: what was
// configured, or what the provider has been seen to take, if that is less.
func (a *Agent) limit() int {
	if w := a.state.Window; w > 0 && w < a.cfg.ContextLimit {
		return w
	}
	return a.cfg.ContextLimit
}

// contextTokens estimates the next request.
func (a *Agent) contextTokens() int {
	r := a.rendering.follow(a.state)
	weight := r.weight + r.prefix.Weight()
	if tail := a.tail(); tail != "" {
		weight += llm.Message{Content: tail}.Weight()
	}
	return a.estimate.Tokens(weight) + r.stable.Params.MaxTokens
}

// window divides the limit.
func (a *Agent) window() compactor.Window { return a.windowOf(a.state.Stable, a.limit()) }

func (a *Agent) windowOf(stable mind.Stable, limit int) compactor.Window {
	system := llm.Message{Role: "system", Content: stable.System}
	return compactor.Window{
		Limit:  limit,
		Fixed:  a.estimate.Tokens(system.Weight() + llm.Weight(stable.Tools)),
		Answer: stable.Params.MaxTokens,
	}
}

// batchChars is how many weighted characters the results of one unit, or one batch of
// room lines, may bring into the context.
func (a *Agent) batchChars() int { return a.estimate.Chars(a.window().Batch()) }

// fit decides how much of a rendered text is shown.
func fit(text, gist string, runes, most int) int {
	return mind.Fit(text, gist, runes, most, llm.Weight)
}

// settings returns the settings of a compaction.
func (a *Agent) settings() compactor.Settings {
	s := a.window().Settings()
	f := a.cfg.Forgetting
	if f.Target != nil {
		s.Target = *f.Target
	}
	s.Parallel = cmp.Or(f.Parallel, s.Parallel)
	s.Alone = f.Model != ""
	return s
}

// notes reads MEMORY and the lines of LIFE that were asked for, each within its share of
// what is free. Their own bounds are less unless the limit is small.
func (a *Agent) notes(stable mind.Stable) (memory string, lines []string, err error) {
	text, err := a.files.read(memoryFile)
	if err != nil {
		return "", nil, err
	}
	if lines, err = a.log.Lines(a.cfg.LifeLines); err != nil {
		return "", nil, err
	}
	free := a.estimate.Chars(a.windowOf(stable, a.limit()).Free())
	return cutMemory(string(text), free/compactor.MemoryShare), compactor.Recent(lines, min(mind.MaxLife, free/compactor.LifeShare), llm.Weight), nil
}

// cutMemory shortens a MEMORY that weighs more than so many characters, as
// package mind does with one that has more.
func cutMemory(text string, most int) string {
	weight := 0
	for i, r := range text {
		if weight += llm.Weight(string(r)); weight > most {
			return fmt.Sprintf("%s\n(%d more characters are in self/MEMORY.md)", text[:i], utf8.RuneCountInString(text[i:]))
		}
	}
	return text
}

// makeRoom brings the request under the limit at once, without a model. Where
// even that cannot be done, the identity pauses and says why.
func (a *Agent) makeRoom() error {
	if err := a.outpaced(); err != nil {
		return err
	}
	if a.wanted() != a.state.Stable.Params { // a smaller limit has room for a smaller answer
		if err := a.renew("limit"); err != nil {
			return err
		}
	}
	w := a.window()
	if w.Free() == 0 {
		return a.stuck() // no compaction would help
	}
	fits, err := w.MakeRoom(a.settings().Target, a.contextTokens, a.compactNow)
	if err != nil || fits {
		return err
	}
	return a.stuck()
}

// compactNow compacts at once and without a model, as far as a measure goes.
func (a *Agent) compactNow(m compactor.Measure) error {
	job, ok, err := a.plan(m.Share)
	if err != nil {
		return err
	}
	var fades []compactor.Fade
	if ok {
		fades = job.Mechanical()
	}
	return a.swap(fades, m.Settings(a.settings()), limit, 0)
}

// stuck pauses an identity whose next request would not fit, with everything
// forgotten that can be: it says what is too large.
func (a *Agent) stuck() error {
	w := a.window()
	why := fmt.Sprintf("the context cannot be brought under its limit of %d tokens: system prompt and tools have %d, the answer %d, the rest %d",
		w.Limit, w.Fixed, w.Answer, a.contextTokens()-w.Fixed-w.Answer)
	return a.pause(why, "I cannot think: "+why+". Raise the limit, or shorten what stands in the way.", time.Time{})
}

// overflowed lowers the limit to what a provider takes that refused a request as
// too large, and makes room. It reports whether the call is worth another try.
func (a *Agent) overflowed(e *llm.Error) (again bool, err error) {
	first, before := a.state.Overflows == 0, a.contextTokens()
	window := a.window().Lower(before, e.Limit)
	if err := a.commit(record{event: event.Error{ID: a.noticeID(), What: "overflow", Window: window, Text: e.Error()}}); err != nil {
		return false, err
	}
	a.cfg.Log.Warn("the provider takes less than was believed", "window", window)
	if err := a.makeRoom(); err != nil {
		return false, err
	}
	return first && a.contextTokens() < before, nil
}

// SettingsError says that an identity cannot run with its settings: a workspace
// that holds the home, or a context limit that is too small.
type SettingsError struct{ error }

func (e *SettingsError) Unwrap() error { return e.error }

// Check reports whether an identity that is about to be booted can run with cfg.
// It records nothing. The error is a *SettingsError.
func Check(id Identity, cfg Config) error {
	cfg.ContextLimit = cmp.Or(cfg.ContextLimit, defaultLimit)
	a := &Agent{id: id, cfg: cfg, store: cfg.Store, state: mind.New(), fresh: true, files: ownFiles{dir: id.Dir}}
	if err := a.makeTools(); err != nil {
		return &SettingsError{err}
	}
	return a.checkLimit()
}

// checkLimit refuses a limit that leaves no room for a conversation, in the epoch that
// goes on or in the one that opening the identity begins. The limit that it asks for
// is enough.
func (a *Agent) checkLimit() error {
	next := *a.state
	if a.fresh || a.wanted() != next.Stable.Params {
		soul, err := a.files.read("SOUL.md")
		if err != nil {
			return err
		}
		ref := mind.Ref{Short: "0123456789abcdef", Gist: "SUMMARISE.md"}
		next.Renew(mind.Inputs{System: mind.System(a.id.Name, a.id.Self, string(soul), ref, ref), Tools: a.tools.Schemas(), Params: a.wanted()})
	}
	// What a provider counts or takes refuses no life: a limit that was enough to boot it stays enough.
	w := new(Agent).windowOf(next.Stable, a.cfg.ContextLimit)
	if w.Free() >= compactor.MinFree {
		return nil
	}
	least, answer := compactor.LeastLimit(w.Fixed, a.cfg.Params.MaxTokens)
	return &SettingsError{fmt.Errorf("open %s: context limit %d is too small: needs at least %d tokens: prompt and tools %d, answer %d, conversation %d; set context.limit = %d",
		a.id.Name, w.Limit, least, w.Fixed, answer, compactor.MinFree, (least+499)/500*500)}
}

// Parts is what the parts of the next request cost, in estimated tokens.
type Parts struct {
	Epoch   int `json:"epoch"`
	Limit   int `json:"limit"` // tokens of the whole request with its answer, or what the provider was seen to take
	Total   int `json:"total"`
	System  int `json:"system"`
	Past    int `json:"past"`    // faded entries, pins and MEMORY
	Live    int `json:"live"`    // live entries
	Entries int `json:"entries"` // how many those are
	Tools   int `json:"tools"`
	Answer  int `json:"answer"` // what is kept free for the answer
}

// PartsOf estimates the parts for the state of an identity; a limit of 0 is the default.
// total is what a running identity has counted, or 0.
func PartsOf(id Identity, s *mind.State, limit, total int) Parts {
	log, err := life.View(id.LIFE())
	if err != nil { // and s has just been read from it
		return Parts{}
	}
	defer log.Close()
	a := &Agent{
		id: id, state: s, estimate: estimator(s), log: journal{Log: log}, cfg: Config{ContextLimit: cmp.Or(limit, defaultLimit)},
		files: ownFiles{dir: id.Dir, log: slog.New(slog.DiscardHandler)},
	}
	r := a.request()
	if total > r.MaxTokens {
		a.estimate.CharsPerToken = float64(r.Weight()) / float64(total-r.MaxTokens)
	} else {
		total = a.estimate.Tokens(r.Weight()) + r.MaxTokens
	}
	e := a.estimate
	b := Parts{Epoch: s.Epoch, Limit: a.limit(), Total: total, Entries: len(s.Live), Answer: r.MaxTokens, Tools: e.Tokens(llm.Weight(string(r.Tools)))}
	messages := Wire(s.Messages(""))
	b.System = e.Tokens(messages[0].Weight())
	for _, m := range messages[min(2, len(messages)):] { // the one between them is the past
		b.Live += e.Tokens(m.Weight())
	}
	b.Past = max(0, total-b.System-b.Live-b.Tools-b.Answer) // the rest, so that the parts make the total
	return b
}
