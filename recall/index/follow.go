package index

import (
	"encoding/json"
	"fmt"

	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
)

// task is an original that the log names.
type task struct {
	from, to int    // its entries
	ref      string // its address or the beginning of it
}

func (t task) entries() string { return fmt.Sprintf("e%d..e%d", t.from, t.to) }

// follower turns events into tasks. A fade counts only with the epoch that follows
// it in the same append.
type follower struct {
	fades []task
	// removed reads what a person took out of the context: only the epoch of the
	// edit names it.
	removed func(ref string) []task
}

// take folds one event and returns what is to be indexed. settled says that
// everything up to this event is done once the tasks are.
func (f *follower) take(e life.Event, follows bool) (tasks []task, settled bool) {
	if !follows {
		f.fades = nil
	}
	switch e.Kind {
	case "fade": // a card has no original of its own
		if fade, ok := event.As[event.Fade](e); ok && len(e.Refs) > 0 && fade.To != "card" {
			f.fades = append(f.fades, task{fade.Entries.From, fade.Entries.To, e.Refs[0].Hash})
		}
	case "note": // an edit's note names the lines that it took out of entries that stay
		if note, ok := event.As[event.Note](e); ok && note.Why == "edit" && len(e.Refs) > 1 {
			f.fades = append(f.fades, task{note.N, note.N, e.Refs[1].Hash})
		}
	case life.Epoch:
		tasks = f.fades
		if epoch, ok := event.As[event.Epoch](e); ok && epoch.Why == "edit" && len(e.Refs) > 0 {
			tasks = append(tasks, f.removed(e.Refs[0].Hash)...)
		}
		f.fades = nil
	}
	return tasks, len(f.fades) == 0
}

// removedBy lists the originals of an epoch's faded ranges. Most are known from
// their fades; what a person deleted is not.
func removedBy(epoch []byte) ([]task, error) {
	var state struct {
		Faded []struct {
			From     int    `json:"from"`
			To       int    `json:"to"`
			Level    string `json:"level"`
			Original struct {
				Hash blobs.Hash `json:"hash"`
			} `json:"original"`
		} `json:"faded"`
	}
	if err := json.Unmarshal(epoch, &state); err != nil {
		return nil, fmt.Errorf("read epoch: %w", err)
	}
	var out []task
	for _, r := range state.Faded {
		if r.Level != "card" && !r.Original.Hash.IsZero() && r.From <= r.To {
			out = append(out, task{r.From, r.To, r.Original.Hash.String()})
		}
	}
	return out, nil
}
