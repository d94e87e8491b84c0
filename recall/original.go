package recall

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
)

// section is one part of an original: a line that begins with ◆, and the text
// until the next such line. No text from outside can begin one, since ◆ is
// escaped there.
type section struct {
	kind        string // inbound, reply, call, result, note, hint; "" for what stands before the first header
	entry, call int    // e12 is 12, 0; e12.3 is 12, 3
	room        string // of inbound
	tool        string // of a call and its result
	tells       bool   // what UNCOMPACT shows here stands nowhere else
	from, to    int    // bytes of the text, without the header
}

const header = "◆ "

// sections reads an original as package mind renders entries when they leave
// the context. tells are the ids of those in which UNCOMPACT shows what stands
// nowhere else.
func sections(body string, tells ...string) []section {
	var out []section
	sec := section{}
	tools := map[[2]int]string{}
	at := 0
	end := func(next int) {
		if sec.to = next; sec.kind != "" || strings.TrimSpace(body[sec.from:sec.to]) != "" {
			out = append(out, sec)
		}
	}
	for at < len(body) {
		line, _, _ := strings.Cut(body[at:], "\n")
		next := min(len(body), at+len(line)+1)
		if s, ok := readHeader(line); ok {
			end(at)
			if s.kind == "call" {
				tools[[2]int{s.entry, s.call}] = s.tool
			} else if s.kind == "result" {
				s.tool = tools[[2]int{s.entry, s.call}]
				s.tells = len(tells) > 0 && slices.Contains(tells, s.id())
			}
			s.from = next
			sec = s
		}
		at = next
	}
	end(len(body))
	return out
}

// readHeader reads the line that opens a section. What it does not know, of a
// later version, is a section of no kind.
func readHeader(line string) (section, bool) {
	rest, ok := strings.CutPrefix(line, header)
	if !ok {
		return section{}, false
	}
	if ref := strings.Index(rest, "◱"); ref >= 0 {
		rest = rest[:ref]
	}
	words := strings.Fields(rest)
	var s section
	if len(words) < 2 || !strings.HasPrefix(words[0], "e") {
		return s, true
	}
	n, k, dotted := strings.Cut(words[0][1:], ".")
	var err, err2 error
	s.entry, err = strconv.Atoi(n)
	if dotted {
		s.call, err2 = strconv.Atoi(k)
	}
	if err != nil || err2 != nil {
		return section{}, true
	}
	switch s.kind = words[1]; s.kind {
	case "inbound":
		for _, w := range words[2:] {
			if room, ok := strings.CutPrefix(w, "room="); ok {
				s.room = room
			}
		}
	case "call":
		if len(words) > 2 {
			s.tool = words[2]
		}
	case "reply", "result", "note", "hint":
	default:
		s.kind = ""
	}
	return s, true
}

// silent reports whether a section says nothing of its own: what the identity
// was reminded of, looked up or opened is in other blobs, and a copy would
// outrank it.
func (s section) silent(body string) bool {
	return s.kind == "hint" || s.tool == "RECALL" || s.tool == "UNCOMPACT" && !s.tells ||
		s.kind == "note" && strings.HasPrefix(body[s.from:s.to], "Your list of pins is full")
}

// opened is how a result of UNCOMPACT begins; the address follows, with a space
// after it.
const opened = "original of hash="

// opens returns the address of what a section shows of another blob, or "".
func (s section) opens(body string) string {
	rest, ok := strings.CutPrefix(body[s.from:s.to], opened)
	if !ok || s.kind != "result" || s.tool != "UNCOMPACT" {
		return ""
	}
	short, _, _ := strings.Cut(rest, " ")
	return short
}

// id is that of an entry or a call in a list of some.
func (s section) id() string { return strconv.Itoa(s.entry) + "." + strconv.Itoa(s.call) }

// copies reports whether a blob that was opened says what is indexed anyway: it is
// an original of the life, or a card, which lists gists of originals.
func copies(b blobs.Blob, self string) bool {
	line, _, _ := strings.Cut(string(b.Body[:min(len(b.Body), wholeBytes)]), "\n")
	s, ok := readHeader(line)
	listed := strings.HasPrefix(line, "hash=") && strings.Contains(line, " gist=")
	return self != "" && strings.HasPrefix(b.Life, self) && (ok && s.kind != "" || listed)
}

// message is one message of a room as it stands in a section.
type message struct {
	speaker  string // escaped; "" for a line that is nobody's
	agent    bool
	at       time.Time // zero without a tag
	name     int       // where the speaker stands in the body
	from, to int       // bytes of what was said, without the tag
}

// messages reads the lines of an inbound section. An indented line belongs to
// the message before it, so nobody can forge a tag with a newline.
func (s section) messages(body string) []message {
	var out []message
	at := s.from
	for at < s.to {
		line, _, _ := strings.Cut(body[at:s.to], "\n")
		end := at + len(line)
		switch m, n := readTag(line); {
		case n > 0:
			m.name, m.from, m.to = at+m.name, at+n, end
			out = append(out, m)
		case len(out) > 0 && strings.HasPrefix(line, "    "):
			out[len(out)-1].to = end
		case !strings.HasPrefix(line, "◳"): // the mark of a cut
			out = append(out, message{from: at, to: end})
		}
		at = end + 1
	}
	return out
}

