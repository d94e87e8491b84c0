package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/locomo"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/recall"
)

// original is what stood in the context before it faded.
type original struct {
	hash  blobs.Hash
	body  string
	lines map[string]bool // ids of the conversation's lines that it holds
}

// holds reports whether evidence of a question is in it.
func (o original) holds(q locomo.Question) bool {
	return slices.ContainsFunc(q.Evidence, func(id string) bool { return o.lines[id] })
}

// exam is a life in which a conversation has faded, with all that it is asked
// with.
type exam struct {
	store     *blobs.Store
	index     *recall.Index
	originals []original
	byHash    map[blobs.Hash]int
	plain     bm25
	now       time.Time // when the conversation ended
}

// examine indexes what has faded and finds the lines of the conversation in it.
func (s *stage) examine(ctx context.Context, talk locomo.Conversation) (_ *exam, err error) {
	e := &exam{store: s.store, byHash: map[blobs.Hash]int{}, now: end(talk)}
	if err := e.collect(s.id.LIFE()); err != nil {
		return nil, err
	}
	if err := e.locate(talk); err != nil {
		return nil, err
	}
	var bodies []string
	for _, o := range e.originals {
		bodies = append(bodies, o.body)
	}
	e.plain = newBM25(bodies)
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
		if _, seen := e.byHash[hash]; seen {
			return nil // it decays: the line is about the same original
		}
		b, err := e.store.Get(hash)
		if err != nil {
			return err
		}
		e.byHash[hash] = len(e.originals)
		e.originals = append(e.originals, original{hash: hash, body: string(b.Body), lines: map[string]bool{}})
		return nil
	})
}

// locate finds each line of a conversation in the originals. One that is in none
// has been lost, and then nothing else is worth measuring.
func (e *exam) locate(talk locomo.Conversation) error {
	var flat []string
	for _, o := range e.originals {
		flat = append(flat, flatten(o.body))
	}
	for _, session := range talk.Sessions {
		for _, l := range session.Lines {
			want := flatten(tag(l) + " " + blobs.Escape(l.Text))
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
	}
	return nil
}

// flatten makes all white space alike: a message of several lines is indented
// where it is shown.
func flatten(s string) string { return strings.Join(strings.Fields(s), " ") }
