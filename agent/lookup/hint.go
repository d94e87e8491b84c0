package lookup

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall"
	"lethe/mind"
)

const (
	mostLines    = 3
	mostMessages = 8   // the newest messages that are looked up
	mostChars    = 500 // of a failed call, and of its result, that are looked up
)

// Wanted returns what to look up: the newest messages heard since its last reply, without answers to its
// own questions and lines of triggers and jobs; and the failed calls of that reply. Entries up to after were looked at
// before.
func Wanted(s *mind.State, after int) (texts []string, why string) {
	live := s.Live
	i := len(live)
	for i > 0 && live[i-1].N > after && live[i-1].Kind != mind.Hint {
		i--
	}
	for _, e := range live[i:] {
		switch e.Kind {
		case mind.Inbound:
			why = "inbound"
			for _, l := range messages(e.Text) {
				trigger := func(w mind.Wake) bool { return w.Room == e.Room && w.By == l.Name }
				if e.About == nil && !slices.ContainsFunc(s.Wakes, trigger) {
					texts = append(texts, l.Text)
				}
			}
		case mind.Reply:
			texts = nil // it has answered what came before
			if failed := failures(e); len(failed) > 0 {
				texts, why = failed, "failed"
			}
		}
	}
	return texts[max(0, len(texts)-mostMessages):], why
}

// messages are the lines of a rendered inbound entry, or of a passage.
func messages(rendered string) []chat.Line {
	var out []chat.Line
	for line := range strings.Lines(rendered) {
		if strings.HasPrefix(line, "◳ ") { // describes the parts that are not shown
			continue
		}
		text := blobs.Unescape(strings.TrimRight(line, "\n"))
		if more, ok := strings.CutPrefix(text, "    "); ok && len(out) > 0 {
			out[len(out)-1].Text += "\n" + more
			continue
		}
		out = append(out, chat.Parse([]byte(text)))
	}
	return out
}

// failures returns the failed calls of a reply, and apart from them the beginnings of their results.
func failures(e *mind.Entry) []string {
	var out []string
	for _, c := range e.Calls {
		if c.Status == mind.Failed {
			out = append(out, arguments(blobs.Unescape(c.Args)), clipped(blobs.Unescape(c.Text)))
		}
	}
	return out
}

// arguments are the texts of a call's arguments, without their names.
func arguments(raw string) string {
	var args map[string]any
	if json.Unmarshal([]byte(raw), &args) != nil {
		return clipped(raw)
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if text, ok := args[name].(string); ok {
			texts = append(texts, text)
		}
	}
	return clipped(strings.Join(texts, "\n"))
}

func clipped(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), mostChars)])
}

// Unseen returns the hits that are worth a hint: no hit if the best stands in sight, since the others fit worse; else
// all hits out of sight. A passage is in sight if the live context has its longest line, in an opened original, a
// result of RECALL or a hint, or if its summary, a pin or a line of MEMORY says as much.
func Unseen(s *mind.State, hits []recall.Hit) []recall.Hit {
	hits = slices.DeleteFunc(hits, func(h recall.Hit) bool { return !s.MayTell(s.TurnRoom(), h.Rooms...) })
	if len(hits) == 0 {
		return nil
	}
	var live strings.Builder
	for _, e := range s.Live {
		live.WriteString(e.Plain() + "\n")
	}
	notes, _, _ := strings.Cut(s.Stable.Notes(), "\n◆ life") // LIFE says that something was said, and not what
	seen := func(h recall.Hit) bool {
		passage, longest := "", ""
		for _, l := range messages(h.Passage) {
			passage += l.Text + "\n"
		}
		for _, line := range strings.SplitAfter(passage, "\n") {
			if _, said, ok := strings.Cut(line, ") "); ok && line[0] == '(' { // behind "(thought)" or the name of a tool
				line = said
			}
			if len(line) > len(longest) {
				longest = strings.Trim(line, "… \n") // where a long message was cut
			}
		}
		tells := func(text string) bool { return recall.Told(passage, text) }
		return strings.Contains(live.String(), blobs.Escape(longest)) ||
			slices.ContainsFunc(strings.Split(notes, "\n"), tells) ||
			slices.ContainsFunc(s.Faded, func(r mind.Range) bool { return r.Original.Hash == h.Hash && tells(r.Text) })
	}
	if seen(hits[0]) {
		return nil
	}
	return slices.DeleteFunc(hits, seen)
}

// Compose returns the text of a hint at the best of hits, and the originals that it names.
func Compose(s *mind.State, store *blobs.Store, hits []recall.Hit) (text string, refs []string) {
	text = "These may matter now, from what has faded (UNCOMPACT shows all):"
	named := map[blobs.Hash]bool{}
	for _, h := range hits {
		if len(named) == mostLines {
			break
		}
		if named[h.Hash] {
			continue
		}
		named[h.Hash] = true
		refs = append(refs, h.Hash.String())
		isInSight := slices.ContainsFunc(s.Faded, func(r mind.Range) bool { return r.Original.Hash == h.Hash })
		if isInSight && !s.Apart() { // otherwise it says the room
			h.Gist = ""
		}
		shown := h.Passage
		if len(named) == 1 { // of the best also the end of its turn, or the answer to the question
			shown = h.Shown()
		}
		text += "\n" + Listing(store, h) + tools.Indented(shown)
	}
	return text, refs
}

// Listing is the line that names a hit, as cards list what they stand for.
func Listing(store *blobs.Store, h recall.Hit) string {
	ref := blobs.Ref{Hash: store.Short(h.Hash), Gist: h.Gist}
	listing := mind.Listing{Ref: ref, From: h.From, To: h.To, Source: h.Source, At: h.At, Overtaken: h.Mark}
	return listing.String()
}
