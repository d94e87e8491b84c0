package agent

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/compactor"
	"lethe/life/event"
	"lethe/llm"
	"lethe/mind"
)

// The bound: no request is larger than the limit, whatever arrives. What comes in
// at once is cut to a share of the limit with a ref to all of it, the past has
// budgets, and when all that is not enough, makeRoom forgets until it is.

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
	return a.estimate.Tokens(a.request().Weight()) + a.state.Stable.Params.MaxTokens
}

// ground estimates what no forgetting makes smaller: the system message and the
// tools.
func (a *Agent) ground() int {
	stable := a.state.Stable
	system := llm.Message{Role: "system", Content: stable.System}
	return a.estimate.Tokens(system.Weight() + llm.Weight(string(stable.Tools)))
}

// space is what the limit leaves for the past and the live entries, in tokens.
func (a *Agent) space() int {
	return max(0, a.limit()-a.ground()-a.state.Stable.Params.MaxTokens)
}

// budget is how many weighted characters the results of one unit, or one batch of
// room lines, may bring into the context: those of an eighth of the limit, or of
// a quarter of the space where that is less.
func (a *Agent) budget() int { return a.estimate.Chars(min(a.limit()/8, a.space()/4)) }

// pageSize is how many weighted characters one page of UNCOMPACT shows at most:
// those of 8000 tokens, or the budget of a unit.
func (a *Agent) pageSize() int { return min(a.estimate.Chars(8000), a.budget()) }

// fit decides how much of a rendered text is shown; see mind.Fit. gist is that of
// the ref to the whole of it.
func fit(text, gist string, runes, most int) int {
	ref := mind.Ref{Short: "0123456789abcdef", Gist: blobs.Gist(gist)}
	return mind.Fit(text, ref, runes, most, llm.Weight)
}

// minLiving is what a life needs beside the fixed parts of its requests, in
// tokens: room for the past, for notes, and for a turn or two.
const minLiving = 8000

// fits refuses a limit that leaves no room to live in. The limit that it asks for
// is enough.
func (a *Agent) fits() error {
	ground := a.ground()
	if a.cfg.ContextLimit >= ground+a.state.Stable.Params.MaxTokens+minLiving {
		return nil
	}
	answer := a.cfg.Params.MaxTokens
	if answer == 0 { // its share of the limit that is needed, or all it may have
		answer = min(defaultMaxTokens, (ground+minLiving)/(answerShare-1)+1)
	}
	least := ground + answer + minLiving
	return fmt.Errorf("open %s: context limit %d is too small: needs at least %d tokens: prompt and tools %d, answer %d, conversation %d; set context.limit = %d",
		a.id.Name, a.cfg.ContextLimit, least, ground, answer, minLiving, (least+499)/500*500)
}

// fading returns the settings of a compaction. Where the limit is small or the
// soul is large, the past has less than its budgets: a third of the space.
func (a *Agent) fading() compactor.Settings {
	s := compactor.Default(a.limit())
	f := a.cfg.Forgetting
	if f.Target != nil {
		s.Target = *f.Target
	}
	s.Parallel = orDefault(f.Parallel, s.Parallel)
	s.Alone = f.Model != ""
	all := s.Summaries + s.Gists + s.Cards + s.Pins
	return tightened(s, min(1, float64(a.space())/3/(all*float64(s.Limit))))
}

// tightened gives the past a share of its budgets.
func tightened(s compactor.Settings, share float64) compactor.Settings {
	s.Summaries *= share
	s.Gists *= share
	s.Cards *= share
	s.Pins *= share
	return s
}

