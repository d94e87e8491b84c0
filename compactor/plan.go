package compactor

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe/life/event"
	"lethe/mind"
)

// Input is what a job is planned from, beside the state.
type Input struct {
	Settings Settings
	Meter    Meter
	// Tail is what the request ends with in the classic order.
	Tail string
	// Segment and Summarise are the instructions of the two tasks; see
	// Instructions.
	Segment, Summarise string
	// Wish is what a person says about this compaction, as Wish words it, or "".
	Wish string
	// Share is the part of the live entries, by tokens and from the oldest, that
	// is eligible, 0 to 1; 0 means Older. More than that is for a context that
	// fits into its limit in no other way.
	Share float64
	// Only, when not empty, are ranges of entries of which all that is in whole turns or
	// finished steps is eligible, and nothing else, however little it is.
	Only []event.Entries
	// Kept are the chunks that an earlier swap left live. Those whose entries
	// have not changed are not cut again, and not summarised again if they were;
	// each time one is left it counts as a little less relevant.
	Kept []Fade
}

// Older is the share that is eligible: the newest third is not touched.
const Older = 2.0 / 3

// Job is a compaction that has been decided on. It holds what never changes: the state may
// change while it runs.
type Job struct {
	in       Input
	request  mind.State     // what the frozen request is rendered from
	messages []mind.Message // that request, once a model is to be asked
	notes    string         // pins, MEMORY and LIFE, for requests that stand alone
	fixed    int            // tokens of tools and answer
	base     int            // tokens of messages, with fixed
	runs     [][]unit       // eligible entries to ask about; consecutive numbers in each
	kept     []Fade         // chunks that stayed live
}

// unit is an entry that waits for no result: a reply is one with its calls and their results.
type unit struct {
	*mind.Entry
	tokens int
	begins entryRange // of SEGMENT
}

// unitOf weighs an entry as the next epoch has it.
func unitOf(e *mind.Entry, meter Meter, p mind.Params) unit {
	next := mind.Stable{Indented: true, Since: e.N + 1, Params: p}
	return unit{Entry: e, tokens: meter.messages(e.Messages(next)...)}
}

// Plan decides what is eligible: the older two thirds of the live entries by
// tokens, or in.Share of them, in whole turns. Of a turn that is not over, or larger than
// what may fade, its finished steps are; what was heard in it stays, with what was said to it, until it is over or
// takes too much. Only when all may fade and there is nothing else, what no reply has followed is eligible, the older
// part first, and never a unit that waits for a result. It is false when that is not worth a compaction.
func Plan(s *mind.State, in Input) (Job, bool) {
	all := unitsOf(s, in.Meter)
	fixed := in.Meter.of(s.Stable.Tools) + s.Stable.Params.MaxTokens
	free := in.Settings.Limit - fixed - in.Meter.of(s.Stable.System)
	units := eligible(all, cmp.Or(in.Share, Older), free/heardShare)
	if len(in.Only) > 0 {
		units, in.Settings.Target = within(all, in.Only), 0
	}
	if size(units) == 0 || size(units) < minChunk && len(in.Only) == 0 {
		return Job{}, false
	}
	j := Job{in: in, notes: strings.TrimSpace(s.Stable.Notes() + "\n" + in.Tail), fixed: fixed}
	context := mind.Context{Faded: slices.Clone(s.Faded), Live: slices.Clone(s.Live[:len(all)])}
	j.request = mind.State{Stable: s.Stable, Context: context}
	live := map[int]*mind.Entry{}
	for _, u := range units {
		live[u.N] = u.Entry
	}
	j.kept = stillValid(in.Kept, live)
	units = slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return live[u.N] == nil })
	j.runs = runs(units)
	return j, true
}

// render renders the frozen request.
func (j Job) render() Job {
	j.messages = j.request.Messages(j.in.Tail)
	j.base = j.fixed + j.in.Meter.messages(j.messages...)
	return j
}

// Within is how many tokens of ranges of entries Input.Only makes eligible, and whether it is worth
// that: a summary of less would be no smaller.
func Within(s *mind.State, meter Meter, only ...event.Entries) (tokens int, worth bool) {
	tokens = size(within(unitsOf(s, meter), only))
	return tokens, tokens >= aloneChunk
}

