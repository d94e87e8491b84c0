package compactor

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe/life/event"
	"lethe/mind"
)

// Input is the input of a plan beside the state.
type Input struct {
	Settings Settings
	Meter    Meter
	// Tail is the end of the request in the classic order.
	Tail string
	// Segment and Summarise are the instructions of the two tasks; see
	// Instructions.
	Segment, Summarise string
	// Wish is a person's wish for this compaction, in the words of func Wish; or "".
	Wish string
	// Share is the part of the live entries, by tokens and from the oldest, that
	// is eligible, 0 to 1; 0 means Older. More than that is for a context that
	// fits into its limit in no other way.
	Share float64
	// Only, when not empty, are ranges of entries. Then their whole turns and finished
	// steps are eligible, however few, and nothing else.
	Only []event.Entries
	// Kept are the chunks that an earlier swap left live. Those whose entries
	// have not changed are not cut again, and not summarised again if they were;
	// each time one is left it counts as a little less relevant.
	Kept []Fade
	// Earlier ones stand for the summaries of their entries. Run gives each new one to Answered, from several goroutines.
	Earlier  []Earlier
	Answered func(Earlier)
	// People reports whether a person is known: words of others are not pinned. nil: everybody who signs is.
	People func(name string) bool
}

// Older is the share that is eligible: the newest third is not touched.
const Older = 2.0 / 3

// Job is a compaction that has been decided on. It holds what never changes: the state may
// change while it runs.
type Job struct {
	in       Input
	request  mind.State     // the frozen request is rendered from it
	messages []mind.Message // that request, once a model is to be asked
	notes    string         // pins, MEMORY and LIFE, for requests that stand alone
	fixed    int            // tokens of tools and answer
	base     int            // tokens of messages, with fixed
	runs     [][]unit       // eligible entries to ask about; consecutive numbers in each
	kept     []Fade         // chunks that stayed live
}

// unit is an entry that waits for no result: a reply comes with its calls and their results.
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

// Plan decides which entries are eligible: the older two thirds of the live ones by
// tokens, or in.Share instead, in whole turns. The finished steps of a turn are eligible if
// it is open, or larger than the eligible share; the lines in it stay, with the answers to
// them, until it is over or they take too much. Lines without a reply are eligible only if
// all may fade and there is nothing else, the older part first. A unit that waits for a
// result never is. ok is false if the eligible entries are not worth a compaction.
func Plan(state *mind.State, in Input) (job Job, ok bool) {
	all := unitsOf(state, in.Meter)
	fixed := in.Meter.of(state.Stable.Tools) + state.Stable.Params.MaxTokens
	free := in.Settings.Limit - fixed - in.Meter.of(state.Stable.System)
	units := eligible(all, cmp.Or(in.Share, Older), free/heardShare)
	if len(in.Only) > 0 {
		units, in.Settings.Target = within(all, in.Only), 0
	}
	tooFew := len(in.Only) == 0 && size(units) < minChunk
	if tooFew || size(units) == 0 {
		return Job{}, false
	}
	job = Job{in: in, notes: strings.TrimSpace(state.Stable.Notes() + "\n" + in.Tail), fixed: fixed}
	context := mind.Context{Faded: slices.Clone(state.Faded), Live: slices.Clone(state.Live[:len(all)])}
	job.request = mind.State{Stable: state.Stable, Context: context}
	job.request.Rooms = map[string]*mind.Room{}
	for name, room := range state.Rooms {
		job.request.Rooms[name] = &mind.Room{Readers: room.Readers}
	}
	live := map[int]*mind.Entry{}
	for _, u := range units {
		live[u.N] = u.Entry
	}
	job.kept = stillValid(in.Kept, live)
	units = slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return live[u.N] == nil })
	again, units := job.reuse(units)
	job.kept = append(job.kept, again...)
	job.runs = runs(units, state.Together)
	return job, true
}

// Apart is the job of summarising texts that are no part of the life, each in a request of its own. Its fades have their
// numbers, from 1.
func Apart(in Input, params mind.Params, texts []string) Job {
	in.Settings.Alone, in.Settings.Target = true, 0
	job := Job{in: in, request: mind.State{Stable: mind.Stable{System: apart, Params: params}}, fixed: params.MaxTokens}
	for i, text := range texts {
		entry := &mind.Entry{N: i + 1, Kind: mind.Note, Text: text}
		job.request.Live = append(job.request.Live, entry)
		job.runs = append(job.runs, []unit{unitOf(entry, in.Meter, params)})
	}
	return job
}

