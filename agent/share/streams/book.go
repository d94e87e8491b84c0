package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"lethe/internal/durable"
)

// Book is a stream whose newest texts are enough: from time to time a text repeats all before it, and the store forgets
// those. One process of a host uses it at a time.
type Book struct {
	*Streams
	Stream string
	File   string // keeps how far this host has read
}

type bookHead struct {
	Whole int    `json:"whole"` // the number of the newest text that says all
	Nonce string `json:"nonce"`
}

// bookAt is the place that a host has read to.
type bookAt struct {
	N     int `json:"n"`
	Whole int `json:"whole"`
}

func (b Book) at() (p bookAt, err error) {
	text, _, err := durable.ReadRegular(b.File, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(text, &p)
}

func (b Book) keep(p bookAt) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = durable.WriteFile(b.File, text, 0o600)
	}
	return err
}

// Pull calls f with each text that was not pulled or pushed here. A whole text replaces all before it.
func (b Book) Pull(ctx context.Context, f func(text []byte, whole bool) error) error {
	p, err := b.at()
	if err != nil {
		return err
	}
	newest, err := b.newestBehind(ctx, b.Stream, At{N: p.N})
	if errors.Is(err, ErrLess) {
		err = fmt.Errorf("%w; if this is meant, remove %s", err, b.File)
	}
	if err != nil || newest <= p.N {
		return err
	}
	_, head, err := b.read(ctx, newest)
	for n := max(p.N+1, head.Whole); err == nil && n <= newest; n++ {
		var text []byte
		text, _, err = b.read(ctx, n)
		if err == nil {
			err = f(text, n == head.Whole)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s from the store: %w", b.Stream, err)
	}
	return b.keep(bookAt{newest, head.Whole})
}

func (b Book) read(ctx context.Context, n int) (text []byte, head bookHead, err error) {
	text, err = b.Get(ctx, b.Stream, n)
	var parts [][]byte
	if err == nil {
		parts, err = Split(text, &head)
	}
	if err == nil && len(parts) != 1 {
		err = fmt.Errorf("read text %d of %s: %w", n, b.Stream, ErrDamaged)
	}
	if err != nil {
		return nil, head, err
	}
	return parts[0], head, nil
}

// Push adds a text; a whole one replaces all before it. The error is share.ErrTaken where another host has added a text
// that was not pulled.
func (b Book) Push(ctx context.Context, text []byte, whole bool) error {
	p, err := b.at()
	if err != nil {
		return err
	}
	p.N++
	if whole || p.Whole == 0 {
		p.Whole = p.N
	}
	if err := b.CreateNewest(ctx, b.Stream, p.N, Join(bookHead{p.Whole, Nonce()}, text)); err != nil {
		return err
	}
	if err := b.keep(p); err != nil {
		return err
	}
	if !whole || p.N == 1 {
		return nil
	}
	return b.Delete(ctx, b.Stream, p.N-1, func(int) bool { return false })
}

// Last returns the newest text; nil in an empty book.
func (b Book) Last(ctx context.Context) ([]byte, error) {
	newest, err := b.Newest(ctx, b.Stream, 0)
	if err != nil || newest == 0 {
		return nil, err
	}
	text, _, err := b.read(ctx, newest)
	return text, err
}
