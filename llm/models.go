package llm

import (
	"cmp"
	"context"
	"fmt"
	"sync"
)

// Models asks any model by its Name: it has a client for each preset in use. Its own Client is that of the configured
// preset, which a name without a preset means; the others are made when they are first needed, with keys from the
// environment and the providers' own addresses. It is safe for concurrent use.
type Models struct {
	*Client
	conf Config // of the others, but for the preset

	mu     sync.Mutex
	others map[string]*Client // by preset
}

// NewModels prepares the configured client, as New does.
func NewModels(conf Config) (*Models, error) {
	own, err := New(conf)
	if err != nil {
		return nil, err
	}
	conf.Preset, conf.BaseURL, conf.Key = "", "", ""
	return &Models{Client: own, conf: conf, others: map[string]*Client{}}, nil
}

// Of returns the client that asks a model, and the name with the preset's default where no model is named. The error
// is a Permanent *Error, which wraps ErrNoKey where the provider wants a key and there is none.
func (m *Models) Of(name string) (c *Client, n Name, err error) {
	n = ParseName(name)
	if c, err = m.client(n.Preset); err == nil {
		if n.Model = cmp.Or(n.Model, c.preset.Model); n.Model == "" {
			err = fmt.Errorf("preset %s has no default model: name one behind the colon", n.Preset)
		}
	}
	if err != nil {
		err = &Error{Kind: Permanent, Model: clean(name, 100), Message: clean(err.Error(), 300), Err: err}
	}
	return c, n, err
}

func (m *Models) client(preset string) (c *Client, err error) {
	if preset == "" || preset == m.preset.Name {
		return m.Client, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.others[preset]; c == nil {
		conf := m.conf
		conf.Preset = preset
		if c, err = New(conf); err == nil {
			m.others[preset] = c
		}
	}
	return c, err
}

// Complete is that of the client that Of returns; an effort in the name goes before that of r.
func (m *Models) Complete(ctx context.Context, r Request, on func(Delta)) (Reply, error) {
	c, n, err := m.Of(r.Model)
	if err != nil {
		return Reply{}, err
	}
	r.Model, r.Effort = n.Model, cmp.Or(n.Effort, r.Effort)
	return c.Complete(ctx, r, on)
}

// Close releases idle connections. Calls under way are not disturbed.
func (m *Models) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.others {
		c.Close()
	}
	return m.Client.Close()
}
