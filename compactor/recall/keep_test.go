package recall

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// A search that does not come back is left behind.
func TestSearchIsLeftBehind(t *testing.T) {
	t.Parallel()
	x := &Keeper{Index: Open("", nil, slog.New(slog.DiscardHandler)), news: make(chan struct{}, 1)}
	x.used.Store(true)
	hang := make(chan struct{})
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := x.Ask(ctx, func(*Index) (Found, error) { <-hang; return Found{}, nil })
	if err != context.DeadlineExceeded {
		t.Errorf("of one that hangs: %v", err)
	}
	if _, err := x.Ask(t.Context(), func(*Index) (Found, error) { panic("for a test") }); err == nil {
		t.Error("a panic is no error")
	}
	if _, err := x.Ask(t.Context(), func(*Index) (Found, error) { return Found{}, ErrRebuilding }); err == nil || !x.Behind() {
		t.Errorf("of a damaged one: %v", err)
	}
	<-x.news
}
