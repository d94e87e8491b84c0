package eval

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/compactor/recall"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// original is what stood in the context before it faded.
type original struct {
	body  string
	lines map[string]bool // ids of the conversation's lines that it holds
}

// exam is a life in which a conversation has faded, with all that it is asked
// with.
type exam struct {
	store     *blobs.Store
	index     *recall.Index
	originals []*original // in the order in which they faded
	byHash    map[blobs.Hash]*original
	said      map[string]string // lines of the conversation as passages show them, by their ids
	plain     *plain
	now       time.Time // when the conversation ended
}

// examine indexes what has faded and finds the lines of the conversation in it.
func (s *stage) examine(ctx context.Context, talk Conversation) (_ *exam, err error) {
	e := &exam{store: s.store, byHash: map[blobs.Hash]*original{}, said: map[string]string{}, now: end(talk)}
	if err := e.collect(s.id.LIFE()); err != nil {
		return nil, err
	}
	if err := e.locate(talk); err != nil {
		return nil, err
	}
	e.plain = newPlain(e.originals)
	e.index = recall.Open(s.id.RecallPath(), (&mind.State{Self: s.id.Self}).Owns, s.config.Log)
	if _, err := e.index.Sync(ctx, s.store, s.id.LIFE()); err != nil {
		return nil, err
	}
	return e, nil
}

// collect reads the originals that the log names.
func (e *exam) collect(path string) error {
	return life.Scan(path, func(line life.Event, _ int64) error {
		if fade, ok := event.As[event.Fade](line); !ok || fade.To == mind.Card || len(line.Refs) == 0 {
			return nil
		}
		hash, err := e.store.Resolve(line.Refs[0].Hash)
		if err != nil {
			return err
		}
		b, err := e.store.Get(hash)
		if err != nil {
			return err
		}
		if e.byHash[hash] == nil {
			e.byHash[hash] = &original{string(b.Body), map[string]bool{}}
			e.originals = append(e.originals, e.byHash[hash])
		}
		return nil
	})
}

// locate finds each line of a conversation in the originals. One that is in none
// has been lost, and then nothing else is worth measuring.
func (e *exam) locate(talk Conversation) error {
	flat := make([]string, len(e.originals))
	for i, o := range e.originals {
		flat[i] = flatten(o.body)
	}
	for _, l := range talk.Lines {
		line, err := format(l)
		if err != nil {
			return err
		}
		want := flatten(mind.Heard(line, nil))
		e.said[l.ID] = blobs.Unescape(want)
		lost := true
		for i, body := range flat {
			if strings.Contains(body, want) {
				e.originals[i].lines[l.ID] = true
				lost = false
			}
		}
		if lost {
			return fmt.Errorf("line %s is in none of %d originals", l.ID, len(e.originals))
		}
	}
	return nil
}

// flatten makes all white space alike: a message of several lines is indented
// where it is shown.
func flatten(s string) string { return strings.Join(strings.Fields(s), " ") }

// ask puts one question to recall, and to what it is compared with.
func (e *exam) ask(ctx context.Context, q Question, out *Result) error {
	answer, err := e.index.Search(ctx, e.store, recall.Query{Text: q.Text, Limit: 10, Now: e.now})
	if err != nil {
		return fmt.Errorf("question %q: %w", q.Text, err)
	}
	likely, err := e.likely(ctx, q.Text)
	if err != nil {
		return err
	}
	found := judge(q, e.of(answer.Hits))
	e.look(q, answer.Hits, &found)
	fits := func(least float64) int { return judge(q, e.of(recall.Hinted(likely, least))).At5 }
	found.Hint = fits(recall.HintConfidence)
	for i, t := range out.Curve {
		out.Curve[i].Hint += fits(t.Least)
	}
	out.count(categoryName(q.Category), found)
	out.Plain.plus(judge(q, e.plain.rank(q.Text)))
	out.Chance.plus(e.chance(q, out.Originals))
	return nil
}

// mislead looks for hints where there is nothing to find.
func (e *exam) mislead(ctx context.Context, others []Question, out *Result) error {
	texts, f := smallTalk(), &out.False
	f.Talk, f.Other = len(texts), len(others)
	for _, q := range others {
		texts = append(texts, q.Text)
	}
	for k, text := range texts {
		likely, err := e.likely(ctx, text)
		if err != nil {
			return err
		}
		sum, of := &f.TalkHints, func(t *Trade) *int { return &t.Talk }
		if k >= f.Talk {
			sum, of = &f.OtherHint, func(t *Trade) *int { return &t.Other }
		}
		sure := func(least float64) int { return min(1, len(recall.Hinted(likely, least))) }
		*sum += sure(recall.HintConfidence)
		for i := range out.Curve {
			*of(&out.Curve[i]) += sure(out.Curve[i].Least)
		}
	}
	return nil
}

// likely returns what hints are chosen from.
func (e *exam) likely(ctx context.Context, text string) ([]recall.Hit, error) {
	found, err := e.index.Hints(ctx, e.store, text, e.now, 0)
	if err != nil {
		return nil, fmt.Errorf("hints for %q: %w", text, err)
	}
	return found.Hits, nil
}

// of returns the originals of some hits.
func (e *exam) of(hits []recall.Hit) []*original {
	var out []*original
	for _, h := range hits {
		out = append(out, e.byHash[h.Hash])
	}
	return out
}

// judge counts a question by the originals that were found, best first.
func judge(q Question, found []*original) Found {
	among := func(most int) (some, all int) { // of the evidence, 1 or 0
		all = 1
		for _, id := range q.Evidence {
			if slices.ContainsFunc(found[:min(most, len(found))], func(o *original) bool { return o.lines[id] }) {
				some = 1
			} else {
				all = 0
			}
		}
		return some, all
	}
	f := Found{Questions: 1}
	f.At1, _ = among(1)
	f.At5, _ = among(5)
	f.At10, f.All10 = among(10)
	return f
}

// look counts a question by what is shown of hits.
func (e *exam) look(q Question, hits []recall.Hit, f *Found) {
	for i, h := range hits {
		shown := flatten(h.Shown())
		if slices.ContainsFunc(q.Evidence, func(id string) bool { return strings.Contains(shown, e.said[id]) }) {
			f.Shown10 = 1
		}
		if i < 5 {
			f.Shown5 = f.Shown10
			f.Tokens += len(shown) / 4
		}
		if i == 0 {
			f.Shown1 = f.Shown10
		}
	}
}

// chance is what a ranking of n originals by lot finds.
func (e *exam) chance(q Question, n int) Chance {
	among := func(most int) float64 {
		miss, left := 1.0, n
		for _, o := range e.originals {
			holds := slices.ContainsFunc(q.Evidence, func(id string) bool { return o.lines[id] })
			if holds && left > 0 {
				miss *= max(0, float64(left-most)) / float64(left)
				left--
			}
		}
		return 1 - miss
	}
	return Chance{among(1), among(5), among(10)}
}

// smallTalk lists what people say in rooms that has nothing to do with any
// conversation of the data set.
func smallTalk() []string { return strings.Split(strings.TrimSpace(smallTalkLines), "\n") }

//go:embed talk.txt
var smallTalkLines string
