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
	text.Times // those of the blob, if that has any
	body       string
	about      string      // what its summary says, unless lines are limited
	lines      []text.Line // of the segment that fits best, as far as the query is limited to them
}

// affordable returns as many originals as may be read, the best first, and one in any
// case.
func affordable(docs []index.Doc) []index.Doc {
	left := int64(mostRead)
	var out []index.Doc
	for _, f := range docs {
		if f.Size <= left || len(out) == 0 {
			left -= f.Size
			out = append(out, f)
		}
	}
	return out
}

// candidates reads and verifies originals, and counts those that cannot be read. It
// ends with ctx, after the blobs that it is at.
func (x *Index) candidates(
	ctx context.Context, store *blobs.Store, docs []index.Doc, q Query,
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
	for i, f := range docs {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if errs[i] != nil {
			x.lost(f.Hash, errs[i])
			lost++
			continue
		}
		if c := q.candidate(f, read[i]); len(c.lines) > 0 && x.Owns(read[i]) { // whatever the index says
			out = append(out, c)
		}
	}
	return out, lost, nil
}

// candidate makes an original what its verified blob says, whatever the index says
// of it. Only the time of an original in which no line has one is the index's.
func (q Query) candidate(f index.Doc, b blobs.Blob) candidate {
	body := string(b.Body)
	facts := text.FactsOf(body)
	c := candidate{
		Hit: Hit{
			Hash: f.Hash, From: facts.From, To: facts.To, Gist: b.Gist,
			Rooms: facts.Rooms, Tools: facts.Tools, Kinds: facts.Kinds,
		},
		body: body, about: text.About(b.Meta),
	}
	at := facts.First // a line without a time of its own takes the time of the line before it
	for s := range text.Sections(body) {
		for line := range s.Lines(body) {
			if line.Message != nil && !line.At.IsZero() {
				at = line.At
			}
			if !q.fits(line, at) {
				c.about = "" // it is about that line too
				continue
			}
			c.Add(at)
			if text.SegmentOf(line.From, len(body)) == int(f.Segment) {
				c.lines = append(c.lines, line)
			}
		}
	}
	if c.Last.IsZero() {
		c.First, c.Last = time.UnixMicro(f.First).UTC(), time.UnixMicro(f.Last).UTC()
		if c.Last.After(b.At) || c.First.After(c.Last) {
			c.First, c.Last = b.At, b.At
		}
	}
	c.At = c.Last
	return c
}

// fits reports whether a query is not limited to other lines. A line has a room if it was heard
// there, and a tool if it is a call or its result. Without a kind, a query wants its room or
// its tool. Beside a kind, the room limits only chat, and the tool only calls and results.
func (q Query) fits(l text.Line, at time.Time) bool {
	if !at.IsZero() && !q.inTime(at) {
		return false
	}
	kind := l.Content()
	inRoom := kind == "chat" && l.Room == q.Room
	ofTool := kind == "tool" && strings.EqualFold(l.Tool, q.Tool)
	switch {
	case q.Kind == "" && q.Room == "" && q.Tool == "":
		return true
	case q.Kind == "":
		return q.Room != "" && inRoom || q.Tool != "" && ofTool
	case q.Kind != kind:
		return false
	case kind == "chat":
		return q.Room == "" || inRoom
	case kind == "tool":
		return q.Tool == "" || ofTool
	}
	return true
}

// inTime reports whether a moment lies between Since and Until.
func (q Query) inTime(at time.Time) bool {
	tooLate := !q.Until.IsZero() && at.After(q.Until)
	return !tooLate && !at.Before(q.Since)
}
