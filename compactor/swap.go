package compactor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind"
)

// Outcome is the result of a swap. Nothing of it is in force until the caller
// has written Lines and an epoch of the state with this Context.
type Outcome struct {
	Context mind.Context // for mind.State.Forget
	Lines   []Line
	// Kept are the chunks that stay live for now; they are the next Input.Kept.
	Kept  []Fade
	Faded int    // chunks that faded
	Used  int    // the part of Faded that a model has summarised
	Note  string // to be told to the agent, or ""
}

// Line is one fade for the log, and what it refers to.
type Line struct {
	event.Fade
	// Original holds what the entries said; empty for a card.
	Original mind.Ref
	// Replacement is the text of a summary or the list of a card. A gist is
	// nothing but the ref of its original.
	Replacement mind.Ref
}

// Swap replaces chunks of the state, from the least to the most relevant, until at most
// the target of the eligible part is live, and lets the faded past decay
// into its budgets. A chunk whose entries changed since it was read stays as it
// is. Originals are put before anything refers to them; the state itself is not changed.
// When nothing is to be done there are no Lines.
func Swap(state *mind.State, fades []Fade, set Settings, meter Meter, put Put, read Read) (Outcome, error) {
	sw := swap{
		Context: mind.Context{
			Faded: slices.Clone(state.Faded), Pins: slices.Clone(state.Pins), Live: state.Live, Overtaken: map[string]int{},
		},
		apart: state.Apart(), fresh: map[int]bool{}, cut: map[int]bool{}, epoch: state.Epoch + 1, set: set, meter: meter, put: put, read: read,
	}
	maps.Copy(sw.Overtaken, state.Overtaken)
	live := map[int]*mind.Entry{}
	for _, e := range sw.Live {
		live[e.N] = e
	}
	whole := stillValid(fades, live)
	note := sw.end(whole)
	chosen, kept := sw.pick(whole, true)
	out := Outcome{Faded: len(chosen), Used: len(Summarised(chosen))}
	for _, fade := range kept {
		if !fade.Mechanical { // those cost nothing to make again
			fade.stays++
			out.Kept = append(out.Kept, fade)
		}
	}
	for _, f := range ordered(chosen) {
		if err := sw.fade(f); err != nil {
			return Outcome{}, fmt.Errorf("fade e%d..e%d: %w", f.From, f.To, err)
		}
	}
	sw.overtake(whole)
	if err := sw.decay(); err != nil {
		return Outcome{}, fmt.Errorf("let the past fade: %w", err)
	}
	out.Note = strings.TrimSpace(note + "\n" + sw.unpin(set.budget(pinsShare)))
	out.Context, out.Lines = sw.Context, sw.lines
	return out, nil
}

// pick chooses chunks to fade, from the least relevant on, until at most the target is left. With
// ready it chooses only chunks that have a summary.
func (sw *swap) pick(chunks []Fade, ready bool) (chosen, kept []Fade) {
	left := 0
	for _, f := range chunks {
		left += f.Tokens
	}
	most := sw.set.Target * float64(left)
	groups, kept := sw.together(chunks)
	sort.SliceStable(groups, func(i, j int) bool {
		a, b := groups[i], groups[j]
		return cmp.Or(cmp.Compare(worth(a), worth(b)), cmp.Compare(a[0].From, b[0].From)) < 0
	})
	for _, group := range groups {
		notReady := ready && slices.ContainsFunc(group, Fade.unread)
		if notReady || float64(left) <= most {
			kept = append(kept, group...)
			continue
		}
		chosen = append(chosen, group...)
		for _, fade := range group {
			rest := sw.meter.of(fade.Summary) // its summary stays
			if fade.unread() {
				rest = fade.Tokens / 8 // as most have
			}
			left -= fade.Tokens - min(fade.Tokens, rest)
		}
	}
	return chosen, kept
}

// overtake marks what chunks overtake of older ranges that stand on no card: the line that they quote, if one of the
// ranges that they name says it, or a range that they name alone. What is still live is marked when it has faded.
func (sw *swap) overtake(chunks []Fade) {
	claims := maps.Clone(sw.Overtaken)
	for _, fade := range chunks {
		for claim, by := range fade.overtakes {
			claims[claim] = max(claims[claim], by)
		}
	}
	for claim, by := range claims {
		name, line, _ := strings.Cut(claim, ": ")
		says := func(e *mind.Entry) bool { return e.N < by && named(name, e.N, e.N) && mind.Says(e.Plain(), line) }
		if line != "" && slices.ContainsFunc(sw.Live, says) {
			sw.Overtaken[claim] = by
		}
		for _, faded := range sw.Faded {
			isOlder := faded.To < by && faded.Level != mind.Card
			isMeant := name == faded.Name() || line != "" && named(name, faded.From, faded.To)
			if isOlder && isMeant && sw.says(faded, line) {
				key := strings.Replace(claim, name, faded.Name(), 1)
				sw.Overtaken[key] = max(by, sw.Overtaken[key])
			}
		}
	}
}

