package page

func (d *manageData) show(html *htmlPage) {
	name, offline := html.ID.Name, d.Endpoint == "offline"
	html.put("\n<h1>%s</h1>\n", name)
	html.wrong()
	html.put("\n")
	html.said()
	html.put("\n<div class=\"text\">\n<p>")
	html.how(d.Agent)
	html.put("</p>\n")
	if d.Error != "" {
		html.put(`<p class="trouble">`)
		if html.Wrong == nil {
			html.put("<bdi>%s</bdi> ", clean(d.Error))
		}
		html.put(`<a href="/agents#settings">Model and key</a></p>`)
	}
	html.put("\n")
	d.control(html, offline)
	html.put(`
<h2>Purpose</h2>
<pre tabindex="0" dir="auto" aria-label="Purpose">%s</pre>
<p class="soft small">It is in the hash <code>%s</code> that is the identity, and stays. What changes is `+
		`<a href="/agents/%s/mind?open=memory#memory">MEMORY</a>, which you and %[3]s edit.</p>
<p class="soft small">`, clean(d.Soul), short(16, html.ID.Self), name)
	if offline {
		html.put("It thinks with the offline model until you start it with another one, above. ")
	} else if d.Model != "" {
		html.put(`It thinks with %s, which you change in <a href="/agents/%s/now#model">Now</a>. `, clean(d.Model), name)
	}
	html.put(`<a href="/agents#settings">Keys, limits and budgets</a> are those of all; `+
		`<code>/budget +2 today</code> in a room `+
		`raises one for a day.</p>
<h2>This moment</h2>
<form class="row" method="post" action="/agents/%s/manage/label"><label for="label">Label it</label>`+
		`<input id="label" name="label" size="14" value="%v" title="a lower-case letter, then a-z, 0-9, - and _" required `+
		`pattern="[a-z][a-z0-9_\-]*" maxlength="32" placeholder="before-the-move"> <button>Label</button></form>
<form class="fields" method="post" action="/agents/%[1]s/manage/fork"><p><label for="fork">Fork it: another identity `+
		`begins with this mind. Its name</label><input id="fork" name="name" value="%[3]v" `+
		`title="a letter, then letters, digits and dashes" required maxlength="32" pattern="[A-Za-z][A-Za-z0-9\-]*" `+
		`placeholder="%[1]s-2"></p>
<p class="row"><label>as it was at <input name="at" size="12" value="%[4]v" placeholder="now, e39, 2h ago" `+
		`title="now, e39, 2h ago, or a label"></label> <label>hears room <input name="room" size="10" value="%[5]v" `+
		`placeholder="another room" title="a-z, 0-9, - and _" pattern="[a-z0-9][a-z0-9_\-]*" maxlength="64" `+
		`required></label> `+
		`<button>Fork</button></p></form>
<h2>Remove it</h2>
`, name, html.Typed("label", ""), html.Typed("name", ""), html.Typed("at", ""), html.Typed("room", ""))
	d.removal(html)
	html.put("\n</div>\n")
}

// control writes the buttons that have the identity run and stop.
func (d *manageData) control(html *htmlPage, offline bool) {
	canStart := d.State == "stopped" && d.Parent == ""
	switch {
	case d.PID != 0:
		model := "model"
		if offline {
			model = "offline"
		}
		html.put(`<form class="row" method="post" action="/agents/%s/manage/run">`+
			`<button name="do" value="stop">Stop</button></form>
<form class="row" method="post" action="/agents/%[1]s/manage/run"><input type="hidden" name="anew" value="1">`+
			`<button name="do" value="%s">Start anew</button>%s <span class="soft small">`+
			`takes new settings and keys; nothing is lost`,
			html.ID.Name, model, when(offline, ` <button name="do" value="model">Start anew with a model</button>`))
		if offline {
			d.keyless(html)
		}
		html.put("</span></form>\n")
	case canStart:
		main := markup(` class="main"`)
		html.put(`<form class="row" method="post" action="/agents/%s/manage/run">`+
			`<button%s name="do" value="model">Start</button>`,
			html.ID.Name, when(!offline, main))
		if offline || d.Endpoint == "" {
			html.put(` <button%s name="do" value="offline">Start offline</button>`, when(offline, main))
		}
		html.put(` <span class="soft small">it runs until somebody stops it, ` +
			`over crashes and restarts of lethe serve</span></form>`)
	}
}

func (d *manageData) keyless(p *htmlPage) {
	if provider := p.Keyless(); provider != "" {
		p.put(`. %s has no <a href="/agents#settings">key</a> yet`, provider)
	}
}

// removal writes the form that removes the identity.
func (d *manageData) removal(html *htmlPage) {
	if d.Runs() {
		html.put("<p class=\"soft\">%s runs: stop it first.</p>\n", html.ID.Name)
		return
	}
	html.put("<p>Its files go for good")
	for i, child := range d.Children {
		html.put("%s %s", when(i == 0, ", and those of its children:"), child.Name)
	}
	html.put(`. Rooms stay, and texts that were stored.</p>
<form class="row" method="post" action="/agents/%s/manage/remove"><label for="sure">Type %[1]s</label>`+
		`<input id="sure" name="sure" size="12" required autocomplete="off" autocapitalize="none"> `+
		`<button>Remove %[1]s</button></form>`, html.ID.Name)
}
