package shelf

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/internal/durable"
)

// Order is what a home.WishAdopt has inside: an identity obeys when it has nothing else to do.
type Order struct {
	Sources []adopt.Source `json:"sources"`
	Since   time.Time      `json:"since,omitzero"`
	But     int            `json:"but,omitempty"` // see adopt.Options
}

// Answer is what became of an Order. A home.WishAdopted has it inside.
type Answer struct {
	Found []Finding `json:"found"`
	Error string    `json:"error,omitempty"`
}

const (
	mostOrder  = 1 << 20  // bytes
	mostAnswer = 64 << 20 // bytes
)

// String is what stands inside.
func (o Order) String() string {
	text, _ := json.Marshal(o) // nothing in it can fail
	return string(text)
}

// Ask leaves an order for what the names of sources mean now. Nobody waits for its answer.
func Ask(id home.Identity, by, names string) error {
	var order Order
	for name := range strings.FieldsSeq(names) {
		sources, err := adopt.Sources(name)
		if err != nil {
			return err
		}
		order.Sources = append(order.Sources, sources...)
	}
	return home.Leave(id, home.WishAdopt+home.Wish(by), order.String())
}

// TakeAnswer returns the answer to an order, once; without one fs.ErrNotExist.
func TakeAnswer(id home.Identity, by string) (answer Answer, err error) {
	wish := home.WishAdopted + home.Wish(by)
	err = durable.ReadJSON(wish.Path(id), mostAnswer, &answer)
	return answer, errors.Join(err, wish.Drop(id))
}

// Size returns the bytes of all files that were not adopted yet as they are, as far as they can be seen.
func (s *Shelf) Size(sources []adopt.Source) (bytes int64) {
	for _, source := range sources {
		options := adopt.Options{}
		store, err := source.Open(&options)
		if err != nil { // the reading tells
			continue
		}
		if s != nil {
			s.knows(source.Agent, &options)
		}
		bytes += adopt.Find(source.Agent).Size(store.FS, options)
		store.Close()
	}
	return bytes
}

// Desk obeys orders while a life runs. The goroutine that writes the journal calls it; others read the stores.
type Desk struct {
	*journal.Journal
	wish   home.Wish
	order  Order
	answer Answer
	laid   *Shelf
	taking *Taking // nil while nothing is adopted
}

// Look begins with an order that is among wishes, unless one is obeyed.
func (d *Desk) Look(ctx context.Context, wishes []home.Wish) (err error) {
	for _, wish := range wishes {
		if by, asks := wish.Of(home.WishAdopt); asks && d.taking == nil {
			d.wish, d.order, d.answer = home.Wish(by), Order{}, Answer{Found: []Finding{}}
			d.fails(durable.ReadJSON(wish.Path(d.ID), mostOrder, &d.order))
			if d.laid, err = Open(d.Journal); err == nil {
				err = d.next(ctx)
			}
			return err
		}
	}
	return nil
}

func (d *Desk) fails(err error) {
	if err != nil {
		d.answer.Error = err.Error()
	}
}

// next begins with the next store of the order, or ends it.
func (d *Desk) next(ctx context.Context) (err error) {
	for d.taking = nil; len(d.order.Sources) > 0; {
		source := d.order.Sources[0]
		d.order.Sources = d.order.Sources[1:]
		d.taking, err = d.laid.begin(ctx, source, adopt.Options{Since: d.order.Since, But: d.order.But})
		if err == nil {
			return nil
		}
		d.fails(err)
	}
	if err := d.laid.Close(); err != nil {
		return err
	}
	if err := durable.WriteJSON(durable.WriteFile, (home.WishAdopted + d.wish).Path(d.ID), d.answer); err != nil {
		return err
	}
	return (home.WishAdopt + d.wish).Drop(d.ID)
}

// Batches has what is to be laid down; nil while nothing is adopted.
func (d *Desk) Batches() <-chan Batch {
	if d.taking == nil {
		return nil
	}
	return d.taking.batches
}

// Lay lays a batch down; more is false at the end of a store.
func (d *Desk) Lay(ctx context.Context, batch Batch, more bool) error {
	if more {
		return d.taking.add(batch)
	}
	if ctx.Err() != nil { // the order stays
		return nil
	}
	found, err := d.taking.end()
	d.fails(d.taking.err)
	if err != nil {
		return err
	}
	d.answer.Found = append(d.answer.Found, found)
	return d.next(ctx)
}

// Stop ends the reading of a store. The order stays.
func (d *Desk) Stop() {
	if d.taking != nil {
		d.taking.stop()
	}
}