// named reports whether entries are among those of a name like e3..e9, or e3.
func named(name string, from, to int) bool {
	first, last := 0, 0
	if n, _ := fmt.Sscanf(name, "e%d..e%d", &first, &last); n == 1 {
		last = first
	}
	return first <= to && from <= last
}

// says reports whether a line stands in a range, or in what is shown of it.
func (sw *swap) says(faded mind.Range, line string) bool {
	shown := faded.Original.Gist + "\n" + faded.Text
	if mind.Says(shown, line) {
		return true
	}
	body, err := sw.read(faded.Original.Hash)
	return err == nil && mind.Says(string(body), line)
}

// worth is the relevance of chunks that fade together, less for each time they stayed.
func worth(group []Fade) int {
	most := 0
	for _, f := range group {
		most = max(most, f.Relevance-f.stays)
	}
	return most
}

// stretch is a turn, or a stretch of the open one.
type stretch struct {
	live int // entries outside of all chunks
	over bool
}

// stretches returns the stretch of each live entry.
func (sw *swap) stretches() map[int]*stretch {
	of := map[int]*stretch{}
	var units []unit
	for _, e := range sw.Live {
		units = append(units, unit{Entry: e})
	}
	for _, turn := range stretches(units) {
		all := &stretch{len(turn), turn[len(turn)-1].Final()}
		for _, u := range turn {
			of[u.N] = all
		}
	}
	return of
}

// together groups chunks, in the order of entries, so that a question and its answer fade
// at once: two that have parts of one turn are in one group. Where a part of a turn that is
// over stays live, only steps of it may fade; other chunks of it are kept.
func (sw *swap) together(chunks []Fade) (groups [][]Fade, kept []Fade) {
	of := sw.stretches()
	count := func(f Fade, by int) {
		for _, u := range f.units {
			of[u.N].live += by
		}
	}
	for _, f := range chunks {
		count(f, -1)
	}
	parts := func(f Fade) bool {
		return slices.ContainsFunc(f.units, func(u unit) bool {
			isParted := of[u.N].over && of[u.N].live > 0
			return isParted && !u.done()
		})
	}
	for i := slices.IndexFunc(chunks, parts); i >= 0; i = slices.IndexFunc(chunks, parts) {
		count(chunks[i], 1)
		kept = append(kept, chunks[i])
		chunks = slices.Delete(chunks, i, i+1)
	}
	for i, fade := range chunks {
		continues := i > 0 && of[fade.From] == of[chunks[i-1].To]
		if continues && of[fade.From].live == 0 {
			groups[len(groups)-1] = append(groups[len(groups)-1], fade)
		} else {
			groups = append(groups, []Fade{fade})
		}
	}
	return groups, kept
}

// fade takes a chunk out of the live context and puts its summary into the past.
func (sw *swap) fade(chunk Fade) error {
	var original strings.Builder
	for _, u := range chunk.units {
		original.WriteString(u.Original(sw.read))
	}
	about := blobs.Meta{Gist: chunk.Gist}
	if rooms := chunk.rooms(); sw.apart && len(rooms) > 0 {
		about.Gist = blobs.Gist("(" + strings.Join(rooms, ", ") + ") " + chunk.Gist)
		for i := range chunk.pins {
			chunk.pins[i].Room = rooms[0] // the others have the same readers
		}
	}
	if !chunk.Mechanical { // that has only words of the original
		about.Summary = blobs.Unescape(chunk.Summary)
	}
	ref, err := sw.put(about, []byte(original.String()))
	if err != nil {
		return err
	}
	faded := mind.Range{
		From: chunk.From, To: chunk.To, Level: mind.Summary, Original: ref, Relevance: chunk.Relevance,
		Text: chunk.Summary, At: chunk.units[len(chunk.units)-1].At, Epoch: sw.epoch,
	}
	if chunk.Summary == "" || sw.meter.of(chunk.Summary) >= chunk.Tokens { // a few words need no summary
		faded.Level, faded.Text = mind.Gist, ""
	}
	sw.Live = slices.DeleteFunc(slices.Clone(sw.Live), func(e *mind.Entry) bool {
		return chunk.From <= e.N && e.N <= chunk.To
	})
	sw.fresh[chunk.From] = true
	sw.Faded = mind.Ordered(append(sw.Faded, faded))
	sw.pin(chunk.pins)
	return nil
}

// written puts the summaries that stand anew and lists the chunks that have faded.
func (sw *swap) written() error {
	for i := range sw.Faded {
		faded := &sw.Faded[i]
		isCut := sw.cut[faded.From] && faded.Level == mind.Summary
		if !sw.fresh[faded.From] && !isCut {
			continue
		}
		line := Line{Fade: faded.Fade(), Original: faded.Original}
		if faded.Level == mind.Summary {
			ref, err := sw.put(blobs.Meta{Gist: faded.Original.Gist}, []byte(blobs.Unescape(faded.Text)))
			if err != nil {
				return err
			}
			faded.Summary = &ref
			line.Replacement = ref
		}
		sw.lines = append(sw.lines, line)
	}
	return nil
}
