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

// maxAnswer bounds what is read of an answer, in bytes: more is no summary.
const maxAnswer = 1 << 20

// object finds the first JSON object in a text that has a key: models put
// fences and prose around what they were asked for.
func object(text, key string) (map[string]json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%w: it is blank", ErrGarbage)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: it is %d bytes long", ErrGarbage, len(text))
	}
	for tries := 0; tries < 100; tries++ {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		var fields map[string]json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text[i:])).Decode(&fields); err == nil && fields[key] != nil {
			return fields, nil
		}
		text = text[i+1:]
	}
	return nil, fmt.Errorf("%w: it holds no whole JSON object with %q", ErrGarbage, key)
}

// readSegments reads the ranges of a SEGMENT answer. What cannot be read as a
// range is passed over; none at all is garbage.
func readSegments(text string) ([]entryRange, error) {
	fields, err := object(text, "chunks")
	if err != nil {
		return nil, err
	}
	var chunks []map[string]json.RawMessage
	if err := json.Unmarshal(fields["chunks"], &chunks); err != nil {
		return nil, fmt.Errorf("%w: chunks is not a list of objects", ErrGarbage)
	}
	var out []entryRange
	for _, c := range chunks {
		from, ok1 := entry(c["from"])
		to, ok2 := entry(c["to"])
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
	m := entryNumber.FindStringSubmatch(plainText(raw))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// plainText is a JSON string, or whatever else stands there as it is written.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// reading is what a SUMMARISE answer says.
type reading struct {
	summary   string // escaped, as all of these
	gist      string
	relevance int // 0 when it gives none
	keep      []string
}

func readSummary(text string) (reading, error) {
	fields, err := object(text, "summary")
	if err != nil {
		return reading{}, err
	}
	var d reading
	var summary string
	if json.Unmarshal(fields["summary"], &summary) != nil || strings.TrimSpace(summary) == "" {
		return reading{}, fmt.Errorf("%w: the summary is empty or not a text", ErrGarbage)
	}
	d.summary = fromModel(summary)
	var gist string
	if json.Unmarshal(fields["gist"], &gist) == nil {
		d.gist = fromModel(gist)
	}
	d.relevance = relevance(fields["relevance"])
	var keep []any
	if json.Unmarshal(fields["keep"], &keep) == nil {
		for _, k := range keep {
			if s, ok := k.(string); ok && strings.TrimSpace(s) != "" {
				d.keep = append(d.keep, fromModel(strings.TrimSpace(s)))
			}
		}
	}
	return d, nil
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
	n, err := strconv.ParseFloat(strings.TrimSpace(plainText(raw)), 64)
	if err != nil || math.IsNaN(n) {
		return 0
	}
	return int(min(max(math.Round(n), 1), 10))
}

// alsoNames is how many identifiers are put after a summary that lacks them,
// and how many runes they may take.
const (
	alsoNames = 12
	alsoRunes = 400
)

// accept makes a chunk's fade of an answer, or says why it is of no use.
func (j Job) accept(units []unit, answer string) (Fade, error) {
	d, err := readSummary(answer)
	if err != nil {
		return Fade{}, err
	}
	f := chunk(units)
	source := text(units)
	if has, may := j.in.Meter(d.summary), j.in.Meter(source); has > may {
		return Fade{}, fmt.Errorf("%w: the summary has %d tokens and its source %d", ErrGarbage, has, may)
	}
	words := talk(units)
	f.Relevance = d.relevance
	if f.Relevance == 0 {
		f.Relevance = mechanicalRelevance(words, material(units), j.pinsOf(f, words, true))
	}
	f.Gist = blobs.Gist(blobs.Unescape(d.gist))
	if f.Gist == "" {
		f.Gist = mechanicalGist(units, words, material(units))
	}
	f.pins = j.pinsOf(f, words, f.Relevance == 10)
	if f.Relevance == 10 {
		j.promised(&f, d, source)
	}
	names := missingNames(d, source)
	f.Summary = j.shorten(d.summary, max(1, j.longest(f)-j.in.Meter(names)))
	if names != "" && j.in.Meter(f.Summary+names) < f.Tokens {
		f.Summary += names
	}
	return f, nil
}

// promised adds the promises that a model named, when they stand in the source.
// What it rates 10 without saying why is pinned by its first sentence.
func (j Job) promised(f *Fade, d reading, source string) {
	add := func(s string) {
		s = oneLine(s)
		if len(f.pins) < pinsPerChunk && !holds(f.pins, s) {
			f.pins = append(f.pins, pinAt(*f, s))
		}
	}
	for _, k := range d.keep {
		if strings.Contains(k, " ") && saying("", k).weight > 0 && strings.Contains(source, k) {
			add(k)
		}
	}
	if len(f.pins) == 0 {
		add(sentences(d.summary)[0])
	}
}

// missingNames lists the identifiers of keep that the source has and the summary
// lacks. Those that the source lacks were made up.
func missingNames(d reading, source string) string {
	var out []string
	left := alsoRunes
	for _, k := range d.keep {
		k = oneLine(k)
		n := utf8.RuneCountInString(k)
		if n > left || len(out) == alsoNames || slices.Contains(out, k) || strings.Contains(d.summary, k) || !strings.Contains(source, k) {
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
