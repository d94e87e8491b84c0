package shelf

import (
	"context"
	"fmt"
	"strings"

	"lethe/agent/budget"
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

// Asking asks a model, on the identity's account. It is for one use.
type Asking struct {
	Meter compactor.Meter
	Most  int // texts that are asked about at once
	Price func(requests, tokens int) (model string, usd budget.USD)
	// Ask asks about texts, beside the turns. Pay pays for it, and is called by who writes the journal.
	Ask func(ctx context.Context, texts []string) ([]compactor.Fade, error)
	Pay func() error
}

// Price is what gists of the first originals would cost.
type Price struct {
	Originals int        `json:"originals"`
	Requests  int        `json:"requests"`
	Tokens    int        `json:"tokens"`
	Model     string     `json:"model"`
	USD       budget.USD `json:"usd"`
}

// untold is an original for whose gist a model is to be asked, and what was said in it.
type untold struct {
	kept
	original blobs.Hash
	talk     string
	tokens   int
}

// untold returns originals for whose gist a model was not asked yet, at most so many from a place up to another one, and
// the place behind them. Results of tools are left out: they are long, and tell little.
func (s *Shelf) untold(meter compactor.Meter, from, to, most int) (all []untold, next int, err error) {
	for next = from; next < min(to, len(s.kept)) && len(all) < most; next++ {
		part := s.kept[next]
		if s.told[part.Hash].Relevance > 0 {
			continue
		}
		blob, err := s.Store.Find(part.Hash)
		if err != nil {
			return nil, next, fmt.Errorf("read what was adopted: %w", err)
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
		if tokens := meter(message.Weight(talk)); tokens >= leastTold {
			all = append(all, untold{part, blob.Hash, talk, tokens + instructed})
		}
	}
	return all, next, nil
}

// tell lays down what a model has written of originals. Where its answer was of no use the gist stays, and it is not
// asked again.
func (s *Shelf) tell(all []untold, fades []compactor.Fade) error {
	for i, fade := range fades {
		told := all[i]
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
	return s.commit()
}

// price has the answer say what gists would cost.
func (d *Desk) price(ctx context.Context) {
	asking, price := d.Asking(), Price{Originals: len(d.laid.kept)}
	d.beside(ctx, func(ctx context.Context) (func() error, error) {
		for at := 0; at < price.Originals && ctx.Err() == nil; {
			all, next, err := d.laid.untold(asking.Meter, at, price.Originals, 100)
			if err != nil {
				return nil, err
			}
			for _, original := range all {
				price.Requests, price.Tokens = price.Requests+1, price.Tokens+original.tokens
			}
			at = next
		}
		price.Model, price.USD = asking.Price(price.Requests, price.Tokens)
		return func() error { d.answer.Price = price; return nil }, ctx.Err()
	})
}

// tell has a model write the next gists. What it has answered is laid down and paid for also where it fails.
func (d *Desk) tell(ctx context.Context) {
	asking := d.Asking()
	d.beside(ctx, func(ctx context.Context) (func() error, error) {
		all, next, err := d.laid.untold(asking.Meter, d.at, d.order.Gists, asking.Most)
		var texts []string
		for _, original := range all {
			texts = append(texts, original.talk)
		}
		var fades []compactor.Fade
		if len(texts) > 0 {
			fades, err = asking.Ask(ctx, texts)
		}
		return func() error {
			d.at = next
			if err := d.laid.tell(all, fades); err != nil {
				return err
			}
			return asking.Pay()
		}, err
	})
}
