package page

import (
	"cmp"
	"slices"
	"strings"

	"lethe/agent/status"
	"lethe/bridge/report"
)

func (d *nowData) show(p *htmlPage) {
	name, title := p.ID.Name, clean(d.Title())
	p.put("\n<h1><bdi>%s</bdi></h1>\n", title)
	d.hearers(p)
	p.put(`
<div class="beside">
<div class="text">
<section class="room" aria-label="What is said in %s">
<div id="lines" role="log" aria-live="polite" data-part="lines" data-room="%s" data-query="room=%[2]s">`, title, d.Room)
	d.lines(p)
	p.put("</div>\n")
	if p.Live == "" {
		p.put(`<p class="soft small"><a href="?room=%s">The newest lines, live</a></p>`, d.Room)
	} else {
		p.put(`<div data-part="rest" data-query="room=%s">`, d.Room)
		d.rest(p)
		p.put("</div>\n<div id=\"live\" aria-live=\"off\"></div>")
	}
	p.put(`
</section>
<div id="end"></div>
<div class="composer">
<div class="foot" data-part="foot" data-query="room=%s">`, d.Room)
	d.showFoot(p)
	p.put(`</div>
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
	d.glance(p)
	p.put(`</div>
</div>
</div>
<aside class="margin" id="rooms" aria-label="Rooms">
<section><h2>Rooms that %s hears</h2>
<div data-part="rooms" data-query="room=%s">`, name, d.Room)
	d.rooms(p)
	p.put(`</div>
<form class="row" method="post" action="/agents/%s/now/hear"><label class="hidden" for="room">A room for %[1]s to hear</label>`+
		`<input id="room" name="room" size="10" placeholder="another room" title="a-z, 0-9, - and _" `+
		`pattern="[a-z0-9][a-z0-9_\-]*" maxlength="64" required> <button>Open</button></form>
</section>
`, name)
	d.about(p)
	d.model(p)
	p.put(`</aside>
</div>
`)
}

func (d *nowData) parts() map[string]func(*htmlPage) {
	return map[string]func(*htmlPage){"lines": d.lines, "rest": d.rest, "foot": d.showFoot, "mind": d.glance, "rooms": d.rooms}
}

// hearers writes which identities hear the room, and for what they wake.
func (d *nowData) hearers(p *htmlPage) {
	if len(d.This.Heard) == 0 {
		return
	}
	p.put(`<p class="soft small hear">`)
	if d.This.Title == "" {
		p.put("Heard by ")
	} else {
		p.put("Room %s, heard by ", d.Room)
	}
	for i, who := range d.This.Heard {
		p.put("%s%s", when(i > 0, ", "), who)
		switch d.This.Wakes[who] {
		case "mentions":
			p.put(" when @%s is named", who)
		case "results":
			p.put(" for its results")
		}
	}
	p.put("</p>")
}

// lines writes the lines of the room, with what the identity did meanwhile.
func (d *nowData) lines(p *htmlPage) {
	p.put("<div data-after=\"%d\">\n", d.End)
	if d.Older != 0 {
		p.put(`<p class="soft small more"><a data-more href="?room=%s&amp;before=%d">Earlier lines</a></p>`, d.Room, d.Older)
	}
	p.put("\n")
	for _, l := range d.Lines {
		d.line(p, l)
	}
	p.put("\n")
	if d.Later != 0 {
		p.put(`<p class="soft small more"><a data-more href="?room=%s&amp;from=%d">Later lines</a> · `+
			`<a href="?room=%[1]s">the newest</a></p>`, d.Room, d.Later)
	}
	p.put("</div>")
}

func (d *nowData) line(p *htmlPage, l line) {
	if l.NewDay {
		p.newDay(l.At)
	}
	p.put("\n")
	p.memories(l.Mind)
	p.put(`<article class="line%s" id="l%d">
<header><b><bdi>%s</bdi></b> <a class="at" href="?room=%s&amp;line=%[2]d#l%[2]d">`, when(l.Own, " own"), l.From, clean(l.Name), d.Room)
	if l.At.IsZero() {
		p.put("at some time")
	} else {
		p.put(`<time datetime="%s" title="%s">%s</time>`, stamp(l.At), p.minute(l.At), p.clock(l.At))
	}
	p.put("</a> <button class=\"copy\" type=\"button\">Copy</button></header>\n")
	for _, did := range l.Did {
		if did.Tool == "" {
			p.thought(did)
		} else {
			p.call(did)
		}
	}
	p.put("\n<div class=\"said\" dir=\"auto\">")
	if l.To != nil {
		p.put(`<p class="soft small">to “<bdi>%s</bdi>”</p>`, clean(short(200, l.To.Text)))
	}
	if l.Asks == nil {
		p.markdown(l.Text)
	} else {
		p.markdown(l.Asks.Text)
		p.put(`<p class="soft small asks">asks`)
		for _, option := range l.Asks.Options {
			p.put(" · <bdi>%s</bdi>", clean(option))
		}
		p.put("</p>")
	}
	for _, file := range l.Files {
		file.show(p)
	}
	if l.Long > 0 {
		p.put(`<p class="soft"><a href="?room=%s&amp;from=%d&amp;whole=1">The rest: %s bytes</a></p>`, d.Room, l.From, count(l.Long))
	}
	p.put("</div>\n</article>")
}

func (a attached) show(p *htmlPage) {
	name := clean(a.Label)
	p.put(`<p class="file"><a href="/api/blobs/%s"`, a.Hash)
	if a.Width == 0 {
		p.put(` download="%s">%s`, clean(a.Name), name)
	} else {
		p.put(`><img src="/api/blobs/%s" width="%d" height="%d" alt="%s" loading="lazy">`, a.Hash, a.Width, a.Height, name)
	}
	p.put("</a></p>")
}

func (p *htmlPage) memories(list []happening) {
	for _, h := range list {
		p.put(`<div class="did mind">`)
		p.memory(h)
		p.put("</div>")
	}
}

// rest writes what came up since the newest line.
func (d *nowData) rest(p *htmlPage) {
	p.put("<div>")
	p.memories(d.Rest)
	p.put("</div>")
}

// glance writes the mind in a line.
func (d *nowData) glance(p *htmlPage) {
	p.put("<div>")
	if d.Mind != nil {
		d.Mind.show(p)
	}
	p.put("</div>")
}

func (g *glance) show(p *htmlPage) {
	p.put(`<p class="soft small glance"><a href="/agents/%s/mind">`+
		`<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">`, p.ID.Name)
	for _, group := range g.Groups {
		p.put(`<rect class="%s" x="%.1f" width="%.1f" height="10"><title>%s: %s tokens</title></rect>`,
			group.Class, group.X, group.Share, group.Name, count(group.Tokens))
	}
	p.put(`</svg>
<span title="%s of them kept for its answer">%s of %s tokens<span class="hidden">`, count(g.Answer), count(g.Total), count(g.Limit))
	for _, group := range g.Groups {
		p.put(", %s %s", group.Name, count(group.Tokens))
	}
	paid := "nothing paid today"
	if g.Today != 0 || g.Turn != 0 {
		paid = dollars(g.Today.Dollars()) + " today, " + dollars(g.Turn.Dollars()) + " for the turn"
	}
	p.put("</span></span></a>\n<span>%s</span> <span>%s</span></p>", paid, clean(g.Model))
}

// showFoot writes the open questions, and what the identity is doing.
func (d *nowData) showFoot(p *htmlPage) {
	p.put("<div>\n")
	for _, q := range d.Questions {
		d.question(p, q)
	}
	p.put(`
<form class="row state" method="post" action="/agents/%s/now/stop"><input type="hidden" name="room" value="%s">`+
		`<input type="hidden" name="key" value="%s-stop">
<p class="soft small" id="state">`, p.ID.Name, d.Room, d.Key)
	d.state(p)
	p.put(`</p>%s<a class="small to-rooms" href="#rooms">Rooms</a></form>
</div>`, when(d.Busy(), "<button>Stop</button>"))
}

func (d *nowData) question(p *htmlPage, q report.Question) {
	p.put(`<form class="question" method="post" action="/agents/%s/now/answer">
<input type="hidden" name="question" value="%s"><input type="hidden" name="key" value="%s-%[2]s">
<fieldset><legend><b>%[1]s</b> asks`, p.ID.Name, q.ID, d.Key)
	if q.Room != d.Room {
		p.put(" in %s", q.Room)
	}
	p.put("</legend>\n<div class=\"said\" dir=\"auto\">")
	p.markdown(q.Text)
	p.put("</div>\n<p class=\"row\">")
	for _, option := range q.Options {
		p.put(`<button name="answer" value="%s"><bdi>%s</bdi></button> `, option, clean(option))
	}
	if len(q.Options) == 0 {
		p.put(`<label class="hidden" for="a%s">Your answer</label><input id="a%[1]s" name="answer" required> `+
			`<button>Answer</button>`, q.ID)
	}
	p.put("</p>\n")
	if !q.Until.IsZero() {
		p.put(`<p class="soft small">until %s, %s</p>`, p.day(q.Until), p.clock(q.Until))
	}
	p.put("</fieldset></form>")
}

// state says what the identity is doing.
func (d *nowData) state(p *htmlPage) {
	name, now := p.ID.Name, d.Status
	switch {
	case !d.Heard:
		p.put("%s does not hear this room", name)
	case !d.Running:
		p.put(`%s does not run; what you say waits until somebody <a href="/agents/%[1]s/manage">starts</a> it`, name)
	case now.Error != "":
		p.put("<bdi>%s</bdi>", clean(now.Error))
	case d.Busy():
		does := "thinks"
		if now.State == status.Acting {
			does = "runs " + clean(now.Tool)
		}
		p.put("%s %s", name, does)
		if len(now.Answering) > 0 {
			p.put(" for %s", strings.Join(now.Answering, ", "))
		}
	case now.State == status.Idle && len(d.Questions) > 0:
		p.put("%s waits for an answer", name)
	case now.State == status.Idle:
		p.put("%s waits for a line", name)
	default:
		p.put("%s: %s", name, now.State)
	}
}

// rooms lists the rooms that the identity hears.
func (d *nowData) rooms(p *htmlPage) {
	p.put(`<div><ul class="plain rooms">`)
	d.listed(p, d.Rooms)
	if len(d.Rooms) == 0 {
		p.put(`<li class="soft">none yet</li>`)
	}
	p.put("</ul>\n")
	if len(d.Away) > 0 {
		isHere := slices.ContainsFunc(d.Away, func(room report.Room) bool { return room.Name == d.Room })
		p.put(`<details%s><summary class="small soft">Put away: %d</summary><ul class="plain rooms">`,
			when(isHere, " open"), len(d.Away))
		d.listed(p, d.Away)
		p.put("</ul></details>")
	}
	p.put("</div>")
}

func (d *nowData) listed(p *htmlPage, rooms []report.Room) {
	for _, room := range rooms {
		p.put(`<li data-room="%s" data-end="%d"><a href="?room=%[1]s"%[3]s><bdi>%[4]s</bdi></a> <b class="small" hidden>new</b>
`, room.Name, room.Bytes, when(room.Name == d.Room, ` aria-current="true"`), clean(cmp.Or(room.Title, room.Name)))
		if last := room.Last; last != nil {
			p.put(`<p class="soft small clip"><bdi>%s: %s</bdi></p>`, clean(last.Name), clean(gist(last)))
		}
		p.put("</li>")
	}
}

// about writes the forms with which people say something about the room.
func (d *nowData) about(p *htmlPage) {
	archived := d.This.Archived
	put := markup(`<button name="archived" value="yes">Put away</button>`)
	if archived {
		put = "<button>Back into the list</button>"
	}
	p.put(`<section><h2>This room</h2>
<form class="row" method="post" action="/agents/%s/now/about"><input type="hidden" name="room" value="%s">`+
		`<label class="hidden" for="title">Title of %[2]s</label><input id="title" name="title" size="10" value="%[3]s" `+
		`maxlength="80" placeholder="a title">%[4]s <button>Save</button></form>
<form class="row" method="post" action="/agents/%[1]s/now/about"><input type="hidden" name="room" value="%[2]s">`+
		`<input type="hidden" name="title" value="%[3]s">%[5]s</form>
</section>
`, p.ID.Name, d.Room, clean(d.This.Title), when(archived, `<input type="hidden" name="archived" value="yes">`), put)
}

// model writes the form that changes the model.
func (d *nowData) model(p *htmlPage) {
	p.put("<section><h2>Model</h2>\n")
	if d.Offline {
		p.put(`<p>the offline model; <a href="/agents/%s/manage">Manage</a> starts it with another one</p>`, p.ID.Name)
	} else {
		p.put(`<form class="row" method="post" action="/agents/%s/now/model"><input type="hidden" name="room" value="%s">`+
			`<input type="hidden" name="key" value="%s-model"><label class="hidden" for="model">The model of %[1]s</label>`+
			`<input id="model" name="model" size="10" value="%[4]s" pattern="\S+" maxlength="100" required> `+
			`<button>Change</button></form>`, p.ID.Name, d.Room, d.Key, d.Status.Model)
	}
	p.put("\n</section>\n")
}
