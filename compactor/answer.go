package compactor

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
)

// jsonAnswer is what a model may say to a task. What is there in another form than asked for
// is left empty.
type jsonAnswer struct {
	Chunks []struct {
		From, To json.RawMessage
	}
	Summary, Gist string
	Relevance     json.RawMessage
	Keep          []any
}

// object finds the first JSON object in a text that has a key: models put
// fences and prose around what they were asked for.
func object(text, key string) (a jsonAnswer, err error) {
	if strings.TrimSpace(text) == "" {
		return a, fmt.Errorf("%w: it is blank", ErrGarbage)
	}
	for tries := 0; tries < 100; tries++ {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		var object json.RawMessage
		var fields map[string]json.RawMessage
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&object) == nil && json.Unmarshal(object, &fields) == nil && fields[key] != nil {
			_ = json.Unmarshal(object, &a) // an error is another form, and the rest is read all the same
			return a, nil
		}
		text = text[i+1:]
	}
	return a, fmt.Errorf("%w: it holds no whole JSON object with %q", ErrGarbage, key)
}

// readSegments reads the ranges of a SEGMENT answer. What cannot be read as a
// range is passed over; none at all is garbage.
func readSegments(text string) ([]entryRange, error) {
	a, err := object(text, "chunks")
	if err != nil {
		return nil, err
	}
	var out []entryRange
	for _, c := range a.Chunks {
		from, ok1 := entry(c.From)
		to, ok2 := entry(c.To)
		if ok1 && ok2 {
			out = append(out, entryRange{from, to})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: it names no range of entries", ErrGarbage)
	}
	return out, nil
}

var entryNumber = regexp.MustCompile(`^\W*e?(\d{1,15})(?:[._]\d+)?\W*$`)

// entry reads the number of an entry: "e3", "e3.1" (a call of it), 3.
func entry(raw json.RawMessage) (int, bool) {
	m := entryNumber.FindSubmatch(raw)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(m[1]))
	return n, err == nil
}

// readSummary adds to f what a SUMMARISE answer says, escaped, and returns what it names
// to be kept. The relevance is 0 when it gives none.
func (f *Fade) readSummary(text string) (keep []string, err error) {
	a, err := object(text, "summary")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(a.Summary) == "" {
		return nil, fmt.Errorf("%w: the summary is empty or not a text", ErrGarbage)
	}
	f.Summary, f.Gist, f.Relevance = fromModel(a.Summary), fromModel(a.Gist), relevance(a.Relevance)
	for _, k := range a.Keep {
		if s, ok := k.(string); ok && strings.TrimSpace(s) != "" {
			keep = append(keep, fromModel(s))
		}
	}
	return keep, nil
}

// fromModel makes a text of a model safe to stand in a prompt. A model copies the
// escapes it sees, so they are undone first.
func fromModel(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(blobs.Escape(blobs.Unescape(s)))
}

// relevance reads a number from 1 to 10, written as one or as a text, and
// brings it between those.
func relevance(raw json.RawMessage) int {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err != nil || math.IsNaN(n) {
		return 0
	}
	return int(min(max(math.Round(n), 1), 10))
}

// alsoRunes is how many runes the identifiers may take that are put after a summary which
// lacks them.
const alsoRunes = 400

// accept makes a chunk's fade of an answer, or says why it is of no use.
func (j Job) accept(units []unit, answer string) (Fade, error) {
	f := chunk(units)
	keep, err := f.readSummary(answer)
	if err != nil {
		return Fade{}, err
	}
	source := text(units)
	if has, may := j.in.Meter(f.Summary), j.in.Meter(source); has > may {
		return Fade{}, fmt.Errorf("%w: the summary has %d tokens and its source %d", ErrGarbage, has, may)
	}
	words := talk(units)
	if f.Relevance == 0 {
		f.Relevance = mechanicalRelevance(words, material(units))
	}
	f.Gist = blobs.Gist(blobs.Unescape(f.Gist))
	if f.Gist == "" {
		f.Gist = mechanicalGist(units, words, material(units))
	}
	f.promises(words, f.Relevance == 10)
	if f.Relevance == 10 {
		f.promised(keep, source)
	}
	names := missingNames(keep, f.Summary, source)
	f.Summary = j.shorten(f.Summary, max(1, j.longest(f)-j.in.Meter(names)))
	if names != "" && j.in.Meter(f.Summary+names) < f.Tokens {
		f.Summary += names
	}
	return f, nil
}

// promised pins the promises that a model named, when they stand in the source.
// What it rates 10 without saying why is pinned by its first sentence.
func (f *Fade) promised(keep []string, source string) {
	for _, k := range keep {
		if strings.Contains(k, " ") && saying("", k).weight > 0 && strings.Contains(source, k) {
			f.pin(oneLine(k), 2)
		}
	}
	if len(f.pins) == 0 {
		f.pin(oneLine(sentences(f.Summary)[0]), 2)
	}
}

// missingNames lists the identifiers of keep that the source has and the summary
// lacks. Those that the source lacks were made up.
func missingNames(keep []string, summary, source string) string {
	var out []string
	left := alsoRunes
	for _, k := range keep {
		k = oneLine(k)
		n := utf8.RuneCountInString(k)
		if n > left || slices.Contains(out, k) || strings.Contains(summary, k) || !strings.Contains(source, k) {
			continue
		}
		left -= n
		out = append(out, k)
	}
	if len(out) == 0 {
		return ""
	}
	return "\nAlso: " + strings.Join(out, ", ")
}
