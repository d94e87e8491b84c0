package compactor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"lethe/blobs"
	"lethe/internal/pattern"
	"lethe/mind"
)

// jsonAnswer is the answer of a model to a task. A member in another form than the task asks for
// is left empty.
type jsonAnswer struct {
	Chunks []struct {
		From, To json.RawMessage
		Topics   []any
		Alone    bool
		remarks
	}
	Summary string
	remarks
}

// remarks are what a model says of a chunk beside its summary.
type remarks struct {
	Gist                  string
	Relevance             any
	Pins, Over, Overtakes []any
}

// object finds the first JSON object in a text that answers a task: models put
// fences and prose around what they were asked for.
func object(text string) (answer jsonAnswer, err error) {
	for tries := 0; tries < 100; tries++ {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		text = text[i:]
		answer = jsonAnswer{}
		_ = json.NewDecoder(strings.NewReader(text)).Decode(&answer) // what has another form is left empty
		if len(answer.Chunks) > 0 || strings.TrimSpace(answer.Summary) != "" {
			return answer, nil
		}
		text = text[1:]
	}
	return answer, fmt.Errorf("%w: it holds no whole JSON object of the form", ErrGarbage)
}

// readSegments reads the ranges of a SEGMENT answer. It passes over a chunk that is no
// range. The error is ErrGarbage if there is no range at all.
func readSegments(text string) (out []entryRange, err error) {
	answer, err := object(text)
	if err != nil {
		return nil, err
	}
	lone := 0
	for _, chunk := range answer.Chunks {
		from, ok1 := entry(chunk.From)
		to, ok2 := entry(chunk.To)
		if ok1 && ok2 {
			out = append(out, entryRange{
				from: from, to: to, topics: len(chunk.Topics), alone: chunk.Alone && lone < maxPhrases, remarks: chunk.remarks,
			})
		}
		if chunk.Alone {
			lone++
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: it names no range of entries", ErrGarbage)
	}
	return out, nil
}

var entryNumber = pattern.Lazy(`^\W*e?(\d{1,15})(?:[._]\d+)?\W*$`)

// entry reads the number of an entry: "e3", "e3.1" (a call of it), 3.
func entry(raw json.RawMessage) (int, bool) {
	match := entryNumber().FindSubmatch(raw)
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(match[1]))
	return n, err == nil
}

// readSummary reads a SUMMARISE answer into f, escaped, and returns the sentences to be pinned.
func (f *Fade) readSummary(text string) (pins []string, err error) {
	answer, err := object(text)
	if err == nil && strings.TrimSpace(answer.Summary) == "" {
		err = fmt.Errorf("%w: the summary is empty or not a text", ErrGarbage)
	}
	if err != nil {
		return nil, err
	}
	f.Summary = fromModel(answer.Summary)
	return f.read(answer.remarks), nil
}

// read reads remarks into f, escaped, and returns the sentences to be pinned. The relevance is 0 if there is no number.
func (f *Fade) read(given remarks) (pins []string) {
	f.Gist, f.Relevance = gist(blobs.Unescape(fromModel(given.Gist))), min(relevance(given.Relevance), 9)
	f.over, f.overtakes = phrases(given.Over), f.claims(given.Overtakes)
	return phrases(given.Pins)
}

// claims reads items like "e3..e9 by e35: the code is 4471". One without a line, of older answers, means part of a
// range. Where no entry of the chunk is named, its last one stands for it.
func (f *Fade) claims(items []any) map[string]int {
	out := map[string]int{}
	for _, item := range items[:min(len(items), maxPhrases)] {
		given, _ := item.(string)
		name, line, quotes := strings.Cut(fromModel(given), ":")
		name, said, _ := strings.Cut(name, " by ")
		by, _ := entry(json.RawMessage(said))
		if by < f.From || by > f.To {
			by = f.To
		}
		line = strings.Trim(strings.TrimSuffix(gist(line), "…"), ` "“”`)
		if quotes && len(mind.Plain(line)) < leastQuote {
			continue
		}
		if quotes {
			name += ": " + line
		}
		out[name] = by
	}
	return out
}

// Bounds of a list of sentences in an answer.
const (
	maxPhrases  = 32
	phraseBytes = 2000
	leastQuote  = 4 // letters and digits
)

// phrases returns the items that are texts of two words or more, each as one line.
func phrases(items []any) (out []string) {
	joint := func(r rune) bool {
		spaceless := r >= '\u0e00' && unicode.IsLetter(r) // scripts without spaces
		return r == ' ' || spaceless
	}
	for _, item := range items[:min(len(items), maxPhrases)] {
		given, _ := item.(string)
		text := oneLine(fromModel(given))
		if len(text) > phraseBytes || mind.Plain(text) == "" {
			continue
		}
		if strings.ContainsFunc(text, joint) {
			out = append(out, text)
		}
	}
	return out
}

// fromModel makes a text of a model safe to stand in a prompt. A model copies the
// escapes it sees, so they are undone first.
func fromModel(text string) string {
	text = strings.Map(func(r rune) rune {
		isLayout := r == '\n' || r == '\t'
		if r < ' ' && !isLayout {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(blobs.Escape(blobs.Unescape(text)))
}

// relevance reads a number, or a text with a number, and bounds it to 1 to 10. It returns 0 for anything else.
func relevance(given any) int {
	number, err := strconv.ParseFloat(fmt.Sprint(given), 64)
	if err != nil || math.IsNaN(number) {
		return 0
	}
	return int(min(max(math.Round(number), 1), 10))
}

// accept makes a chunk's fade of an answer, or says why it is of no use.
func (j Job) accept(units []unit, answer string) (Fade, error) {
	fade := chunk(units)
	pins, err := fade.readSummary(answer)
	if err != nil {
		return Fade{}, err
	}
	if has, may := j.in.Meter.of(fade.Summary), j.in.Meter.of(text(units)); has > may {
		return Fade{}, fmt.Errorf("%w: the summary has %d tokens and its source %d", ErrGarbage, has, may)
	}
	j.bind(&fade, pins)
	if fade.Gist == "" {
		fade.Gist = mechanicalGist(units, talk(units))
	}
	fade.Summary = j.in.Meter.shorten(fade.Summary, j.longest(fade)*3/2) // a model counts no tokens
	fade.Summary = j.attributed(fade.Summary, units)
	return fade, nil
}

// bind pins what people who count have said, and completes the relevance. 10 stands for rules and promises, which are
// pinned: the rest fades as 9 does.
func (j Job) bind(fade *Fade, pins []string) {
	spoken := j.binding(fade.units)
	if len(spoken) == 0 { // what tools and strangers say ends no rule either
		fade.over = nil
	}
	fade.named(pins, spoken)
	fade.Relevance = cmp.Or(fade.Relevance, mechanicalRelevance(fade.units))
}