func within(units []unit, only []event.Entries) (picked []unit) {
	in := func(u unit) bool {
		return slices.ContainsFunc(only, func(r event.Entries) bool { return r.From <= u.N && u.N <= r.To })
	}
	for _, t := range turns(units) {
		// The daemon's notes and hints in a turn go with it.
		whole := t[len(t)-1].Final() && !slices.ContainsFunc(t, func(u unit) bool {
			return !in(u) && (u.Kind == mind.Inbound || u.Kind == mind.Reply)
		})
		for i, u := range t {
			if whole || in(u) && u.done() && i < len(t)-1 {
				picked = append(picked, u)
			}
		}
	}
	return picked
}

// unitsOf returns the live entries before the first that waits for a result.
func unitsOf(s *mind.State, meter Meter) (units []unit) {
	for _, e := range s.Live {
		if e.Waits() {
			break
		}
		units = append(units, unitOf(e, meter, s.Stable.Params))
	}
	return units
}

// heardShare is the part of what is free, one in so many, that stays of an open turn beside its steps. Each that stays
// costs another gist too: what fades before it and after it shares none.
const (
	heardShare = 10
	gistTokens = 50
)

// eligible returns the units that may fade, oldest first. What was heard in the open turn stays while it is few tokens.
func eligible(units []unit, share float64, few int) []unit {
	all, heard := turns(units), 0
	for i := len(units) - 1; i >= 0 && !units[i].Final(); i-- {
		if !units[i].silent() {
			heard += units[i].tokens + gistTokens
		}
	}
	if heard > few {
		all = stretches(units)
	}
	picked := older(all, int(share*float64(size(units))))
	if size(picked) < minChunk && share >= 1 {
		picked = nil // the newest stays, and what is asked in it, as long as something else may fade
		most, n, sum := int(Older*float64(size(units))), 0, 0
		for ; n < len(units) && sum+units[n].tokens <= most; n++ {
			sum += units[n].tokens
		}
		picked = units[:n]
		if size(picked) < minChunk {
			picked = units
		}
	}
	if size(picked) < minChunk {
		return nil
	}
	return picked
}

// older picks turns from the front while they fit into most tokens, and of the next one its
// finished steps if little would fade without them. If those are little too, the turn
// is taken whole, unless it is open or the newest.
func older(turns [][]unit, most int) (picked []unit) {
	at := 0
	for i, t := range turns {
		whole := t[len(t)-1].Final() || i < len(turns)-1
		if whole && at+size(t) <= most {
			picked = append(picked, t...)
			at += size(t)
			continue
		}
		if at >= most*3/4 {
			return picked
		}
		for _, u := range t[:len(t)-1] { // the newest unit is what the identity is at
			if u.silent() && (at+u.tokens <= most || at < most/2) {
				picked = append(picked, u)
			}
			at += u.tokens
		}
		if whole && i < len(turns)-1 && size(picked) < most/2 {
			return slices.Concat(turns[:i+1]...)
		}
		return picked
	}
	return picked
}

func size(units []unit) int {
	n := 0
	for _, u := range units {
		n += u.tokens
	}
	return n
}

// stillValid takes those chunks out of the live entries, so that nothing fades twice, of which each entry is there
// as it was read: no person has put another in its place.
func stillValid(chunks []Fade, live map[int]*mind.Entry) (valid []Fade) {
	changed := func(u unit) bool { return live[u.N] != u.Entry }
	for _, f := range chunks {
		if slices.ContainsFunc(f.units, changed) {
			continue
		}
		for _, u := range f.units {
			delete(live, u.N)
		}
		valid = append(valid, f)
	}
	return valid
}

// text renders units for a request that stands alone, and as the source that
// answers are checked against.
func text(units []unit) string {
	var texts []string
	for _, u := range units {
		texts = append(texts, u.Plain())
	}
	return strings.Join(texts, "\n")
}

// Instructions returns the text that an identity gives for a task, or the
// built-in one with a note of why: an agent may spoil its own file.
func Instructions(custom, builtin string) (text, note string) {
	switch n := utf8.RuneCountInString(custom); {
	case !utf8.ValidString(custom):
		return builtin, "it is not UTF-8"
	case strings.TrimSpace(custom) == "":
		return builtin, "it is empty"
	case n > MaxInstructions:
		return builtin, "it is longer than 8000 characters"
	case strings.ContainsRune(custom, 0):
		return builtin, "it holds NUL characters"
	}
	return custom, ""
}

// MaxInstructions bounds SEGMENT.md and SUMMARISE.md, in characters: each task
// carries one of them.
const MaxInstructions = 8000
