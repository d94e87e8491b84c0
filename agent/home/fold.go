package home

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"lethe/blobs"
	"lethe/life"
	"lethe/mind"
)

// ErrCorrupt is wrapped when what is on disk cannot be what Lethe wrote.
var ErrCorrupt = errors.New("corrupt state")

// Fold reads an identity's log from its newest epoch and folds it, changing
// nothing: what a running daemon would know, for commands that look at a life.
func Fold(id Identity, store *blobs.Store) (*mind.State, error) {
	log, err := View(id, store)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	state, _, err := FoldLog(id, log, store)
	return state, err
}

// fold is Fold of an identity of this home.
func (h Home) fold(id Identity) (*mind.State, error) {
	store, err := blobs.Open(h.Blobs())
	if err != nil {
		return nil, err
	}
	return Fold(id, store)
}

// View opens the log of an identity for reading. It ends before a torn end, also one whose texts are torn. While the
// life is Erasing, nobody looks at it.
func View(id Identity, store *blobs.Store) (*life.Log, error) {
	if err := id.Erasing(); err != nil {
		return nil, err
	}
	log, err := life.View(id.LIFE())
	if err != nil {
		return nil, id.Unread(err)
	}
	if _, err := DropTorn(log, store); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// DropTorn has a log end before its last append if that is not whole, or if a text is missing or damaged that a line
// of it refers to: a power loss took it before the append was durable, and nothing rests on it. Otherwise it returns
// the texts.
func DropTorn(log *life.Log, store *blobs.Store) (texts []mind.Body, err error) {
	if !log.Last().Whole() {
		log.DropLast()
		return nil, nil
	}
	for _, e := range log.Last() {
		bodies, err := Load(e, store)
		if errors.Is(err, blobs.ErrNotFound) || errors.Is(err, blobs.ErrDigest) {
			log.DropLast()
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the end of life: %w", err)
		}
		texts = append(texts, bodies...)
	}
	return texts, nil
}

// Unread returns the error for a LIFE that cannot be read: there is
// no such identity, or, where the rest of it is there, damage.
func (id Identity) Unread(err error) error {
	if _, serr := os.Stat(id.Dir); serr == nil && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open %s: %w: %w", id.Name, ErrCorrupt, err)
	}
	return ReadError(err)
}

func ReadError(err error) error {
	var corrupt *life.CorruptError
	switch {
	case errors.As(err, &corrupt), errors.Is(err, blobs.ErrDigest), errors.Is(err, blobs.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// FoldLog returns the state and the events it was folded from: the newest epoch, if
// there is one, and what follows.
func FoldLog(id Identity, log *life.Log, store *blobs.Store) (*mind.State, []life.Event, error) {
	events, err := log.SinceEpoch()
	if err != nil {
		return nil, nil, ReadError(err)
	}
	state, err := foldEvents(id, events, store)
	return state, events, err
}

// foldEvents folds an epoch, or a boot, and what follows it.
func foldEvents(id Identity, events []life.Event, store *blobs.Store) (*mind.State, error) {
	state := mind.New()
	for i, e := range events {
		bodies, err := Load(e, store)
		if err != nil {
			return nil, ReadError(fmt.Errorf("fold %s %s: %w", e.Kind, strings.Join(e.Args, " "), err))
		}
		isSnapshot := e.Kind == life.Epoch && len(bodies) == 1
		if i == 0 && isSnapshot {
			if state, err = mind.Restore(bodies[0].Data, BodiesOf(store)); err != nil {
				return nil, ReadError(err)
			}
		}
		if err := state.Apply(e, bodies...); err != nil {
			return nil, fmt.Errorf("open %s: %w: %w", id.Name, ErrCorrupt, err)
		}
	}
	if state.Self != id.Self {
		return nil, fmt.Errorf("open %s: %w: LIFE is not that of %.16s", id.Name, ErrCorrupt, id.Self)
	}
	return state, nil
}

// BodiesOf reads the bodies of blobs.
func BodiesOf(store *blobs.Store) func(blobs.Hash) ([]byte, error) {
	return func(h blobs.Hash) ([]byte, error) {
		b, err := store.Get(h)
		return b.Body, err
	}
}

// Load reads the blobs that an event names.
func Load(e life.Event, store *blobs.Store) ([]mind.Body, error) {
	var out []mind.Body
	for _, r := range e.Refs {
		h, err := store.Resolve(r.Hash)
		if err != nil {
			return nil, err
		}
		b, err := store.Get(h)
		if err != nil {
			return nil, err
		}
		out = append(out, mind.Body{Hash: h, Data: b.Body})
	}
	return out, nil
}
