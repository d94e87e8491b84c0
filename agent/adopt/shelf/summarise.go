package shelf

import (
	"fmt"
	"strings"

	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/compactor/recall/text"
	"lethe/internal/secret/shape"
	"lethe/mind"
	"lethe/mind/message"
)

// Bounds of what a model is told of an original: its beginning and its end. Less is not worth a request.
const (
	mostTold  = 12 << 10 // bytes
	leastTold = 200      // tokens

	instructed = 900 // tokens, about, that a request has beside it
)

// Untold returns what was said in each original for whose gist a model was not asked yet, and the tokens of requests
// about it. Results of tools are left out: they are long, and tell little.
func (s *Shelf) Untold(meter compactor.Meter) (talks []string, tokens int, err error) {
	for _, part := range s.kept {
		if s.told[part.Hash].Relevance > 0 {
			continue
		}
		blob, err := s.Store.Find(part.Hash)
		if err != nil {
			return nil, 0, fmt.Errorf("read what was adopted: %w", err)
		}
		talk, body := "", string(blob.Body)
		for section := range text.Sections(body) {
			if section.Kind == mind.Inbound {
				talk += section.Text(body)
			}
		}
		if len(talk) > mostTold {
			talk = strings.ToValidUTF8(talk[:mostTold/2]+"\n…\n"+talk[len(talk)-mostTold/2:], "")
		}
		if told := meter(message.Weight(talk)); told >= leastTold {
			tokens += told + instructed
			talks = append(talks, talk)
			s.untold = append(s.untold, untold{part, blob.Hash})
		}
	}
	return talks, tokens, nil
}

// Tell lays down what a model has written of the next originals of Untold. Where its answer was of no use the gist
// stays, and it is not asked again.
func (s *Shelf) Tell(fades []compactor.Fade) error {
	for i, fade := range fades {
		told := s.untold[i]
		switch {
		case !fade.Mechanical:
			told.Gist = blobs.Gist(shape.Text(fade.Gist))
		case !fade.Garbage:
			continue
		}
		told.Relevance = fade.Relevance
		s.keep(told.Adopted, told.Ref)
		original := mind.Ref{Hash: told.original, Short: told.Hash, Gist: told.Gist}
		s.records = append(s.records, journal.Record{Event: told.Adopted, Stored: []mind.Ref{original}})
	}
	s.untold = s.untold[len(fades):]
	return s.commit()
}
