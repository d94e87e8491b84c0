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
	// Price asks what gists of all originals cost; Gists has a model write those of the first so many.
	Price bool `json:"price,omitempty"`
	Gists int  `json:"gists,omitempty"`
}

// Answer is what became of an Order. A home.WishAdopted has it inside.
type Answer struct {
	Found []Finding `json:"found"`
	Price Price     `json:"price"`
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
	for _, name := range strings.Fields(names) {
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

// Desk obeys orders while a life runs. The goroutine that writes the journal calls it; others read the stores, and ask
// the model.
type Desk struct {
	*journal.Journal
	Asking func() Asking
	wish   home.Wish
	order  Order
	answer Answer
	laid   *Shelf
	taking *Taking // nil while nothing is adopted
	at     int     // originals before this one have their gists
}

// Look begins with an order that is among wishes, unless one is obeyed.
func (d *Desk) Look(ctx context.Context, wishes []home.Wish) (err error) {
	for _, wish := range wishes {
		if by, asks := wish.Of(home.WishAdopt); asks && d.taking == nil {
			d.wish, d.order, d.answer, d.at = home.Wish(by), Order{}, Answer{Found: []Finding{}}, 0
			d.fails(durable.ReadJSON(wish.Path(d.ID), mostOrder, &d.order))
			if d.laid, err = Open(d.Journal); err != nil {
				return err
			}
			if all := len(d.laid.kept); d.order.Price || d.order.Gists > all {
				d.order.Gists = all
			}
			return d.next(ctx)
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
	isAsked := home.Asked(d.ID, home.WishAdopt+d.wish) // who asks may think better of it
	if isAsked && d.answer.Error == "" && d.at < d.order.Gists {
		d.tell(ctx)
		return nil
	}
	if err := d.laid.Close(); err != nil || !isAsked {
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
	d.fails(d.taking.err)
	if d.taking.in != nil {
		found, err := d.taking.end()
		if err != nil {
			return err
		}
		d.answer.Found = append(d.answer.Found, found)
	}
	return d.next(ctx)
}

// Obey obeys one order of a life that does not run.
func (d *Desk) Obey(ctx context.Context, wish home.Wish) error {
	err := d.Look(ctx, []home.Wish{wish})
	for err == nil && ctx.Err() == nil && d.taking != nil {
		batch, more := <-d.taking.batches
		err = d.Lay(ctx, batch, more)
	}
	return errors.Join(err, d.End(), ctx.Err())
}

// End lays down what has come, and ends the work on an order, which stays.
func (d *Desk) End() (err error) {
	if d.taking == nil {
		return nil
	}
	d.taking.cancel()
	for batch := range d.taking.batches {
		err = errors.Join(err, d.taking.add(batch))
	}
	d.taking = nil
	return err
}

// Stop ends the work on an order, which stays.
func (d *Desk) Stop() {
	if d.taking != nil {
		d.taking.stop()
	}
}

// beside runs work in a goroutine of its own. What it returns is done like a batch.
func (d *Desk) beside(ctx context.Context, work func(context.Context) (func() error, error)) {
	d.taking = &Taking{batches: make(chan Batch, 1)}
	d.taking.start(ctx, func(ctx context.Context, out chan<- Batch) error {
		do, err := work(ctx)
		if do != nil {
			out <- Batch{do}
		}
		return err
	})
}