const apart = "You write notes about a talk that others had, a person and another assistant. You had no part in it."

// render renders the frozen request.
func (j Job) render() Job {
	j.messages = j.request.Messages(j.in.Tail)
	j.base = j.fixed + j.in.Meter.messages(j.messages...)
	return j
}

// Within returns the tokens that Input.Only would make eligible in ranges of entries. worth is false for so
// few that a summary would be no smaller.
func Within(state *mind.State, meter Meter, only ...event.Entries) (tokens int, worth bool) {
	tokens = size(within(unitsOf(state, meter), only))
	return tokens, tokens >= aloneChunk
}

func within(units []unit, only []event.Entries) (picked []unit) {
	in := func(u unit) bool {
		return slices.ContainsFunc(only, func(r event.Entries) bool { return r.From <= u.N && u.N <= r.To })
	}
	for _, turn := range turns(units) {
		outside := func(u unit) bool { // the daemon's notes and hints in a turn go with it
			isTalk := u.Kind == mind.Inbound || u.Kind == mind.Reply
			return isTalk && !in(u)
		}
		newest := len(turn) - 1
		whole := turn[newest].Final() && !slices.ContainsFunc(turn, outside)
		for i, unit := range turn {
			isStep := i < newest && unit.done()
			if !whole && !isStep {
				continue
			}
			if whole || in(unit) {
				picked = append(picked, unit)
			}
		}
	}
	return picked
}

// unitsOf returns the live entries before the first that waits for a result.
func unitsOf(state *mind.State, meter Meter) (units []unit) {
	for _, entry := range state.Live {
		if entry.Waits() {
			break
		}
		units = append(units, unitOf(entry, meter, state.Stable.Params))
	}
	return units
}

// heardShare bounds the lines of an open turn that stay: one in so many free tokens. Each such line costs another gist,
// too, since the steps before it and behind it share no gist.
const (
	heardShare = 10
	gistTokens = 50
)

// eligible returns the units that may fade, oldest first. The lines of the open turn stay while they have at most few
// tokens.
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
		picked = nil // the newest stays, with its question, as long as something else may fade
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

// older picks turns from the front while they fit into most tokens, and finished steps of the next
// turn if little would fade without them. If little would fade even so, it takes that turn whole,
// unless it is open or the newest.
func older(turns [][]unit, most int) (picked []unit) {
	at := 0
	for i, turn := range turns {
		whole := turn[len(turn)-1].Final() || i < len(turns)-1
		if whole && at+size(turn) <= most {
			picked = append(picked, turn...)
			at += size(turn)
			continue
		}
		if at >= most*3/4 {
			return picked
		}
		for _, unit := range turn[:len(turn)-1] { // the identity is working at the newest unit
			room := at+unit.tokens <= most || at < most/2
			if room && unit.silent() {
				picked = append(picked, unit)
			}
			at += unit.tokens
		}
		isOld := whole && i < len(turns)-1
		if isOld && size(picked) < most/2 {
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

// stillValid returns the chunks whose entries are all live as they were read: no person has put another entry in their
// place. It takes their entries out of live, so that nothing fades twice.
func stillValid(chunks []Fade, live map[int]*mind.Entry) (valid []Fade) {
	changed := func(u unit) bool { return live[u.N] != u.Entry }
	for _, fade := range chunks {
		if slices.ContainsFunc(fade.units, changed) {
			continue
		}
		for _, u := range fade.units {
			delete(live, u.N)
		}
		valid = append(valid, fade)
	}
	return valid
}

// text renders units for a request that stands alone, and as the source that
// answers are checked against. Of what only repeats an original it says where that is.
func text(units []unit) string {
	var texts []string
	for _, u := range units {
		entry := *u.Entry
		entry.Calls = nil
		for _, call := range u.Calls {
			shown := *call
			shown.Text = cmp.Or(lookedUp(call), shown.Text)
			entry.Calls = append(entry.Calls, &shown)
		}
		texts = append(texts, entry.Plain())
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

// MaxInstructions bounds SEGMENT.md and SUMMARISE.md, in characters: each task carries the text of one file.
const MaxInstructions = 8000
