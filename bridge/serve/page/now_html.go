package page

import (
	"cmp"
	"slices"
	"strings"

	"lethe/agent/status"
	"lethe/bridge/report"
)

func (d *nowData) show(html *htmlPage) {
	name, title := html.ID.Name, cmp.Or(d.This.Title, d.Room) // for people
	html.put("\n<h1><bdi>%s</bdi></h1>\n", title)
	d.hearers(html)
	html.put(`
<div class="beside">
<div class="text">
<section class="room" aria-label="What is said in %s">
<div id="lines" role="log" aria-live="polite" data-part="lines" data-room="%s" data-query="room=%[2]s">`, title, d.Room)
	d.lines(html)
	html.put("</div>\n")
	if html.Live == "" {
		html.put(`<p class="soft small"><a href="?room=%s">The newest lines, live</a></p>`, d.Room)
	} else {
		html.put(`<div data-part="rest" data-query="room=%s">`, d.Room)
		d.rest(html)
		html.put("</div>\n<div id=\"live\" aria-live=\"off\"></div>")
	}
	html.put(`
</section>
<div id="end"></div>
<div class="composer">
<div class="foot" data-part="foot" data-query="room=%s">`, d.Room)
	d.showFoot(html)
	html.put(`</div>
<form class="say" id="say" method="post" action="/agents/%s/now/say" enctype="multipart/form-data">
<input type="hidden" name="room" value="%s"><input type="hidden" name="key" value="%s">
<label class="hidden" for="text">Say in %s</label>
<textarea id="text" name="text" rows="2" placeholder="Say something in %[4]s" aria-describedby="how"></textarea>
<div class="row"><label class="attach"><span>Attach </span><input type="file" name="file" multiple></label>
<span class="soft small" id="how" data-script>Shift+Enter makes a line</span>
<button class="main">Say</button></div>
<p id="wrong" role="alert"></p><p class="hidden" id="news" role="status"></p>
</form>
<div data-part="mind" data-query="room=%[2]s">`, name, d.Room, d.Key, title)
	d.glance(html)
	html.put(`</div>
</div>
</div>
<aside class="margin" id="rooms" aria-label="Rooms">
<section><h2>Rooms that %s hears</h2>
<div data-part="rooms" data-query="room=%s">`, name, d.Room)
	d.rooms(html)
	html.put(`</div>
<form class="row" method="post" action="/agents/%s/now/hear">`+
		`<label class="hidden" for="room">A room for %[1]s to hear</label>`+
		`<input id="room" name="room" size="10" placeholder="another room" title="a-z, 0-9, - and _" `+
		`pattern="[a-z0-9][a-z0-9_\-]*" maxlength="64" required> <button>Open</button></form>
</section>
`, name)
	d.about(html)
	d.model(html)
	html.put(`</aside>
</div>
`)
}

func (d *nowData) parts() map[string]func(*htmlPage) {
	return map[string]func(*htmlPage){
		"lines": d.lines, "rest": d.rest, "foot": d.showFoot, "mind": d.glance, "rooms": d.rooms,
	}
}

// hearers writes the identities that hear the room, and the lines that wake each.
func (d *nowData) hearers(html *htmlPage) {
	if len(d.This.Heard) == 0 {
		return
	}
	html.put(`<p class="soft small hear">`)
	if d.This.Title == "" {
		html.put("Heard by ")
	} else {
		html.put("Room %s, heard by ", d.Room)
	}
	for i, who := range d.This.Heard {
		html.put("%s%s", when(i > 0, ", "), who)
		switch d.This.Wakes[who] {
		case "mentions":
			html.put(" when @%s is named", who)
		case "results":
			html.put(" for its results")
		}
	}
	html.put("</p>")
}

// lines writes the lines of the room, with what the identity did meanwhile.
func (d *nowData) lines(html *htmlPage) {
	html.put("<div data-after=\"%d\">\n", d.End)
	if d.Older != 0 {
		html.put(`<p class="soft small more"><a data-more href="?room=%s&amp;before=%d">Earlier lines</a></p>`,
			d.Room, d.Older)
	}
	for _, l := range d.Lines {
		d.line(html, l)
	}
	if d.Later != 0 {
		html.put(`<p class="soft small more"><a data-more href="?room=%s&amp;from=%d">Later lines</a> · `+
			`<a href="?room=%[1]s">the newest</a></p>`, d.Room, d.Later)
	}
	html.put("</div>")
}

