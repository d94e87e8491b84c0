package page

import (
	"fmt"
	"math"
	"net/http"
	"slices"

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
		data.Total.Add(one.Tokens)
		data.Most = max(data.Most, one.USD)
	}
	return data, nil
}

func (d *costData) show(html *htmlPage) {
	html.put("\n<h1>Cost</h1>\n<ul class=\"plain text budgets\">")
	for _, line := range d.Lines {
		html.put("<li>%s", line.Left())
		if line.Limit != 0 {
			html.put(` <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" `+
				`height="4"/><rect class="usd" width="%.1f" height="4"/></svg>`, report.Hundredths(line.Spent, line.Limit))
		}
		html.put("</li>")
	}
	html.put("</ul>\n")
	if len(d.Days) > 0 {
		d.curve(html)
		d.table(html)
	} else {
		html.put("<p class=\"text\">No call of a model was recorded yet.</p>")
	}
	html.put("\n")
}

// curve draws how the dollars of the days have added up.
func (d *costData) curve(html *htmlPage) {
	if len(d.Days) < 2 || d.Total.USD == 0 {
		return
	}
	path, sum := "M0 100", 0.0
	for i, one := range slices.Backward(d.Days) {
		sum += one.USD
		path += fmt.Sprintf(" L%.1f %.1f", 100*float64(len(d.Days)-i)/float64(len(d.Days)), 100*(1-sum/d.Total.USD))
	}
	first := d.Days[len(d.Days)-1].Date
	html.put(`<figure class="curve"><svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">`+
		`<path d="%s"/></svg><figcaption class="soft small">Dollars added up since %s: %s</figcaption></figure>
`, path, first, report.Dollars(d.Total.USD))
}

// table writes the cost of each day, and of all days.
func (d *costData) table(html *htmlPage) {
	html.put(`<h2 id="days">Days</h2>
<div class="scroll" role="region" aria-labelledby="days" tabindex="0"><table>
<thead><tr><th scope="col">Day</th><th scope="col" class="number">Tokens asked</th>` +
		`<th scope="col" class="number">from the cache</th><th scope="col" class="number">Answered</th>` +
		`<th scope="col" class="number">Dollars</th><td></td></tr></thead>
<tbody>`)
	for _, one := range d.Days {
		html.sums(one.Date, one)
		html.put(`<td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">`+
			`<rect class="usd" width="%.1f" height="10"/></svg></td></tr>
`, report.Hundredths(one.USD, d.Most))
	}
	html.put("</tbody><tfoot>")
	all := "in all"
	if d.Older {
		all = "these days"
	}
	html.sums(all, d.Total)
	html.put("<td></td></tr></tfoot></table></div>\n%s\n",
		when(d.Older, `<p class="small"><a href="?all=1#days">All days</a></p>`))
}

// sums begins a row with the sums of some days.
func (p *htmlPage) sums(name string, of history.Day) {
	p.put(`<tr><th scope="row">%s</th><td class="number">%s</td><td class="number">%s</td><td class="number">%s</td>`+
		`<td class="number">%s</td>`,
		name, report.Count(of.In), report.Share(of.Cached, of.In), report.Count(of.Out), report.Dollars(of.USD))
}
