package compactor

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/mind"
)

// Mechanical accounts for every eligible entry without a model: it cuts by size
// and by turns, and a summary quotes the first and the last sentence and lists names.
func (j Job) Mechanical() []Fade {
	var fades []Fade
	for _, f := range j.kept {
		fades = append(fades, j.unasked(f))
	}
	for _, run := range j.runs {
		for _, chunk := range mechanicalChunks(run, j.in.Settings.maxChunk()) {
			fades = append(fades, j.mechanical(chunk))
		}
	}
	return ordered(fades)
}

// unasked is a chunk with the summary that it has, or a mechanical one.
func (j Job) unasked(fade Fade) Fade {
	if !fade.unread() {
		return fade
	}
	made := j.mechanical(fade.units)
	made.stays = fade.stays
	return made
}

func ordered(fades []Fade) []Fade {
	sort.SliceStable(fades, func(i, j int) bool { return fades[i].From < fades[j].From })
	return fades
}

// chunk begins the fade of some units.
func chunk(units []unit) Fade {
	fade := Fade{From: units[0].N, To: units[len(units)-1].N, Tokens: size(units), topics: topics(units), units: units}
	for _, unit := range units {
		if unit.Kind == mind.Inbound {
			fade.lines += strings.Count("\n"+unit.Text, "\n[USER:")
		}
	}
	return fade
}

// mechanical summarises a chunk without a model.
func (j Job) mechanical(units []unit) Fade {
	fade := chunk(units)
	fade.Mechanical = true
	fade.Relevance = mechanicalRelevance(units)
	if fade.Gist = echo(units); fade.Gist != "" {
		return fade
	}
	for _, m := range j.binding(units) {
		for _, sentence := range m.sentences {
			if (said{m.who, sentence}).rule() {
				fade.pin(said{m.who, m.pin(sentence)})
			}
		}
	}
	words := talk(units)
	fade.Gist = mechanicalGist(units, words)
	fade.Summary = j.attributed(j.mechanicalSummary(fade, units, words), units)
	return fade
}

// mechanicalRelevance returns the relevance of a chunk without asking a model: great if a turn goes on behind it, small
// if nobody spoke or nothing is new.
func mechanicalRelevance(units []unit) int {
	switch {
	case echo(units) != "":
		return 1
	case !units[len(units)-1].Final():
		return 6
	case len(talk(units)) > 0:
		return 4
	}
	return 2
}

