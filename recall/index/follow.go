package index

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"lethe/blobs"
	"lethe/life"
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
	case "fade":
		if t, ok := fade(e); ok {
			f.fades = append(f.fades, t)
		}
	case "note":
		// An edit's note names the lines that it took out of entries that stay.
		n, err := strconv.Atoi(strings.TrimPrefix(e.Arg(0), "e"))
		if err == nil && e.Get("why") == "edit" && len(e.Refs) > 1 {
			f.fades = append(f.fades, task{n, n, e.Refs[1].Hash})
		}
	case life.Epoch:
		tasks = f.fades
		if e.Get("why") == "edit" && len(e.Refs) > 0 {
			tasks = append(tasks, f.removed(e.Refs[0].Hash)...)
		}
		f.fades = nil
	}
	return tasks, len(f.fades) == 0
}

// fade reads a line that replaces entries. A card has no original of its own.
func fade(e life.Event) (task, bool) {
	a, b, ok := strings.Cut(e.Arg(0), "..")
	from, err1 := strconv.Atoi(strings.TrimPrefix(a, "e"))
	to, err2 := strconv.Atoi(strings.TrimPrefix(b, "e"))
	if !ok || err1 != nil || err2 != nil || from > to || len(e.Refs) == 0 || e.Get("to") == "card" {
		return task{}, false
	}
	return task{from, to, e.Refs[0].Hash}, true
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
