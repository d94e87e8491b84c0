package compactor

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/mind"
)

// Mechanical accounts for every eligible entry without a model: it cuts by size
// and by turns, and a summary is the head and the tail of what was said, and names.
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
func (j Job) unasked(f Fade) Fade {
	if !f.unread() {
		return f
	}
	made := j.mechanical(f.units)
	made.stays = f.stays
	return made
}

func ordered(fades []Fade) []Fade {
	slices.SortFunc(fades, func(a, b Fade) int { return a.From - b.From })
	return fades
}

// chunk begins the fade of some units.
func chunk(units []unit) Fade {
	f := Fade{From: units[0].N, To: units[len(units)-1].N, Tokens: size(units), units: units}
	for _, u := range units {
		f.topics += u.begins.topics
		if u.Kind == mind.Inbound {
			f.lines += strings.Count("\n"+u.Text, "\n[USER:")
		}
	}
	return f
}

// mechanical summarises a chunk without a model.
func (j Job) mechanical(units []unit) Fade {
	f := chunk(units)
	f.Mechanical = true
	f.Relevance = mechanicalRelevance(units)
	if f.Gist = echo(units); f.Gist != "" {
		return f
	}
	words := talk(units)
	for _, s := range words {
		if s.rule() {
			f.pin(s)
		}
	}
	f.Gist = mechanicalGist(units, words)
	f.Summary = j.mechanicalSummary(f, units, words)
	return f
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
	for _, u := range units {
		if u.Kind == mind.Hint {
			continue
		}
		for line := range strings.Lines(u.Text) {
			if _, rest, ok := roomLine(line); ok {
				line = rest
			}
			b.WriteString(line)
		}
		for _, c := range u.Calls {
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
func (j Job) mechanicalSummary(f Fade, units []unit, words []said) string {
	parts := []string{truncate(did(units), 240)}
	if n := len(words); n > 0 {
		parts = slices.Compact([]string{truncate(words[0].String(), 240), truncate(words[n-1].String(), 240)})
		if n > 2 {
			parts = slices.Insert(parts, 1, "…")
		}
	}
	if ids := identifiers(material(units), 10); len(ids) > 0 {
		parts = append(parts, "Names: "+strings.Join(ids, ", "))
	}
	return j.shorten(strings.Join(parts, "\n"), j.longest(f))
}

// What a summary has room for at least: for each topic, and for each line that people said.
const (
	topicTokens = 80
	lineTokens  = 20
)

// longest is how many tokens the summary of a chunk may have: the more relevant,
// the longer a share of its source.
func (j Job) longest(f Fade) int {
	share := f.Tokens * (4 + 2*f.Relevance) / 100
	most := j.in.Settings.budget(summariesShare / 4)
	topics := topicTokens * max(1, f.topics)
	return max(1, min(max(share, topics, lineTokens*f.lines), f.Tokens/2, max(most, topics)))
}

// shorten brings a text to most tokens, its end marked.
func (j Job) shorten(s string, most int) string {
	for n := utf8.RuneCountInString(s); n > 8 && j.in.Meter.of(s) > most; n = n * 15 / 16 {
		s = truncate(s, n-1)
	}
	return s
}

// Answer answers a task about some entries without a model, in the form of a model's
// answer: it is the offline model's. With a ratio, the source fills a summary
// up to that share of it, which is about as long as a model makes it.
func Answer(task string, entries []*mind.Entry, ratio float64, meter Meter) string {
	j := Job{in: Input{Settings: Default(1 << 20), Meter: meter}}
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
	f := j.mechanical(units)
	left := int(ratio*float64(f.Tokens)) - meter.of(f.Summary)
	if left > 0 {
		f.Summary += "\n" + j.shorten(strings.TrimSpace(material(units)), left)
	}
	var pins []string
	for _, p := range f.pins {
		pins = append(pins, p.Text)
	}
	return encode(map[string]any{"summary": f.Summary, "gist": f.Gist, "relevance": f.Relevance, "pins": pins})
}

func encode(v any) string {
	text, _ := json.Marshal(v) // strings and numbers only: cannot fail
	return string(text)
}

// echo returns the gist of units that need no summary: of turns in which nothing had to be said, or of steps which only
// showed again what stands elsewhere; it leads there. It is "" for all others.
func echo(units []unit) string {
	if !slices.ContainsFunc(turns(units), func(t []unit) bool { return !quiet(t) }) {
		return gist("nothing to say: " + first(units[0]))
	}
	var from []string
	for _, u := range units {
		if u.Kind != mind.Hint && !u.done() {
			return ""
		}
		for _, c := range u.Calls {
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
func lookedUp(c *mind.Call) string {
	if opened, ok := strings.CutPrefix(c.Text, mind.OpenedText); ok && c.Tool == "UNCOMPACT" {
		original, _, _ := strings.Cut(opened, ": characters ")
		return "opened again: hash=" + original
	}
	if c.Tool == "RECALL" {
		return "searched for " + c.Target()
	}
	return ""
}
