package agent

import (
	"cmp"
	"io/fs"
	"log/slog"

	"lethe/life/event"
	"lethe/mind"
)

// Held is an identity that does not run, while a command writes into its life: no model is asked and
// no tool runs.
type Held struct{ a *Agent }

// Record is an event with the texts that its line refers to, in the order of its refs.
type Record struct {
	Event event.Event
	Texts []Text
}

// Text is the text of a blob, and one line about it.
type Text struct {
	Gist string
	Data []byte
}

// Hold takes the lock of an identity and folds its log, as Open does, with the same errors. Of
// the Config it needs Home and Store.
func Hold(id Identity, cfg Config) (*Held, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.ContextLimit = cmp.Or(cfg.ContextLimit, defaultLimit)
	a := &Agent{
		id: id, cfg: cfg, store: cfg.Store,
		rooms: map[string]*roomIO{}, files: ownFiles{dir: id.Dir, log: cfg.Log, seen: map[string]fs.FileInfo{}},
	}
	if err := a.hold(); err != nil {
		return nil, err
	}
	return &Held{a}, nil
}

// State is what the log says. It is not to be changed; Commit does, and Epoch.
func (h *Held) State() *mind.State { return h.a.state }

// Commit makes records happen, together: their texts are durable, then their lines, in one
// append. The number of an entry or notice is that of State when Commit is called. After an error
// only the log knows what happened: close, and hold it again.
func (h *Held) Commit(records ...Record) error { return h.a.commit(own(records)...) }

// Epoch appends records and then an epoch: a snapshot from which a resume starts. With a change, the
// snapshot is of the state as it then is; it may not change what was recorded before. The life is sealed behind it.
func (h *Held) Epoch(why string, change func(*mind.State) error, records ...Record) error {
	return h.a.epochOf(why, change, own(records))
}

// Close lets the identity go.
func (h *Held) Close() error { return h.a.Close() }

func own(records []Record) (out []record) {
	for _, r := range records {
		next := record{event: r.Event}
		for _, t := range r.Texts {
			next.bodies = append(next.bodies, body{t.Gist, t.Data})
		}
		out = append(out, next)
	}
	return out
}