// readTag reads [USER:name time] at the beginning of a line and returns its
// length with the space after it, 0 where there is none.
func readTag(line string) (message, int) {
	var m message
	rest, ok := strings.CutPrefix(line, "[USER:")
	if !ok {
		if rest, ok = strings.CutPrefix(line, "[AGENT:"); !ok {
			return m, 0
		}
		m.agent = true
	}
	tag, text, ok := strings.Cut(rest, "]")
	if !ok {
		return m, 0
	}
	name, stamp, timed := strings.Cut(tag, " ")
	if timed {
		at, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return m, 0
		}
		m.at = at.UTC()
	}
	m.speaker, m.name = name, len(line)-len(rest)
	return m, len(line) - len(strings.TrimPrefix(text, " "))
}

// piece is a range of an original. What a tool was called with is JSON.
type piece struct {
	span
	quoted bool
}

// tokens are those of a piece, in bytes of the body.
func (p piece) tokens(body string) iter.Seq[token] {
	return func(yield func(token) bool) {
		text := spelling{text: body[p.from:p.to]}
		if p.quoted {
			text = unquoted(text.text)
		}
		for t := range scan(text.text) {
			t.from, t.to = p.from+text.from(t.from), p.from+text.from(t.to)
			if !yield(t) {
				return
			}
		}
	}
}

// said yields the ranges of an original that say something, in order: without
// headers, tags, marks of cuts, and silent sections, to which those in tells do not
// belong. The name of a speaker is said once a section.
func said(body string, tells ...string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for _, s := range sections(body, tells...) {
			switch {
			case s.silent(body):
			case s.kind == "inbound":
				var speakers []string
				for _, m := range s.messages(body) {
					known := len(speakers)
					speakers = with(speakers, m.speaker)
					named := len(speakers) > known && m.speaker != "unknown"
					if named && !yield(piece{span: span{m.name, m.name + len(m.speaker)}}) || !yield(piece{span: span{m.from, m.to}}) {
						return
					}
				}
			case !plain(body, s, yield):
				return
			}
		}
	}
}

// line returns the line of a section that begins at one byte, and where the next
// one does. In JSON, lines end in an escape.
func (s section) line(body string, at int) (string, int) {
	line, _, _ := strings.Cut(body[at:s.to], "\n")
	next := at + len(line) + 1
	if s.kind != "call" {
		return line, next
	}
	for i := strings.IndexByte(line, '\\'); i >= 0 && i+1 < len(line); {
		if line[i+1] == 'n' {
			return line[:i], at + i + 2
		}
		more := strings.IndexByte(line[i+2:], '\\')
		if more < 0 {
			break
		}
		i += 2 + more
	}
	return line, next
}

// plain yields the text of a section, in one piece but for marks of cuts.
func plain(body string, s section, yield func(piece) bool) bool {
	at, quoted := s.from, s.kind == "call"
	for {
		i := strings.Index(body[at:s.to], "\n◳ ")
		if i < 0 {
			return at == s.to || yield(piece{span{at, s.to}, quoted})
		}
		if !yield(piece{span{at, at + i}, quoted}) {
			return false
		}
		at += i + 1
		if j := strings.IndexByte(body[at:s.to], '\n'); j >= 0 {
			at += j + 1
		} else {
			at = s.to
		}
	}
}

// facts are what an original is about besides its words: what filters go by.
type facts struct {
	rooms, tools, kinds []string // each once, in order of appearance
	days                []string // 2026-11-20, of the lines that have a time
	first, last         time.Time
}

// The kinds of content that a query can ask for.
var kinds = map[string]string{"inbound": "chat", "reply": "reply", "call": "tool", "result": "tool", "note": "note"}

// maxFacts bounds how many rooms, tools and days of one original are told apart.
const maxFacts = 100

// factsOf reads them out of an original.
func factsOf(body string) facts {
	var f facts
	for _, s := range sections(body) {
		text := body[s.from:s.to]
		if k := kinds[s.kind]; k != "" && !(k == "reply" && strings.TrimSpace(text) == "") {
			f.kinds = with(f.kinds, k)
		}
		f.rooms = with(f.rooms, s.room)
		f.tools = with(f.tools, s.tool)
		if s.kind != "inbound" {
			continue
		}
		for _, m := range s.messages(body) {
			if m.at.IsZero() {
				continue
			}
			f.days = with(f.days, m.at.Format(time.DateOnly))
			if f.first.IsZero() || m.at.Before(f.first) {
				f.first = m.at
			}
			if m.at.After(f.last) {
				f.last = m.at
			}
		}
	}
	return f
}

// with adds s to a list unless it is empty, there already, or one too many.
func with(list []string, s string) []string {
	if s == "" || len(list) >= maxFacts {
		return list
	}
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// Large originals are indexed in segments, so that a long output does not drown
// what one part of it says.
const (
	wholeBytes   = 12 << 10 // up to here, an original is one segment
	segmentBytes = 8 << 10
	maxSegments  = 512 // what comes after the first 4 MB is not indexed
)

// segments cuts a body where lines end, into pieces of about segmentBytes. It
// depends on nothing but the body: a segment's number is enough to find it.
func segments(body []byte) []span {
	if len(body) <= wholeBytes {
		return []span{{0, len(body)}}
	}
	var out []span
	at := 0
	for at < len(body) && len(out) < maxSegments {
		end := min(len(body), at+segmentBytes)
		if end < len(body) {
			if i := bytes.LastIndexByte(body[at+segmentBytes/2:end], '\n'); i >= 0 {
				end = at + segmentBytes/2 + i + 1
			} else { // a line longer than half a segment: where a word ends
				for i := range 256 {
					if c := body[end-1-i]; c == ' ' {
						end -= i
						break
					}
				}
				for end > at+1 && body[end]&0xc0 == 0x80 { // never inside a character
					end--
				}
			}
		}
		out = append(out, span{at, end})
		at = end
	}
	return out
}
