package mind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"lethe/blobs"
	"lethe/internal/pattern"
)

// Answer is the answer of a model, which is recorded as one blob.
type Answer struct {
	Reasoning string
	Text      string
	Opaque    string // JSON that its provider wants back unchanged
	Calls     []AnswerCall
}

// AnswerCall is one tool call of an answer.
type AnswerCall struct {
	Tool     string
	Args     string // a JSON object
	Original string // the model's arguments if Args had to be repaired, else ""
	Opaque   string // JSON that its provider wants back unchanged
}

// header is the first line of a reply's body. It gives lengths in bytes, so that
// no text of a model looks like the end of its part.
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

// parts lists the pieces of a reply in the order of the body. A body leaves out
// pieces of length 0.
func parts(head header, answer *Answer) []part {
	list := append(make([]part, 0, 3+3*len(head.Calls)),
		part{"<reasoning>\n", "\n</reasoning>\n", head.Reasoning, &answer.Reasoning, false},
		part{"", "\n", head.Text, &answer.Text, false},
		part{"<opaque>\n", "\n</opaque>\n", head.Opaque, &answer.Opaque, true})
	for i, length := range head.Calls {
		call := &answer.Calls[i]
		list = append(list,
			part{"<call " + length.Tool + ">\n", "\n</call>\n", length.Args, &call.Args, true},
			part{"<original>\n", "\n</original>\n", length.Original, &call.Original, false},
			part{"<opaque>\n", "\n</opaque>\n", length.Opaque, &call.Opaque, true})
	}
	return list
}

// Encode renders an answer as the body of its blob: a line of lengths, then the
// parts, readable by people.
func (a Answer) Encode() []byte {
	head := header{Reasoning: len(a.Reasoning), Text: len(a.Text), Opaque: len(a.Opaque)}
	for _, call := range a.Calls {
		// JSON has no other bytes than UTF-8, and the part is opened by the same name.
		tool := strings.ToValidUTF8(call.Tool, "\uFFFD")
		head.Calls = append(head.Calls, headerCall{tool, len(call.Args), len(call.Original), len(call.Opaque)})
	}
	var body bytes.Buffer
	line, _ := json.Marshal(head) // plain fields: cannot fail
	body.Write(line)
	body.WriteByte('\n')
	for _, piece := range parts(head, &a) {
		if piece.length > 0 {
			body.WriteString(piece.open)
			body.WriteString(*piece.into)
			body.WriteString(piece.close)
		}
	}
	return body.Bytes()
}

var errReply = errors.New("decode reply: body does not fit its first line")

// DecodeAnswer reads the body that Encode wrote. It returns an error if the lengths do not fit.
func DecodeAnswer(body []byte) (Answer, error) {
	d, err := decodeAnswer(body)
	return d.Answer, err
}

// AnswerParts returns the places of the texts in the body of a reply, and the places of its JSON: the arguments of
// calls and the Opaque values.
func AnswerParts(body []byte) (texts, objects []Span, err error) {
	d, err := decodeAnswer(body)
	return d.texts, d.objects, err
}

// decoded is an answer with the places of its parts in the body.
type decoded struct {
	Answer
	texts, objects []Span
}

func decodeAnswer(body []byte) (answer decoded, err error) {
	line, rest, ok := bytes.Cut(body, []byte("\n"))
	if !ok {
		return answer, errReply
	}
	var head header
	if err := json.Unmarshal(line, &head); err != nil {
		return answer, fmt.Errorf("decode reply: %w", err)
	}
	for _, call := range head.Calls {
		answer.Calls = append(answer.Calls, AnswerCall{Tool: call.Tool})
	}
	for _, piece := range parts(head, &answer.Answer) {
		if piece.length == 0 {
			continue
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(piece.open)); !ok {
			return answer, errReply
		}
		if piece.length < 0 || len(rest) < piece.length {
			return answer, errReply
		}
		from := int64(len(body) - len(rest))
		if place := (Span{From: from, To: from + int64(piece.length)}); piece.isJSON {
			answer.objects = append(answer.objects, place)
		} else {
			answer.texts = append(answer.texts, place)
		}
		*piece.into = string(rest[:piece.length])
		if rest, ok = bytes.CutPrefix(rest[piece.length:], []byte(piece.close)); !ok {
			return answer, errReply
		}
	}
	if len(rest) > 0 {
		return answer, errReply
	}
	return answer, nil
}

// Gist returns the gist of the answer's blob: the number of the turn, and the text or else the calls.
func (a Answer) Gist(turn int) string {
	what := a.Text
	if strings.TrimSpace(what) == "" {
		var names []string
		for _, call := range a.Calls {
			names = append(names, call.Tool+" "+call.Args)
		}
		what = strings.Join(names, "; ")
	}
	return blobs.Gist(fmt.Sprintf("turn %d: %s", turn, blobs.Unescape(what)))
}

// RepairCall makes a call fit for the wire: a name of at most 64 letters,
// digits, _ and -, and arguments that are one JSON object: an empty one for none, and for null. Original keeps other
// arguments as the model sent them.
func RepairCall(name, args string) AnswerCall {
	call := AnswerCall{Tool: safeName(name), Args: strings.TrimSpace(strings.ToValidUTF8(args, "\uFFFD"))}
	var object map[string]json.RawMessage
	if call.Args == "" || call.Args == "null" {
		call.Args = "{}"
	} else if err := json.Unmarshal([]byte(call.Args), &object); err != nil || object == nil {
		call.Original = args
		clipped := []rune(call.Args)
		clipped = clipped[:min(len(clipped), 2000)]
		repaired, _ := json.Marshal(map[string]string{InvalidArgs: string(clipped)})
		call.Args = string(repaired)
	}
	return call
}

// InvalidArgs is the one argument of a call whose own arguments were not JSON.
const InvalidArgs = "invalid_arguments"

var unsafeInName = pattern.Lazy(`[^A-Za-z0-9_-]`)

func safeName(s string) string {
	s = cmp.Or(unsafeInName().ReplaceAllString(s, "_"), "unnamed")
	return s[:min(len(s), 64)]
}
