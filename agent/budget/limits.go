package budget

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"lethe/internal/durable"
)

// The limits of a home that several hosts share are in its ledger. A host remembers what its config.toml said when it
// last started: what was changed there since is the home's new limit. Of a host that has said nothing yet, or whose file
// is damaged, stricter limits count.

func (p *Wallet) saidFile() string { return filepath.Join(p.home.Dir, "share", "limits") }

// shareLimits has the ledger say what config.toml says and said not before.
func (p *Wallet) shareLimits(config Limits) error {
	if p.ledger.Remote == nil {
		return nil
	}
	text, _, err := durable.ReadRegular(p.saidFile(), 1<<12)
	isFirst := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isFirst {
		return err
	}
	var said Limits
	if err := json.Unmarshal(text, &said); err != nil {
		isFirst = true
	}
	next := config
	switch shared := p.ledger.Limits; {
	case shared == nil:
	case isFirst:
		next = shared.stricter(config)
	default:
		next = shared.changed(said, config)
	}
	known := p.ledger.Limits
	isNew := known == nil && next.Any()
	hasChanged := known != nil && *known != next
	if isNew || hasChanged {
		if err := p.ledger.PutLimits(next); err != nil {
			return err
		}
	}
	p.follow()
	if !isFirst && said == config {
		return nil
	}
	text, err = json.Marshal(config)
	if err != nil {
		return err
	}
	return durable.WriteFile(p.saidFile(), text, 0o600)
}

// amounts are the limits in dollars.
func (l *Limits) amounts() []*USD { return []*USD{&l.Day, &l.Month, &l.Life, &l.Spawn, &l.HomeDay} }

// stricter returns, of each limit, the lower one.
func (l Limits) stricter(other Limits) Limits {
	if !other.Any() {
		return l
	}
	for k, amount := range l.amounts() {
		bound := *other.amounts()[k]
		isStricter := bound > 0 && bound < *amount
		if *amount == 0 || isStricter {
			*amount = bound
		}
	}
	l.AllowUnpriced = l.AllowUnpriced && other.AllowUnpriced
	return l
}

// changed returns the limits with each that differs between was and is as it is there.
func (l Limits) changed(was, is Limits) Limits {
	for k, amount := range l.amounts() {
		if now := *is.amounts()[k]; now != *was.amounts()[k] {
			*amount = now
		}
	}
	if is.AllowUnpriced != was.AllowUnpriced {
		l.AllowUnpriced = is.AllowUnpriced
	}
	return l
}
