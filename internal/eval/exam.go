package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/recall"
)

// original is what stood in the context before it faded.
type original struct {
	body  string
	lines map[string]bool // ids of the conversation's lines that it holds
}

// holds reports whether evidence of a question is in it.
func (o original) holds(q Question) bool {
	return slices.ContainsFunc(q.Evidence, func(id string) bool { return o.lines[id] })
}

// exam is a life in which a conversation has faded, with all that it is asked
// with.
type exam struct {
	store     *blobs.Store
	index     *recall.Index
	originals map[blobs.Hash]original
	now       time.Time // when the conversation ended
}

// examine indexes what has faded and finds the lines of the conversation in it.
func (s *stage) examine(ctx context.Context, talk Conversation) (_ *exam, err error) {
	e := &exam{store: s.store, originals: map[blobs.Hash]original{}, now: end(talk)}
	if err := e.collect(s.id.LIFE()); err != nil {
		return nil, err
	}
	if err := e.locate(talk); err != nil {
		return nil, err
	}
	e.index = recall.Open(s.id.RecallPath(), s.id.Self, s.config.Log)
	if _, err := e.index.Sync(ctx, s.store, s.id.LIFE()); err != nil {
		return nil, errors.Join(err, e.index.Close())
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
		e.originals[hash] = original{string(b.Body), map[string]bool{}}
		return nil
	})
}

// locate finds each line of a conversation in the originals. One that is in none
// has been lost, and then nothing else is worth measuring.
func (e *exam) locate(talk Conversation) error {
	flat := map[blobs.Hash]string{}
	for hash, o := range e.originals {
		flat[hash] = flatten(o.body)
	}
	for _, l := range talk.Lines {
		line, err := format(l)
		if err != nil {
			return err
		}
		want := flatten(mind.Heard(line, nil))
		lost := true
		for hash, body := range flat {
			if strings.Contains(body, want) {
				e.originals[hash].lines[l.ID] = true
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

// ask puts one question to recall.
func (e *exam) ask(ctx context.Context, q Question, out *Result) error {
	hits, err := e.index.Search(ctx, e.store, recall.Query{Text: q.Text, Limit: 10, Now: e.now})
	if err != nil {
		return fmt.Errorf("question %q: %w", q.Text, err)
	}
	hints, err := e.hints(ctx, q.Text)
	if err != nil {
		return err
	}
	found := foundAt(e.place(q, hits))
	if e.place(q, hints) >= 0 {
		found.Hint++
	}
	out.count(categoryName(q.Category), found)
	return nil
}

// mislead looks for hints where there is nothing to find.
func (e *exam) mislead(ctx context.Context, others []Question, f *FalseHints) error {
	for _, text := range smallTalk() {
		hints, err := e.hints(ctx, text)
		if err != nil {
			return err
		}
		f.Talk++
		f.TalkHints += min(1, len(hints))
	}
	for _, q := range others {
		hints, err := e.hints(ctx, q.Text)
		if err != nil {
			return err
		}
		f.Other++
		f.OtherHint += min(1, len(hints))
	}
	return nil
}

func (e *exam) hints(ctx context.Context, text string) ([]recall.Hit, error) {
	hints, err := e.index.Hints(ctx, e.store, text, e.now, nil)
	if err != nil {
		return nil, fmt.Errorf("hints for %q: %w", text, err)
	}
	return hints, nil
}

// place is the rank of the first hit that holds evidence, from 0, or -1.
func (e *exam) place(q Question, hits []recall.Hit) int {
	return slices.IndexFunc(hits, func(h recall.Hit) bool { return e.originals[h.Hash].holds(q) })
}