func (d *nowData) line(html *htmlPage, l line) {
	html.put("%s\n%s", when(l.NewDay, html.newDay(l.At)), memories(l.Mind))
	html.put(`<article class="line%s" id="l%d">
<header><b><bdi>%s</bdi></b> <a class="at" href="?room=%s&amp;line=%[2]d#l%[2]d">`,
		when(l.Own, " own"), l.From, l.Name, d.Room)
	if l.At.IsZero() {
		html.put("at some time")
	} else {
		html.put(`<time datetime="%s" title="%s">%s</time>`, stamp(l.At), html.moment(l.At, minute), html.moment(l.At, clock))
	}
	html.put("</a> <button class=\"copy\" type=\"button\">Copy</button></header>\n")
	for _, did := range l.Did {
		if did.Tool == "" {
			html.put("%s", thought(did))
		} else {
			html.put("%s", toolCall(did))
		}
	}
	html.put("\n<div class=\"said\" dir=\"auto\">")
	if l.To != nil {
		html.put(`<p class="soft small">to “<bdi>%s</bdi>”</p>`, short(200, l.To.Text))
	}
	if l.Asks == nil {
		html.put("%s", formatted(l.Text))
	} else {
		html.put(`%s<p class="soft small asks">asks`, formatted(l.Asks.Text))
		for _, option := range l.Asks.Options {
			html.put(" · <bdi>%s</bdi>", option)
		}
		html.put("</p>")
	}
	for _, file := range l.Files {
		file.show(html)
	}
	if l.Long > 0 {
		html.put(`<p class="soft"><a href="?room=%s&amp;from=%d&amp;whole=1">The rest: %s bytes</a></p>`,
			d.Room, l.From, report.Count(l.Long))
	}
	html.put("</div>\n</article>")
}

func (a attached) show(html *htmlPage) {
	if a.Width == 0 {
		html.put(`<p class="file"><a href="/api/blobs/%s" download="%s">%s</a></p>`, a.Hash, a.Name, a.Label)
	} else {
		html.put(`<p class="file"><a href="/api/blobs/%s"><img src="/api/blobs/%[1]s" width="%d" height="%d" alt="%s" `+
			`loading="lazy"></a></p>`, a.Hash, a.Width, a.Height, a.Label)
	}
}

func memories(list []happening) (all markup) {
	for _, h := range list {
		all += format(`<div class="did mind">%s</div>`, memory(h))
	}
	return all
}

// rest writes what came up since the newest line.
func (d *nowData) rest(html *htmlPage) { html.put("<div>%s</div>", memories(d.Rest)) }

// glance writes the mind in a line.
func (d *nowData) glance(html *htmlPage) {
	g := d.Mind
	if g == nil {
		html.put("<div></div>")
		return
	}
	html.put(`<div><p class="soft small glance"><a href="/agents/%s/mind">`+
		`<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">`, html.ID.Name)
	for _, group := range g.Groups {
		html.put(`<rect class="%s" x="%.1f" width="%.1f" height="10"><title>%s: %s tokens</title></rect>`,
			group.Class, group.X, group.Share, group.Name, report.Count(group.Tokens))
	}
	answer, used, limit := report.Count(g.Answer), report.Count(g.Used()), report.Count(g.Limit)
	html.put(`</svg>
<span title="%s are kept for its answer">%s of %s tokens<span class="hidden">`, answer, used, limit)
	for _, group := range g.Groups {
		html.put(", %s %s", group.Name, report.Count(group.Tokens))
	}
	paid := "nothing paid today"
	if g.Today != 0 || g.Turn != 0 {
		paid = report.Dollars(g.Today.Dollars()) + " today, " + report.Dollars(g.Turn.Dollars()) + " for the turn"
	}
	html.put("</span></span></a>\n<span>%s</span> <span>%s</span></p></div>", paid, g.Model)
}

// showFoot writes the open questions, and what the identity is doing.
func (d *nowData) showFoot(html *htmlPage) {
	html.put("<div>\n")
	for _, q := range d.Questions {
		d.question(html, q)
	}
	html.put(`
<form class="row state" method="post" action="/agents/%s/now/stop"><input type="hidden" name="room" value="%s">`+
		`<input type="hidden" name="key" value="%s-stop">
<p class="soft small" id="state">`, html.ID.Name, d.Room, d.Key)
	d.state(html)
	html.put(`</p>%s<a class="small to-rooms" href="#rooms">Rooms</a></form>
</div>`, when(d.Busy(), "<button>Stop</button>"))
}

