package mind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"lethe/blobs"
)

// Answer is what a model said, as it is recorded: one blob.
type Answer struct {
	Reasoning string
	Text      string
	Opaque    string // JSON that its provider wants back as it is
	Calls     []AnswerCall
}

// AnswerCall is one tool call of an answer.
type AnswerCall struct {
	Tool     string
	Args     string // a JSON object
	Original string // what the model sent, when Args had to be repaired
	Opaque   string // JSON that its provider wants back as it is
}

// header is the first line of a reply's body. The lengths are in bytes, so that
// nothing a model writes can be taken for the end of its part.
type header struct {
	Reasoning int          `json:"reasoning"`
	Text      int          `json:"text"`
	Opaque    int          `json:"opaque,omitempty"`
	Calls     []headerCall `json:"calls,omitempty"`
}

type headerCall struct {
	Tool     string `json:"tool"`
	Args     int    `json:"args"`
	Original int    `json:"original,omitempty"`
	Opaque   int    `json:"opaque,omitempty"`
}

// part is one labelled piece of a reply's body.
type part struct {
	open, close string
	length      int
	into        *string
	isJSON      bool
}

// parts lists the pieces of a reply in the order in which the body holds them;
// those of length 0 are left out.
func parts(h header, a *Answer) []part {
	ps := append(make([]part, 0, 3+3*len(h.Calls)),
		part{"<reasoning>\n", "\n</reasoning>\n", h.Reasoning, &a.Reasoning, false},
		part{"", "\n", h.Text, &a.Text, false},
		part{"<opaque>\n", "\n</opaque>\n", h.Opaque, &a.Opaque, true})
	for i, c := range h.Calls {
		call := &a.Calls[i]
		ps = append(ps,
			part{"<call " + c.Tool + ">\n", "\n</call>\n", c.Args, &call.Args, true},
			part{"<original>\n", "\n</original>\n", c.Original, &call.Original, false},
			part{"<opaque>\n", "\n</opaque>\n", c.Opaque, &call.Opaque, true})
	}
	return ps
}

// Encode renders an answer as the body of its blob: a line of lengths, then the
// parts, readable by people.
func (a Answer) Encode() []byte {
	h := header{Reasoning: len(a.Reasoning), Text: len(a.Text), Opaque: len(a.Opaque)}
	for _, c := range a.Calls {
		// JSON has no other bytes than UTF-8, and the part is opened by the same name.
		tool := strings.ToValidUTF8(c.Tool, "\uFFFD")
		h.Calls = append(h.Calls, headerCall{tool, len(c.Args), len(c.Original), len(c.Opaque)})
	}
	var b bytes.Buffer
	line, _ := json.Marshal(h) // plain fields: cannot fail
	b.Write(line)
	b.WriteByte('\n')
	for _, p := range parts(h, &a) {
		if p.length > 0 {
			b.WriteString(p.open)
			b.WriteString(*p.into)
			b.WriteString(p.close)
		}
	}
	return b.Bytes()
}

var errReply = errors.New("decode reply: body does not fit its first line")

// DecodeAnswer reads what Encode wrote.
func DecodeAnswer(body []byte) (Answer, error) {
	d, err := decodeAnswer(body)
	return d.Answer, err
}

// AnswerParts returns where in the body of a reply its texts stand, and what is JSON: the arguments of its calls, and
// what a provider wants back.
func AnswerParts(body []byte) (texts, objects []Span, err error) {
	d, err := decodeAnswer(body)
	return d.texts, d.objects, err
}

// decoded is an answer with where its parts stand.
type decoded struct {
	Answer
	texts, objects []Span
}

func decodeAnswer(body []byte) (d decoded, err error) {
	line, rest, ok := bytes.Cut(body, []byte("\n"))
	if !ok {
		return d, errReply
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return d, fmt.Errorf("decode reply: %w", err)
	}
	for _, c := range h.Calls {
		d.Calls = append(d.Calls, AnswerCall{Tool: c.Tool})
	}
	for _, p := range parts(h, &d.Answer) {
		if p.length == 0 {
			continue
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(p.open)); !ok || p.length < 0 || len(rest) < p.length {
			return d, errReply
		}
		from := int64(len(body) - len(rest))
		if s := (Span{From: from, To: from + int64(p.length)}); p.isJSON {
			d.objects = append(d.objects, s)
		} else {
			d.texts = append(d.texts, s)
		}
		*p.into = string(rest[:p.length])
		if rest, ok = bytes.CutPrefix(rest[p.length:], []byte(p.close)); !ok {
			return d, errReply
		}
	}
	if len(rest) > 0 {
		return d, errReply
	}
	return d, nil
}

// Gist is the one line that stands for the answer.
func (a Answer) Gist(turn int) string {
	what := a.Text
	if strings.TrimSpace(what) == "" {
		var names []string
		for _, c := range a.Calls {
			names = append(names, c.Tool+" "+c.Args)
		}
		what = strings.Join(names, "; ")
	}
	return blobs.Gist(fmt.Sprintf("turn %d: %s", turn, blobs.Unescape(what)))
}

// RepairCall makes a call fit for the wire: a name of at most 64 letters,
// digits, _ and -, and arguments that are one JSON object. What was sent is kept
// in Original when it was something else.
func RepairCall(name, args string) AnswerCall {
	c := AnswerCall{Tool: safeName(name), Args: strings.TrimSpace(strings.ToValidUTF8(args, "\uFFFD"))}
	var object map[string]json.RawMessage
	if c.Args == "" {
		c.Args = "{}"
	} else if err := json.Unmarshal([]byte(c.Args), &object); err != nil || object == nil {
		c.Original = args
		clipped := []rune(c.Args)
		clipped = clipped[:min(len(clipped), 2000)]
		repaired, _ := json.Marshal(map[string]string{InvalidArgs: string(clipped)})
		c.Args = string(repaired)
	}
	return c
}

// InvalidArgs is the one argument of a call whose own arguments were not JSON.
const InvalidArgs = "invalid_arguments"

var unsafeInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]`) })

func safeName(s string) string {
	s = cmp.Or(unsafeInName().ReplaceAllString(s, "_"), "unnamed")
	return s[:min(len(s), 64)]
}
