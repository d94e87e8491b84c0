package text

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/pattern"
	"lethe/mind"
)

// About returns a model's gist and summary of an original, which are searched with it; "" without a summary. Nobody
// said them: neither a passage nor a hint rests on them.
func About(meta blobs.Meta) string {
	if meta.Summary == "" {
		return ""
	}
	return meta.Gist + "\n" + meta.Summary
}

// Section is one part of an original, as package mind renders entries when they
// leave the context: a header line that begins with ◆, and the text until the next
// one. ◆ is escaped in text from outside, which therefore cannot begin a section.
type Section struct {
	Kind        string // inbound, reply, call, result, note or hint; "" for anything else
	Entry, Call int    // e12 is 12, 0; e12.3 is 12, 3
	Room        string // of inbound, and of what answers it, where the life knows private rooms
	Tool        string // of a call and its result
	Source      string // the agent that it was adopted from; such a section has the number of no entry
	Ref         string // address of the blob with the entry or the result
	name        string // a12, if it was adopted
	thought     bool
	from, to    int // bytes of its text in the body
}

// Name returns the number of the section's entry, such as e12, or a12 if it was adopted.
func (s *Section) Name() string { return cmp.Or(s.name, mind.EntryID(s.Entry)) }

const header = "◆ "

// Text returns the text below the header.
func (s *Section) Text(body string) string { return body[s.from:s.to] }

// Header returns the line above the section, without its mark; "" if there is no line.
func (s *Section) Header(body string) string {
	head := strings.TrimSuffix(body[:s.from], "\n")
	return strings.TrimPrefix(head[strings.LastIndexByte(head, '\n')+1:], header)
}

// Sections reads an original, or a part of a context. Text before the first header is a
// section without a kind, unless it is blank.
func Sections(body string) iter.Seq[*Section] {
	return func(yield func(*Section) bool) {
		var call Section // the last one: a result comes after its call
		sec := &Section{}
		at := 0
		end := func(to int) bool {
			sec.to = to
			blankBeginning := sec.from == 0 && strings.TrimSpace(body[:to]) == ""
			return blankBeginning || yield(sec)
		}
		for at < len(body) {
			line, _, _ := strings.Cut(body[at:], "\n")
			next := min(len(body), at+len(line)+1)
			if section, ok := readHeader(line); ok {
				if !end(at) {
					return
				}
				switch {
				case section.Kind == "call":
					call = section
				case section.Kind == "result" && section.Source == "" && section.Entry == call.Entry:
					if section.Call == call.Call {
						section.Tool = call.Tool
					}
				}
				section.from = next
				sec = &section
			}
			at = next
		}
		end(len(body))
	}
}

// readHeader reads the line that begins a section. One of a later version that it
// does not know begins a section without a kind.
func readHeader(line string) (section Section, ok bool) {
	rest, ok := strings.CutPrefix(line, header)
	if !ok {
		return section, false
	}
	rest, ref, _ := strings.Cut(rest, "◱hash=")
	words := append(strings.Fields(rest), "", "", "", "")
	if kind, adopted := adoptedKinds[words[1]]; adopted && adoptedName().MatchString(words[0]) {
		section = Section{Kind: kind, Source: words[2], name: words[0], thought: words[1] == "thought"}
		if isTool := words[1] == "call" || words[1] == "result"; isTool && words[3] != "-" {
			section.Tool = words[3]
		}
		return section, true
	}
	entry, call, err := mind.ParseID(words[0])
	if err != nil {
		return section, true
	}
	section = Section{Kind: words[1], Entry: entry, Call: call}
	section.Ref, _, _ = strings.Cut(ref, " ")
	switch section.Kind {
	case mind.Inbound, mind.Reply:
		section.Room = strings.TrimPrefix(words[2], "room=")
	case "call":
		section.Tool = words[2]
	case mind.Note, mind.Hint, "result":
	default:
		section.Kind = ""
	}
	return section, true
}

// adoptedKinds are the kinds of sections that other agents' sessions have, each with the kind as which it is read.
var adoptedKinds = map[string]string{
	"said": mind.Inbound, "thought": mind.Note, "call": "call", "result": "result", "memory": mind.Note,
	"summary": mind.Note, "harness": mind.Hint, "source": mind.Hint, // these two say nothing
}

