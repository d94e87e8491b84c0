package hosts

import (
	"context"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
)

// rotten is a store that has one damaged text.
type rotten struct {
	share.Store
	stream string
	n      int
}

func (r rotten) Get(ctx context.Context, stream string, n int) ([]byte, error) {
	if stream == r.stream && n == r.n {
		return nil, share.ErrDamaged
	}
	return r.Store.Get(ctx, stream, n)
}

// A damaged lease says that its host was there, and hides neither the next one nor the silence behind it.
func TestDamagedLease(t *testing.T) {
	atPace(t, func(t *testing.T) {
		a := first(t)
		b := a.beside("b").standsBy()
		a.boot("ada")
		lethetest.Must(t, b.connect())
		b.streams.Store = rotten{b.streams.Store, leaseStream(a.Host.ID), 8}
		kill := a.serve()
		defer b.serve()()
		time.Sleep(10 * time.Minute)
		if b.hasRun("ada") {
			t.Error("b has taken ada from a host that is there")
		}
		kill()
		until(t, 45*time.Second, func() bool { return b.hasRun("ada") })
	})
}

// A host whose own newest lease is damaged goes on behind it, also as another process, which does not know its number.
func TestOwnLeaseIsDamaged(t *testing.T) {
	atPace(t, func(t *testing.T) {
		a := first(t)
		lethetest.Must(t, a.connect())
		lethetest.Must(t, a.say(t.Context(), renewEvery, false))
		a.streams.Store = rotten{a.streams.Store, leaseStream(a.Host.ID), 1}
		a.leases.renewed = 0
		lethetest.Must(t, a.say(t.Context(), renewEvery, false))
		lethetest.Equal(t, "lease", a.leases.renewed, 2)
	})
}
