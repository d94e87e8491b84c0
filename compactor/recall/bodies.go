package recall

import (
	"context"
	"strings"
	"sync"
	"time"

	"lethe/blobs"
	"lethe/compactor/recall/index"
	"lethe/compactor/recall/text"
)

const (
	mostRead = 16 << 20 // bytes of blobs that one search reads and verifies
	reading  = 4        // at once
)

// candidate is an original with its verified blob, as it is ranked.
type candidate struct {
	Hit
	text.Times // the blob's own, if it tells any
	body       string
	about      string      // its summary, unless lines are limited
	lines      []text.Line // of the segment that fits best, if the query's limits let them pass
}

// affordable returns as many originals as may be read, the best first, and one in any
// case.
func affordable(docs []index.Doc) []index.Doc {
	left := int64(mostRead)
	var out []index.Doc
	for _, doc := range docs {
		if doc.Size <= left || len(out) == 0 {
			left -= doc.Size
			out = append(out, doc)
		}
	}
	return out
}

// candidates reads and verifies originals; lost counts the unreadable. It ends with ctx, after the blobs that it is at.
func (x *Index) candidates(
	ctx context.Context, store *blobs.Store, docs []index.Doc, query Query,
) (out []candidate, lost int, err error) {
	read, errs := make([]blobs.Blob, len(docs)), make([]error, len(docs))
	var wait sync.WaitGroup
	for k := range reading {
		wait.Go(func() { // ends with its share of the originals
			for i := k; i < len(docs) && ctx.Err() == nil; i += reading {
				read[i], errs[i] = store.Get(docs[i].Hash)
			}
		})
	}
	wait.Wait()
	for i, doc := range docs {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if errs[i] != nil {
			x.lost(doc.Hash, errs[i])
			lost++
			continue
		}
		if c := query.candidate(doc, read[i]); len(c.lines) > 0 && x.Owns(read[i]) { // whatever the index says
			out = append(out, c)
		}
	}
	return out, lost, nil
}

// candidate describes an original by its verified blob, whatever the index says. Only if no line tells a time, the
// index's counts.
func (q Query) candidate(doc index.Doc, blob blobs.Blob) candidate {
	body := string(blob.Body)
	facts := text.FactsOf(body)
	made := candidate{
		Hit: Hit{
			Hash: doc.Hash, From: facts.From, To: facts.To, Gist: blob.Gist, Source: facts.Source,
			Rooms: facts.Rooms, Tools: facts.Tools, Kinds: facts.Kinds,
		},
		body: body, about: text.About(blob.Meta),
	}
	at := facts.First // a line without a time of its own takes the time of the line before it
	for s := range text.Sections(body) {
		for line := range s.Lines(body) {
			if line.Message != nil && !line.At.IsZero() {
				at = line.At
			}
			if !q.fits(line, at) {
				made.about = "" // it is about that line too
				continue
			}
			made.Add(at)
			if text.SegmentOf(line.From, len(body)) == int(doc.Segment) {
				made.lines = append(made.lines, line)
			}
		}
	}
	if made.Last.IsZero() {
		made.First, made.Last = time.UnixMicro(doc.First).UTC(), time.UnixMicro(doc.Last).UTC()
		if made.Last.After(blob.At) || made.First.After(made.Last) {
			made.First, made.Last = blob.At, blob.At
		}
	}
	made.At = made.Last
	return made
}

// fits reports whether a query is not limited to other lines. A line has a room if it was heard
// there, and a tool if it is a call or its result. Without a kind, a query wants its room or
// its tool. Beside a kind, the room limits only chat, and the tool only calls and results.
func (q Query) fits(line text.Line, at time.Time) bool {
	if !at.IsZero() && !q.inTime(at) {
		return false
	}
	kind := line.Content()
	inRoom := kind == "chat" && line.Room == q.Room
	ofTool := kind == "tool" && strings.EqualFold(line.Tool, q.Tool)
	anyRoom, anyTool := q.Room == "", q.Tool == ""
	if q.Kind == "" {
		byRoom, byTool := inRoom && !anyRoom, ofTool && !anyTool
		if anyRoom && anyTool {
			return true
		}
		return byRoom || byTool
	}
	switch {
	case q.Kind != kind:
		return false
	case kind == "chat":
		return anyRoom || inRoom
	case kind == "tool":
		return anyTool || ofTool
	}
	return true
}

// inTime reports whether a moment lies between Since and Until.
func (q Query) inTime(at time.Time) bool {
	tooLate := !q.Until.IsZero() && at.After(q.Until)
	return !tooLate && !at.Before(q.Since)
}
