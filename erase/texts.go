package erase

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"lethe/internal/lazy"
	"lethe/life"
	"lethe/mind"
)

// What a file is, and so where text stands in it. What is no text stays: names, addresses, numbers, keys.
const (
	raw   = "raw"
	log   = "log"   // LIFE.md
	state = "state" // JSON that Lethe reads back
	reply = "reply" // an answer of the model
	meta  = "meta"  // the frontmatter of a blob
	blob  = "blob"  // with frontmatter
	mine  = "mine"  // the view of the context, which is made anew
)

// span is a range of bytes.
type span struct{ from, to int }

var (
	inLog = lazy.Regexp(`(?:say|text|caveat|choice|seen)=([^" ]\S*)|` +
		`(?:say|text|caveat|choice|seen|line|why)="((?:[^"\\]|\\.)*)"|gist=([^◱◲\n]*)◲`)
	// inState leaves out what names something: self, hash, room, tool, posted, ...
	inState = lazy.Regexp(`"(?:gist|text|past|line|said|paused|told|seen|question|html|rich|markdown|command|args|` +
		`reason|error|data|title|why|caveat|how)":\s*"((?:[^"\\]|\\.)*)"|"options":\s*\[([^\]]*)\]`)
	quoted = lazy.Regexp(`"((?:[^"\\]|\\.)*)"`)
	inMeta = lazy.Regexp(`(?m)^(?:gist|summary): (.*)$`)
	// fixed finds what is no text wherever it stands: who said a line and when, addresses, the heads of a context.
	fixed = lazy.Regexp(`\[(?:USER|AGENT):[^\]\s]{1,64} \d{4}-\d\d-\d\dT[^\]\s]{1,30}\]|hash=[0-9a-f]{3,64}|` +
		`(?m:^◆ [^◱\n]*)|(?m:^</?(?:reasoning|call|original)\b[^>\n]*>$)`)
)

// refs are the two spellings of a ref, with its gist.
var refs = []func() *regexp.Regexp{
	lazy.Regexp(`hash=([0-9a-f]{12,64}) gist=([^◱◲\n]*?)(?:◲| \(e\d+\.\.e\d)`),
	lazy.Regexp(`"hash":\s*"([0-9a-f]{64})",\s*"short":\s*"[^"]*",\s*"gist":\s*"((?:[^"\\]|\\.)*)"`),
}

// groups are the ranges of the groups of all matches.
func groups(re *regexp.Regexp, data []byte, at int) (out []span) {
	for _, m := range re.FindAllSubmatchIndex(data, -1) {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				out = append(out, span{at + m[g], at + m[g+1]})
			}
		}
	}
	return out
}

// textsOf are the ranges of a file that are text, but for what is fixed.
func textsOf(kind string, data []byte) (out []span) {
	switch kind {
	case log:
		return groups(inLog(), data, 0)
	case state:
		return groups(inState(), data, 0)
	case meta:
		return groups(inMeta(), data, 0)
	case reply:
		texts, args, _ := mind.AnswerParts(data)
		for _, s := range texts {
			out = append(out, span{int(s.From), int(s.To)})
		}
		for _, s := range args {
			out = append(out, groups(quoted(), data[s.From:s.To], int(s.From))...)
		}
		return out
	}
	return []span{{0, len(data)}}
}

// cutsOf are the parts of what was found that are text, in order, without newlines. kept counts what is no text
// at all.
func cutsOf(kind string, data []byte, found []span) (cuts [][2]int64, kept int) {
	if len(found) == 0 {
		return nil, 0
	}
	const text, cut = 1, 2
	is := make([]byte, len(data)) // by byte
	for _, s := range textsOf(kind, data) {
		copy(is[s.from:s.to], bytes.Repeat([]byte{text}, s.to-s.from))
	}
	for _, m := range fixed().FindAllIndex(data, -1) {
		clear(is[m[0]:m[1]])
	}
	for _, s := range found {
		some := false
		for i := s.from; i < s.to; i++ {
			if is[i] != 0 && data[i] != '\n' {
				is[i], some = cut, true
			}
		}
		if !some {
			kept++
		}
	}
	for i := bytes.IndexByte(is, cut); i >= 0 && i < len(is); i++ {
		from := i
		for i < len(is) && is[i] == cut {
			i++
		}
		if from < i {
			cuts = append(cuts, [2]int64{int64(from), int64(i - from)})
		}
	}
	return cuts, kept
}

var errForm = errors.New("it could not be read any more")

// readable returns an error when a file of a kind cannot be read after an erasure.
func readable(kind string, before, after []byte) error {
	switch kind {
	case state:
		if json.Valid(before) && !json.Valid(after) {
			return errForm
		}
	case reply:
		was, _ := mind.DecodeAnswer(before)
		a, err := mind.DecodeAnswer(after)
		if err != nil {
			return err
		}
		for i, c := range a.Calls {
			if json.Valid([]byte(was.Calls[i].Args)) && !json.Valid([]byte(c.Args)) {
				return errForm
			}
		}
	case log:
		for line := range strings.Lines(string(after)) {
			if _, err := life.ParseLine(line); err != nil {
				return err
			}
		}
	}
	return nil
}
