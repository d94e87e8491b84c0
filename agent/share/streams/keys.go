package streams

import (
	"context"

	"lethe/agent/share"
	"lethe/internal/seal"
)

// Opens returns seal.ErrKey if a text of a stream cannot be opened with the keys of a home. It makes no key.
func Opens(ctx context.Context, store share.Store, stream, home string, plain bool) error {
	newest, err := store.Newest(ctx, stream, 0)
	if err != nil || newest == 0 {
		return err
	}
	all := &Streams{Store: store}
	if !plain {
		all.Keys, err = seal.Load(home, nil, false)
	}
	if err == nil {
		_, err = all.Get(ctx, stream, newest)
	}
	return err
}