// notes reads MEMORY and the end of LIFE for a prompt, each within its share of
// the space: a fifth and a tenth. Their own bounds are less unless the limit is
// small.
func (a *Agent) notes() (memory string, lines []string, err error) {
	text, err := a.files.read("MEMORY.md")
	if err != nil {
		return "", nil, err
	}
	if lines, err = a.log.Lines(mind.MaxLifeLines); err != nil {
		return "", nil, err
	}
	space := a.estimate.Chars(a.space())
	weight := 0
	for i, line := range slices.Backward(lines) {
		if weight += llm.Weight(line) + 1; weight > space/10 {
			lines = lines[i+1:]
			break
		}
	}
	return cutMemory(string(text), space/5), lines, nil
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

// measure is one way to make room.
type measure struct {
	target float64 // share of what is eligible that stays
	share  float64 // of the live entries that is eligible
	past   float64 // share of its budgets that the past keeps
	goal   int     // tokens that are few enough
}

// measures lists them from the gentlest to the hardest. The first ones leave
// some room to grow, so that not each turn has to begin with a compaction. The
// unit that the agent is at, and what it has not read, come last.
func (a *Agent) measures() []measure {
	limit := a.limit()
	const older = compactor.Older
	return []measure{
		{a.fading().Target, older, 1, limit - limit/10},
		{0, older, 1, limit - limit/10},
		{0, older, 0.5, limit},
		{0, older, 0.25, limit},
		{0, 1, 0.25, limit},
		{0, 1, 0, limit},
	}
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
	if a.space() == 0 {
		return a.stuck() // nothing that is forgotten would help
	}
	for _, m := range a.measures() {
		if err := a.try(m); err != nil {
			return err
		}
		if a.contextTokens() <= a.limit() {
			return nil
		}
	}
	return a.stuck()
}

// try forgets as far as a measure goes, in as many rounds as it takes.
func (a *Agent) try(m measure) error {
	for a.contextTokens() > m.goal {
		before := a.contextTokens()
		job, ok, err := a.plan(m.share)
		if err != nil {
			return err
		}
		var fades []compactor.Fade
		if ok {
			fades = job.Mechanical()
		}
		set := tightened(a.fading(), m.past)
		set.Target = m.target
		if err := a.swap(fades, set, "limit"); err != nil {
			return err
		}
		if a.contextTokens() >= before {
			return nil
		}
	}
	return nil
}

// stuck pauses an identity whose next request would not fit, with everything
// forgotten that can be: it says what is too large.
func (a *Agent) stuck() error {
	why := fmt.Sprintf("the context cannot be brought under its limit of %d tokens: system prompt and tools have %d, the answer %d, the rest %d",
		a.limit(), a.ground(), a.state.Stable.Params.MaxTokens, a.contextTokens()-a.ground()-a.state.Stable.Params.MaxTokens)
	a.cfg.Log.Error("stuck", "error", why)
	say := a.notice("I cannot think: "+why+". Raise the limit, or shorten what stands in the way.", a.audience()...)
	return a.commit(record{event: event.Paused{ID: a.noticeID(), Why: why, Notice: say}})
}

// overflowed learns the window of a provider that takes less than was believed,
// and makes room. It reports whether the call is worth another try.
func (a *Agent) overflowed(e *llm.Error) (again bool, err error) {
	first, before := a.state.Overflows == 0, a.contextTokens()
	window := a.learn(e.Limit)
	if err := a.commit(record{event: event.Error{ID: a.noticeID(), What: "overflow", Window: window, Text: e.Error()}}); err != nil {
		return false, err
	}
	a.cfg.Log.Warn("the provider takes less than was believed", "window", window)
	if err := a.makeRoom(); err != nil {
		return false, err
	}
	return first && a.contextTokens() < before, nil
}

// learn tells how large a request may be from now on, after one was refused as
// too large. told is what the provider named as its limit, or 0. A limit that is
// not exceeded by our estimate says that the estimate is low.
func (a *Agent) learn(told int) int {
	believed := min(a.contextTokens(), a.limit())
	window := believed * 9 / 10
	switch {
	case told <= 0:
		window = believed * 3 / 4
	case told < believed:
		window = told
	}
	return max(window, a.ground()+minLiving) // no life is possible below that, whatever was said
}