var adoptedName = pattern.Lazy(`^a\d+$`)

// copied stands in results of UNCOMPACT: the headers of another original, escaped.
const (
	copied        = "\n◰4 e"
	copiedAdopted = "\n◰4 a"
	copiedTalk    = "), said " // before the time, also above a page without a header
)

// daily begins notes of the daemon that repeat pins, or tell of a room and not of what was said there.
var daily = []string{"Your list of pins is full", "No longer pinned", "You now hear room ", "Others have answered what the next"}

// silent reports whether a section only repeats what stands in other originals:
// hints, what RECALL found, an original that UNCOMPACT showed. A copy would
// outrank the text that it was made of.
func (s *Section) silent(body string) bool {
	content := s.Text(body)
	switch {
	case s.Kind == "hint" || s.Tool == "RECALL":
		return true
	case s.Tool == "UNCOMPACT":
		head, _, _ := strings.Cut(content, ": characters ")
		isCopy := strings.Contains(content, copied) || strings.Contains(content, copiedAdopted)
		return s.Kind == "call" || isCopy || strings.Contains(head, copiedTalk)
	}
	return s.Kind == "note" && slices.ContainsFunc(daily, func(head string) bool { return strings.HasPrefix(content, head) })
}

// The kinds of content that a search can ask for.
var kinds = map[string]string{"inbound": "chat", "reply": "reply", "call": "tool", "result": "tool", "note": "note"}

// Content names what a section holds: chat, reply, tool, note or "".
func (s *Section) Content() string { return kinds[s.Kind] }

// Span is a range of bytes of a text.
type Span struct{ From, To int }

// Large originals are indexed and ranked in segments, so that a long output does not drown one of its parts. A line
// belongs to the segment that its first byte is in.
const (
	wholeBytes   = 12 << 10 // an original up to this size is one segment
	segmentBytes = 8 << 10
	MaxSegments  = 512 // of one original: the rest of an original, after 4 MB, is not indexed
)

// Segments returns how many segments an original of some size has.
func Segments(size int) int {
	if size <= wholeBytes {
		return 1
	}
	return min(MaxSegments, (size+segmentBytes-1)/segmentBytes)
}

// SegmentOf returns the segment of a byte of an original. It may be MaxSegments or more: such bytes are not indexed.
func SegmentOf(at, size int) int {
	if size <= wholeBytes {
		return 0
	}
	return at / segmentBytes
}

// Facts describe an original besides its words, for filters.
type Facts struct {
	From, To            int      // entries; 0 where no header names one
	Rooms, Tools, Kinds []string // each once, in order of appearance
	Source              string   // the agent that it was adopted from
	Times                        // of the lines that have one
}

// Times are the first and the last of some times; both zero before the first Add.
type Times struct{ First, Last time.Time }

// Add counts a time in.
func (t *Times) Add(at time.Time) {
	if t.First.IsZero() || at.Before(t.First) {
		t.First = at
	}
	if at.After(t.Last) {
		t.Last = at
	}
}

// maxFacts bounds how many rooms and tools of one original are told apart.
const maxFacts = 100

// FactsOf reads the facts of an original.
func FactsOf(body string) Facts {
	var facts Facts
	for section := range Sections(body) {
		facts.Source = cmp.Or(facts.Source, section.Source)
		if section.Entry > 0 {
			facts.From = cmp.Or(facts.From, section.Entry)
			facts.From, facts.To = min(facts.From, section.Entry), max(facts.To, section.Entry)
		}
		if section.Kind != "reply" || strings.TrimSpace(section.Text(body)) != "" {
			facts.Kinds = with(facts.Kinds, section.Content())
		}
		facts.Rooms, facts.Tools = with(facts.Rooms, section.Room), with(facts.Tools, section.Tool)
		if section.Kind != "inbound" {
			continue
		}
		for line := range strings.Lines(section.Text(body)) {
			if m, _, ok := readTag(line); ok && !m.At.IsZero() {
				facts.Add(m.At)
			}
		}
	}
	return facts
}

// with adds a value to a list, unless it is empty, there already, or one too many.
func with(list []string, value string) []string {
	isFull := len(list) >= maxFacts
	if value == "" || isFull {
		return list
	}
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}
