package page

import "net/http"

// rerun asks past requests again, once it has told the price.
var rerun = view{Name: "rerun", Title: "Ask again", data: rerunOf, forms: map[string]form{"ask": askAgain}, Apart: true}

type rerunData struct{ Told string }

func rerunOf(*frame, *http.Request) (content, error) { return rerunData{}, nil }

func askAgain(page *frame, w http.ResponseWriter, r *http.Request) error {
	args := []string{page.ID.Name}
	for _, flag := range []string{"at", "from", "to", "model", "limit", "yes"} {
		if value := field(r, flag); value != "" {
			args = append(args, "--"+flag+"="+value)
		}
	}
	told, err := page.Rerun(r.Context(), args...)
	if err != nil {
		return page.again(w, r, err)
	}
	page.show(w, 200, rerunData{string(told)}, "")
	return nil
}

func (d rerunData) show(html *htmlPage) {
	html.put(`<h1>Ask again</h1>
%s<form class="fields text" method="post" action="/agents/%s/rerun/ask"><p class="row"><label>the turn at `+
		`<input name="at" size="9" value="%v" placeholder="e39, 2h ago"></label> `+
		`<label>or all from <input name="from" size="9" value="%v"></label> `+
		`<label>to <input name="to" size="9" value="%v" placeholder="now"></label></p>
<p class="row"><label>with the model <input name="model" size="16" value="%v" placeholder="of then"></label> `+
		`<label>and a limit of <input name="limit" size="9" value="%v" placeholder="as then"> tokens</label> `+
		`<button>Tell the price</button>%s</p></form>
<pre tabindex="0">%s</pre>
`, html.wrong(), html.ID.Name, html.Typed("at", ""), html.Typed("from", ""), html.Typed("to", ""),
		html.Typed("model", ""), html.Typed("limit", ""),
		when(html.Wrong != nil, ` <button name="yes" value="true">Ask</button>`), d.Told)
}
