package page

import (
	"math"
	"net/http"

	"lethe/agent/config"
	"lethe/bridge/report"
	"lethe/bridge/report/history"
)

// cost shows the tokens and dollars that calls of the model have used, day by day.
var cost = view{Name: "cost", Title: "Cost", data: costOf}

type costData struct {
	report.Budget
	Days  []history.Day // the newest first
	Total history.Day
	Most  float64 // dollars of a day
	Older bool    // there are more
}

const daysShown = 30

func costOf(page *frame, r *http.Request) (content, error) {
	h, s := page.Home, config.Settings{}
	if config.Read(page.Dir, &s) == nil { // they may be others since the server began
		h.Limits = s.Budget.Limits()
	}
	budgets, err := h.Budgets()
	if err != nil {
		return nil, err
	}
	data := &costData{Budget: budgets.Of(page.ID.Self)}
	most := daysShown
	if r.FormValue("all") != "" {
		most = math.MaxInt
	}
	if data.Days, data.Older, err = history.Days(page.ID, page.Clock(), most); err != nil {
		return nil, err
	}
	for _, one := range data.Days {
		data.Total.Tokens = history.Sum(data.Total.Tokens, one.Tokens)
		data.Most = max(data.Most, one.USD)
	}
	return data, nil
}
