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
	for next = from; next < to && len(all) < most; next++ {
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

// tell has a model write the next gists, or only counts them for their price. What was answered is laid down and paid for
// also where it fails.
func (d *Desk) tell(ctx context.Context) {
	asking, price := d.Asking(), d.answer.Price
	d.beside(ctx, func(ctx context.Context) (func() error, error) {
		all, next, err := d.laid.untold(asking.Meter, d.at, d.order.Gists, asking.Most)
		var texts []string
		for _, original := range all {
			texts = append(texts, original.talk)
			price.Requests, price.Tokens = price.Requests+1, price.Tokens+original.tokens
		}
		price.Originals = d.order.Gists
		price.Model, price.USD = asking.Price(price.Requests, price.Tokens)
		var fades []compactor.Fade
		if len(texts) > 0 && !d.order.Price {
			fades, err = asking.Ask(ctx, texts)
		}
		return func() error {
			d.at, d.answer.Price = next, price
			if err := d.laid.tell(all, fades); err != nil {
				return err
			}
			return asking.Pay()
		}, err
	})
}
