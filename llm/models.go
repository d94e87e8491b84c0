package llm

import (
	"cmp"
	"context"
)

// Models asks any model by its Name. A name without a preset means one of the Client's own; those of other presets are
// asked with the same patience at the provider's own address, with the key of its variable.
type Models struct{ *Client }

// Of returns the client that asks a model. The error is a Permanent *Error, which wraps ErrNoKey where there is no key.
func (m Models) Of(name string) (*Client, Name, error) {
	n := ParseName(name)
	if n.Preset == "" || n.Preset == m.preset.Name {
		return m.Client, n, nil
	}
	t, err := aim(Config{Preset: n.Preset})
	if err != nil {
		return nil, n, &Error{Kind: Permanent, Model: clean(name, 100), Message: clean(err.Error(), 300), Err: err}
	}
	c := *m.Client
	c.target = t
	return &c, n, nil
}

// Complete is that of the client that Of returns; an effort in the name goes before that of r.
func (m Models) Complete(ctx context.Context, r Request, on func(Delta)) (Reply, error) {
	c, n, err := m.Of(r.Model)
	if err != nil {
		return Reply{}, err
	}
	r.Model, r.Effort = n.Model, cmp.Or(n.Effort, r.Effort)
	return c.Complete(ctx, r, on)
}
