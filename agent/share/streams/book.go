package streams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"lethe/internal/durable"
)

// Book is a stream whose newest texts are enough: from time to time a text repeats all before it, and the store forgets
// those. One caller of a host uses it at a time.
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

func (book Book) at() (place bookAt, err error) {
	err = durable.ReadJSON(book.File, 1<<10, &place)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return place, err
}

// Known returns the number of the newest text that was pulled or pushed here; 0 before the first.
func (book Book) Known() (int, error) {
	place, err := book.at()
	return place.N, err
}

func (book Book) keep(place bookAt) error {
	return durable.WriteJSON(durable.WriteFile, book.File, place)
}

// Pull calls f with each text that was not pulled or pushed here. A whole text replaces all before it.
func (book Book) Pull(ctx context.Context, f func(text []byte, whole bool) error) error {
	place, err := book.at()
	if err != nil {
		return err
	}
	newest, err := book.newestBehind(ctx, book.Stream, At{N: place.N})
	if errors.Is(err, ErrLess) {
		err = fmt.Errorf("%w; if this is meant, remove %s", err, book.File)
	}
	if err != nil || newest <= place.N {
		return err
	}
	_, head, err := book.read(ctx, newest)
	for n := max(place.N+1, head.Whole); err == nil && n <= newest; n++ {
		var text []byte
		text, _, err = book.read(ctx, n)
		if err == nil {
			err = f(text, n == head.Whole)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s from the store: %w", book.Stream, err)
	}
	return book.keep(bookAt{newest, head.Whole})
}

func (book Book) read(ctx context.Context, n int) (text []byte, head bookHead, err error) {
	text, err = book.Get(ctx, book.Stream, n)
	var parts [][]byte
	if err == nil {
		parts, err = Split(text, &head)
	}
	if err == nil && len(parts) != 1 {
		err = fmt.Errorf("read text %d of %s: %w", n, book.Stream, ErrDamaged)
	}
	if err != nil {
		return nil, head, err
	}
	return parts[0], head, nil
}

// Push adds a text; a whole one replaces all before it. The error is share.ErrTaken where another host has added a text
// that was not pulled.
func (book Book) Push(ctx context.Context, text []byte, whole bool) error {
	place, err := book.add(ctx, text, whole)
	if err != nil {
		return err
	}
	if err := book.keep(place); err != nil {
		return err
	}
	if !whole || place.N == 1 {
		return nil
	}
	return book.Delete(ctx, book.Stream, place.N-1, func(int) bool { return false })
}

// Add is Push for a text that the next Pull brings here, too.
func (book Book) Add(ctx context.Context, text []byte) error {
	_, err := book.add(ctx, text, false)
	return err
}

// add creates the next text, and returns its place.
func (book Book) add(ctx context.Context, text []byte, whole bool) (place bookAt, err error) {
	place, err = book.at()
	if err != nil {
		return place, err
	}
	place.N++
	if whole || place.Whole == 0 {
		place.Whole = place.N
	}
	return place, book.CreateNewest(ctx, book.Stream, place.N, Join(bookHead{place.Whole, Nonce()}, text))
}

// Read reads the newest whole text and all behind it. It calls lost for each that is missing or damaged.
func (book Book) Read(ctx context.Context, read func(bytes int), lost func(what error)) error {
	newest, err := book.Newest(ctx, book.Stream, 0)
	for n, whole := newest, 0; err == nil && n >= max(whole, 1); n-- {
		text, head, failed := book.read(ctx, n)
		read(len(text))
		whole = max(whole, head.Whole)
		switch {
		case Unreadable(failed):
			lost(failed)
		case failed != nil:
			err = failed
		}
		if n == newest && failed != nil {
			break // who knows how many texts count?
		}
	}
	return err
}

// Last returns the newest text; nil in an empty book.
func (book Book) Last(ctx context.Context) ([]byte, error) {
	newest, err := book.Newest(ctx, book.Stream, 0)
	if err != nil || newest == 0 {
		return nil, err
	}
	text, _, err := book.read(ctx, newest)
	return text, err
}
