package erase

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"lethe/internal/pattern"
	"lethe/life"
	"lethe/mind"
)

// Kinds of files: the kind tells the places of text. Names, addresses, numbers and keys are no text, and stay.
const (
	raw   = "raw"
	log   = "log"   // LIFE.md
	state = "state" // JSON that Lethe reads back
	reply = "reply" // an answer of the model
	blob  = "blob"  // any of these, with frontmatter
	wish  = "wish"  // text in its name
	mine  = "mine"  // the view of the context, which is made anew
)

// span is a range of bytes.
type span struct{ from, to int }

var (
	inLog = pattern.Lazy(`(?:say|text|caveat|choice|seen)=([^" ]\S*)|` +
		`(?:say|text|caveat|choice|seen|line|why)="((?:[^"\\]|\\.)*)"|gist=([^◱◲\n]*)◲`)

	// inState leaves out the names of things: self, hash, room, tool, posted, ...
	inState = pattern.Lazy(`"(?:gist|text|past|line|said|paused|told|seen|question|html|rich|markdown|command|args|` +
		`reason|error|data|title|why|caveat|how)":\s*"((?:[^"\\]|\\.)*)"|"options":\s*\[([^\]]*)\]`)

	inHead = pattern.Lazy(`(?m)^(?:gist|summary): (.*)$`)
	quoted = pattern.Lazy(`"((?:[^"\\]|\\.)*)"`)
	// fixed finds the parts that are never text: the tag of a line, addresses, the heads of a context.
	fixed = pattern.Lazy(`\[(?:USER|AGENT):[^\]\s]{1,64} \d{4}-\d\d-\d\dT[^\]\s]{1,30}\]|hash=[0-9a-f]{3,64}|` +
		`(?m:^◆ [^◱\n]*)|(?m:^</?(?:reasoning|call|original)\b[^>\n]*>$)`)
)

// refs are the two spellings of a ref, with its gist.
var refs = []func() *regexp.Regexp{
	pattern.Lazy(`hash=([0-9a-f]{12,64}) gist=([^◱◲\n]*?)(?:◲| \((?:e\d+\.\.e\d|from ))`),
	pattern.Lazy(`"hash":\s*"([0-9a-f]{64})",\s*"short":\s*"[^"]*",\s*"gist":\s*"((?:[^"\\]|\\.)*)"`),
}

// groups are the ranges of the groups of all matches.
func groups(re *regexp.Regexp, data []byte, at int) (out []span) {
	for _, match := range re.FindAllSubmatchIndex(data, -1) {
		for group := 2; group < len(match); group += 2 {
			if match[group] >= 0 {
				out = append(out, span{at + match[group], at + match[group+1]})
			}
		}
	}
	return out
}

// texts returns the ranges of text, with the fixed parts in them.
func (d *document) texts() []span {
	out, body := groups(inHead(), d.data[:d.head], 0), d.data[d.head:]
	switch d.kind {
	case log:
		return groups(inLog(), body, 0)
	case state:
		return append(out, groups(inState(), body, d.head)...)
	case reply:
		texts, objects, _ := mind.AnswerParts(body)
		for _, part := range texts {
			out = append(out, span{d.head + int(part.From), d.head + int(part.To)})
		}
		for _, part := range objects {
			out = append(out, groups(quoted(), body[part.From:part.To], d.head+int(part.From))...)
		}
		return out
	}
	return append(out, span{d.head, len(d.data)})
}

// cuts plans to cut the text in the found spans, but no newlines. kept counts the spans that hold no text.
func (d *document) cuts(found []span) (kept int) {
	const text, cut = 1, 2
	is := make([]byte, len(d.data)) // by byte
	for _, part := range d.texts() {
		copy(is[part.from:part.to], bytes.Repeat([]byte{text}, part.to-part.from))
	}
	for _, match := range fixed().FindAllIndex(d.data[d.head:], -1) {
		clear(is[d.head+match[0] : d.head+match[1]])
	}
	for _, hit := range found {
		some := false
		for i := hit.from; i < hit.to; i++ {
			if is[i] != 0 && d.data[i] != '\n' {
				is[i], some = cut, true
			}
		}
		if !some {
			kept++
		}
	}
	for i := range is {
		switch last := len(d.Cuts) - 1; {
		case is[i] != cut:
		case i > 0 && is[i-1] == cut:
			d.Cuts[last][1]++
		default:
			d.Cuts = append(d.Cuts, [2]int64{int64(i), 1})
		}
	}
	return kept
}

var errForm = errors.New("it would not be JSON")

// readable returns an error if the file, as it will be, cannot be read.
func (d *document) readable(after []byte) error {
	switch before, after := d.data[d.head:], after[d.head:]; d.kind {
	case state:
		if json.Valid(before) && !json.Valid(after) {
			return errForm
		}
	case reply:
		_, err := mind.DecodeAnswer(after)
		return err
	case log:
		for line := range strings.Lines(string(after)) {
			if _, err := life.ParseLine(line); err != nil {
				return err
			}
		}
	}
	return nil
}
