package children

import (
	"context"
	"log/slog"
	"testing"

	"lethe/agent/home"
)

// resting is a life that has nothing to do.
type resting struct{}

func (resting) Run(context.Context) error { return nil }
func (resting) Join(*Team)                {}
func (resting) Wake()                     {}

// A child that stops together with its parent is not lost: it goes on when that does.
func TestStopsWithItsParent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open := func(home.Identity) (Life, error) { return resting{}, nil }
	c := &crew{open: open, log: slog.New(slog.DiscardHandler), members: map[string]*member{}}
	parent := &Team{crew: c, ctx: ctx, lost: map[string]error{}, life: resting{}}
	parent.keep(home.Identity{Name: "ada-1"}, &member{})
	if why := parent.Lost("ada-1"); why != nil {
		t.Errorf("lost: %v", why)
	}
}
