package agent

import (
	"cmp"
	"io/fs"
	"log/slog"

	"lethe/home"
	"lethe/journal"
	"lethe/mind"
	"lethe/request"
	"lethe/tools"
)

// Held is an identity that does not run, while a command writes into its life: no model is asked and
// no tool runs.
type Held struct{ a *Agent }

// Hold takes the lock of an identity and folds its log, as Open does, with the same errors. Of
// the Config it needs Home and Store.
func Hold(id home.Identity, cfg Config) (*Held, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.ContextLimit = cmp.Or(cfg.ContextLimit, request.DefaultLimit)
	a := &Agent{
		id: id, cfg: cfg, store: cfg.Store, tools: tools.Talk(),
		rooms: map[string]*roomIO{}, files: ownFiles{id: id, seen: map[string]fs.FileInfo{}},
	}
	if err := a.hold(); err != nil {
		return nil, err
	}
	return &Held{a}, nil
}

// State is what the log says. It is not to be changed; Commit does, and Epoch.
func (h *Held) State() *mind.State { return h.a.state }

// Commit makes records happen, together. The number of an entry or notice is that of State when Commit is called.
// After an error only the log knows what happened: close, and hold it again.
func (h *Held) Commit(records ...journal.Record) error { return h.a.commit(records...) }

// Epoch appends records and then an epoch: a snapshot from which a resume starts. With a change, the
// snapshot is of the state as it then is; it may not change what was recorded before. The life is sealed behind it.
func (h *Held) Epoch(why string, change func(*mind.State) error, records ...journal.Record) error {
	return h.a.epochOf(why, change, records)
}

// Settle ends calls that were cut short: no note stands between calls and their results.
func (h *Held) Settle() error {
	if u := h.a.state.Unit(); u == nil || !u.Waits() {
		return nil
	}
	return h.a.settle()
}

// Close lets the identity go.
func (h *Held) Close() error { return h.a.Close() }