func (d *nowData) question(html *htmlPage, ask report.Question) {
	html.put(`<form class="question" method="post" action="/agents/%s/now/answer">
<input type="hidden" name="question" value="%s"><input type="hidden" name="key" value="%s-%[2]s">
<fieldset><legend><b>%[1]s</b> asks`, html.ID.Name, ask.ID, d.Key)
	if ask.Room != d.Room {
		html.put(" in %s", ask.Room)
	}
	html.put(`</legend>
<div class="said" dir="auto">%s</div>
<p class="row">`, formatted(ask.Text))
	for _, option := range ask.Options {
		html.put(`<button name="answer" value="%s"><bdi>%s</bdi></button> `, exact(option), option)
	}
	if len(ask.Options) == 0 {
		html.put(`<label class="hidden" for="a%s">Your answer</label><input id="a%[1]s" name="answer" required> `+
			`<button>Answer</button>`, ask.ID)
	}
	html.put("</p>\n")
	if !ask.Until.IsZero() {
		html.put(`<p class="soft small">until %s, %s</p>`, html.moment(ask.Until, day), html.moment(ask.Until, clock))
	}
	html.put("</fieldset></form>")
}

// state writes the state of the identity.
func (d *nowData) state(html *htmlPage) {
	name, now := html.ID.Name, d.Status
	switch {
	case !d.Heard:
		html.put("%s does not hear this room", name)
	case !d.Running:
		html.put(`%s does not run; what you say waits until somebody <a href="/agents/%[1]s/manage">starts</a> it`, name)
	case now.Error != "":
		html.put("<bdi>%s</bdi>", now.Error)
	case d.Busy():
		does := "thinks"
		if now.State == status.Acting {
			does = "runs " + now.Tool
		}
		html.put("%s %s", name, does)
		if len(now.Answering) > 0 {
			html.put(" for %s", strings.Join(now.Answering, ", "))
		}
	case now.State == status.Idle && len(d.Questions) > 0:
		html.put("%s waits for an answer", name)
	case now.State == status.Idle:
		html.put("%s waits for a line", name)
	default:
		html.put("%s: %s", name, now.State)
	}
}

// rooms lists the rooms that the identity hears.
func (d *nowData) rooms(html *htmlPage) {
	html.put(`<div><ul class="plain rooms">`)
	d.listed(html, d.Rooms)
	if len(d.Rooms) == 0 {
		html.put(`<li class="soft">none yet</li>`)
	}
	html.put("</ul>\n")
	if len(d.Away) > 0 {
		isHere := slices.ContainsFunc(d.Away, func(room report.Room) bool { return room.Name == d.Room })
		html.put(`<details%s><summary class="small soft">Put away: %d</summary><ul class="plain rooms">`,
			when(isHere, " open"), len(d.Away))
		d.listed(html, d.Away)
		html.put("</ul></details>")
	}
	html.put("</div>")
}

func (d *nowData) listed(html *htmlPage, rooms []report.Room) {
	for _, room := range rooms {
		html.put(`<li data-room="%s" data-end="%d"><a href="?room=%[1]s"%[3]s>`+
			`<bdi>%[4]s</bdi></a> <b class="small" hidden>new</b>
`, room.Name, room.Bytes, when(room.Name == d.Room, ` aria-current="true"`), cmp.Or(room.Title, room.Name))
		if last := room.Last; last != nil {
			html.put(`<p class="soft small clip"><bdi>%s: %s</bdi></p>`, last.Name, gist(last))
		}
		html.put("</li>")
	}
}

// about writes the forms with which people say something about the room.
func (d *nowData) about(html *htmlPage) {
	archived := d.This.Archived
	put := markup(`<button name="archived" value="yes">Put away</button>`)
	if archived {
		put = "<button>Back into the list</button>"
	}
	html.put(`<section><h2>This room</h2>
<form class="row" method="post" action="/agents/%s/now/about"><input type="hidden" name="room" value="%s">`+
		`<label class="hidden" for="title">Title of %[2]s</label><input id="title" name="title" size="10" value="%[3]s" `+
		`maxlength="80" placeholder="a title">%[4]s <button>Save</button></form>
<form class="row" method="post" action="/agents/%[1]s/now/about"><input type="hidden" name="room" value="%[2]s">`+
		`<input type="hidden" name="title" value="%[3]s">%[5]s</form>
</section>
`, html.ID.Name, d.Room, d.This.Title, when(archived, `<input type="hidden" name="archived" value="yes">`), put)
}

// model writes the form that changes the model.
func (d *nowData) model(html *htmlPage) {
	html.put("<section><h2>Model</h2>\n")
	if d.Offline {
		html.put(`<p>the offline model; <a href="/agents/%s/manage">Manage</a> starts it with another one</p>`, html.ID.Name)
	} else {
		html.put(`<form class="row" method="post" action="/agents/%s/now/model"><input type="hidden" name="room" value="%s">`+
			`<input type="hidden" name="key" value="%s-model"><label class="hidden" for="model">The model of %[1]s</label>`+
			`<input id="model" name="model" size="10" value="%[4]s" pattern="\S+" maxlength="100" required> `+
			`<button>Change</button></form>`, html.ID.Name, d.Room, d.Key, d.Status.Model)
	}
	html.put("\n</section>\n")
}