// material returns the words, calls and results of units. It leaves out the structure around them, the thoughts of the
// identity, and texts that other originals hold.
func material(units []unit) string {
	var b strings.Builder
	for _, unit := range units {
		if unit.Kind == mind.Hint {
			continue
		}
		for line := range strings.Lines(unit.Text) {
			if _, rest, ok := roomLine(line); ok {
				line = rest
			}
			b.WriteString(line)
		}
		for _, c := range unit.Calls {
			if lookedUp(c) == "" {
				b.WriteString("\n" + c.Args + "\n" + c.Text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// mechanicalGist is the first thing that was said, or what was done where nobody spoke.
func mechanicalGist(units []unit, words []said) string {
	if len(words) > 0 {
		return gist(blobs.Unescape(words[0].String()))
	}
	return gist(blobs.Unescape(did(units)))
}

// did names the tools that were called, or what was looked up.
func did(units []unit) string {
	var calls []string
	for _, u := range units {
		for _, c := range u.Calls {
			calls = append(calls, cmp.Or(lookedUp(c), c.Tool+" "+oneLine(c.Args)))
		}
	}
	if len(calls) == 0 {
		return units[0].Kind + ": " + oneLine(units[0].Text)
	}
	return strings.Join(slices.Compact(calls), "; ")
}

// mechanicalSummary returns the first and the last thing said, and names, cut to the length that is allowed.
func (j Job) mechanicalSummary(fade Fade, units []unit, words []said) string {
	parts := []string{truncate(did(units), 240)}
	if n := len(words); n > 0 {
		parts = slices.Compact([]string{truncate(words[0].String(), 240), truncate(words[n-1].String(), 240)})
		if n > 2 {
			parts = append(parts[:1], append([]string{"…"}, parts[1:]...)...)
		}
	}
	if ids := identifiers(material(units), 10); len(ids) > 0 {
		parts = append(parts, "Names: "+strings.Join(ids, ", "))
	}
	return j.in.Meter.shorten(strings.Join(parts, "\n"), j.longest(fade))
}

// What a summary has room for at least: for each topic, and for each line that people said.
const (
	topicTokens = 80
	lineTokens  = 20
	longSummary = 2 * topicTokens // of a longer one a beginning stays before its gist alone does
)

// longest bounds the tokens of a chunk's summary: the more relevant, the larger a share of its source.
func (j Job) longest(fade Fade) int {
	share := fade.Tokens * (4 + 2*fade.Relevance) / 100
	most := j.in.Settings.budget(summariesShare / 4)
	topics := topicTokens * max(1, fade.topics)
	return max(1, min(max(share, topics, lineTokens*fade.lines), fade.Tokens/2, max(most, topics)))
}

// shorten brings a text to most tokens, its end marked.
func (m Meter) shorten(text string, most int) string {
	for n := utf8.RuneCountInString(text); n > 8 && m.of(text) > most; n = n * 15 / 16 {
		text = truncate(text, n-1)
	}
	return text
}

// Answer answers a task about some entries without a model, in the form of a model's
// answer: it is the offline model's. With a ratio, the source fills a summary
// up to that share of it, which is about as long as a model makes it.
func Answer(task string, entries []*mind.Entry, ratio float64, meter Meter) string {
	job := Job{in: Input{Settings: Default(1 << 20), Meter: meter}}
	var units []unit
	for _, e := range entries {
		units = append(units, unitOf(e, meter, mind.Params{}))
	}
	if len(units) == 0 {
		return "There is nothing to see."
	}
	if task == Segment {
		all := map[string]any{"from": units[0].N, "to": units[len(units)-1].N}
		return encode(map[string]any{"chunks": []any{all}})
	}
	fade := job.mechanical(units)
	left := int(ratio*float64(fade.Tokens)) - meter.of(fade.Summary)
	if left > 0 {
		fade.Summary += "\n" + meter.shorten(strings.TrimSpace(material(units)), left)
	}
	var pins []string
	for _, p := range fade.pins {
		pins = append(pins, p.Text)
	}
	return encode(map[string]any{"summary": fade.Summary, "gist": fade.Gist, "relevance": fade.Relevance, "pins": pins})
}

func encode(v any) string {
	text, _ := json.Marshal(v) // strings and numbers only: cannot fail
	return string(text)
}

// echo returns the gist of units that need no summary: turns that had nothing to say, or steps that only showed another
// original again, which the gist then names. It returns "" for all others.
func echo(units []unit) string {
	if !slices.ContainsFunc(turns(units), func(t []unit) bool { return !quiet(t) }) {
		return gist("nothing to say: " + first(units[0]))
	}
	var from []string
	for _, unit := range units {
		if unit.Kind != mind.Hint && !unit.done() {
			return ""
		}
		for _, c := range unit.Calls {
			source := lookedUp(c)
			if source == "" {
				return ""
			}
			from = append(from, source)
		}
	}
	return gist(blobs.Unescape(strings.Join(slices.Compact(from), "; ")))
}

// lookedUp names the original that a call opened, or the words that it searched for; it returns "" for other calls.
func lookedUp(call *mind.Call) string {
	if opened, ok := strings.CutPrefix(call.Text, mind.OpenedText); ok && call.Tool == "UNCOMPACT" {
		original, _, _ := strings.Cut(opened, ": characters ")
		return "opened again: hash=" + original
	}
	if call.Tool == "RECALL" {
		return "searched for " + call.Target()
	}
	return ""
}
