package page

import (
	"cmp"
	"net/http"
	"slices"

	"lethe/agent/home"
	"lethe/agent/prompt"
	"lethe/bridge/report"
	"lethe/bridge/report/history"
	"lethe/bridge/serve/backend"
)

// forgetting shows how the context has changed from epoch to epoch, and where the things went that left it.
var forgetting = view{Name: "forgetting", Title: "Forgetting", data: forgettingOf}

type forgettingData struct {
	Epochs []*history.Epoch // the oldest first
	Newest []*history.Epoch // the same, the newest first
	Older  int64            // where to go on behind these: a place in LIFE; 0 where nothing is older
	Later  bool             // there are newer epochs
	Limit  int
	Counts map[string]int // entries, and blocks of each level, as they are now
	Away   int            // refs that the furthest original is away
	history.Drawing
}

func forgettingOf(page *frame, r *http.Request) (content, error) {
	before, err := backend.Place(r, "before")
	if err != nil {
		return nil, err
	}
	data := &forgettingData{Later: before > 0, Limit: cmp.Or(page.ContextLimit, prompt.DefaultLimit)}
	if data.Epochs, data.Older, err = history.Epochs(page.Store, page.ID, max(0, before)); err != nil {
		return nil, err
	}
	if live, running := report.Live(page.ID); running && live.ContextLimit > 0 {
		data.Limit = live.ContextLimit
	}
	data.Drawing = history.Draw(data.Epochs, data.Limit)
	data.Newest = slices.Clone(data.Epochs)
	slices.Reverse(data.Newest)
	state, err := home.Fold(page.ID, page.Store)
	if err != nil {
		return nil, err
	}
	data.Counts = map[string]int{"all": state.Next - 1, "live": len(state.Live)}
	for _, r := range state.Faded {
		data.Counts[r.Level]++
		data.Away = max(data.Away, 1+r.Tier)
	}
	return data, nil
}
