package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/bridge/report"
)

// agents lists the identities of the home, boots them, and has the settings that they share. It is at /agents; where
// there is no identity yet, the page begins with it.
var agents = view{
	Name: "agents", Title: "Identities", Apart: true, Shared: true, data: settingsOf,
	forms: map[string]form{"boot": then(boot), "settings": then(configure), "room": then(removeRoom)},
}

type agentsData struct {
	config.Settings
	All     []report.Agent
	Rooms   []report.Room
	Keyless string // the provider of the settings, if there is no key for it
}

func settingsOf(page *frame, _ *http.Request) (content, error) {
	data := &agentsData{}
	err := config.Read(page.Dir, &data.Settings)
	if page.Wrong == nil {
		page.Wrong = err
	}
	if data.Rooms, err = page.Rooms(); err != nil {
		return nil, err
	}
	if data.All, err = page.Home.Agents(); err != nil {
		return nil, err
	}
	data.Keyless = page.Keyless()
	return data, nil
}

// changed are the keys of config.toml that the page changes: texts of a model, and numbers.
var changed = []string{
	"model.preset", "model.name", "model.base_url", "context.limit", "budget.day_usd", "budget.month_usd",
	"budget.home_day_usd",
}

// configure writes the settings that a form has, and the key of the provider into the file of keys.
func configure(page *frame, r *http.Request) (string, error) {
	values := map[string]any{}
	for _, key := range changed {
		text := strings.TrimSpace(r.FormValue(key))
		switch {
		case !r.Form.Has(key):
		case strings.HasPrefix(key, "model."):
			values[key] = text
		default:
			values[key] = json.Number(text)
		}
	}
	err := keepKey(page, r)
	if err == nil {
		err = config.Set(page.Dir, values)
	}
	return "/agents?saved=1#settings", err
}

// keepKey writes the key that a form has into the file of keys.
func keepKey(page *frame, r *http.Request) error {
	key := r.FormValue("key")
	if key == "" {
		return nil
	}
	preset, _ := llm.Preset(cmp.Or(r.FormValue("model.preset"), llm.Presets()[0])) // another one is refused later
	return config.SetKey(page.Dir, preset.KeyEnv, key)
}

// Keyless names the provider of the settings if this process has no key for it; else it is "".
func (f *frame) Keyless() string {
	var s config.Settings
	_ = config.Read(f.Dir, &s) // what is wrong there, is shown
	conf := llm.Config{Preset: s.Model.Preset, BaseURL: s.Model.BaseURL, Model: s.Model.Name}
	if _, err := llm.New(conf); !errors.Is(err, llm.ErrNoKey) {
		return ""
	}
	preset, _ := conf.Chosen()
	return preset.Name
}

func removeRoom(f *frame, r *http.Request) (string, error) {
	room := field(r, "gone")
	return removed("Room " + room), f.RemoveRoom(room)
}

// boot boots an identity, as the form says, with a model or offline, and has the settings of that model for all.
func boot(page *frame, r *http.Request) (string, error) {
	options := home.BootOptions{
		Name: strings.ToLower(field(r, "name")), Soul: field(r, "soul"), Rooms: strings.Fields(field(r, "room")),
	}
	run := host.Options{
		Offline: field(r, "model.preset")+field(r, "with") == "", Preset: field(r, "model.preset"),
		BaseURL: field(r, "model.base_url"), Model: field(r, "model.name"), Log: page.Log,
	}
	if !run.Offline {
		if err := keepKey(page, r); err != nil {
			return "", err
		}
	}
	id, err := page.Backend.Boot(r.Context(), options, run, func() error {
		if run.Offline {
			return nil
		}
		_, err := configure(page, r)
		return err
	})
	return "/agents/" + id.Name + "/now?room=" + host.RoomOf(id), err
}

func (d *agentsData) show(html *htmlPage) {
	if len(d.All) == 0 {
		html.put(`<h1>Welcome to Lethe</h1>
<p class="text lead">Here you make an assistant that stays: it remembers what you tell it, answers in chat rooms, `+
			`and can work on files. Give it a name; the rest may stay as it is.</p>
%s`, html.wrong())
	} else {
		d.members(html)
	}
	d.boot(html)
	if len(d.All) > 0 {
		d.shared(html)
	}
}

// members lists the identities.
func (d *agentsData) members(html *htmlPage) {
	html.put(`<h1>Identities</h1>
%s
%s
<ul class="plain members">`, html.said(), html.wrong())
	for _, a := range d.All {
		d.member(html, a)
	}
	html.put(`</ul>
<h2 id="boot">Boot another one</h2>
`)
}

// said tells the result of a form.
func (p *htmlPage) said() markup {
	said := p.R.FormValue("said")
	return when(said != "", format(`<p class="text notice" role="status"><bdi>%s</bdi></p>`, said))
}

func (d *agentsData) member(html *htmlPage, agent report.Agent) {
	isHere := agent.LifeBytes != 0 || agent.Host == ""
	html.put("<li>\n<p>")
	if isHere {
		html.put(`<a href="/agents/%s/now">%s<b>%[1]s</b></a>`, agent.Name, agent.Indent)
	} else {
		html.put("<b>%s</b>", agent.Name)
	}
	html.put(` <span class="soft small">%s`, how(agent))
	if agent.CostUSD != 0 {
		html.put(" · %s", report.Dollars(agent.CostUSD))
	}
	if agent.Hired != "" {
		html.put(" · %s", agent.Hired)
	}
	if n := len(agent.Questions); n > 0 {
		html.put(` · <a href="/agents/%s/now">%d open %s</a>`, agent.Name, n, counted(n, "question", "questions"))
	}
	html.put("</span></p>\n")
	if agent.Error != "" {
		html.put(`<p class="trouble small"><bdi>%s</bdi></p>`, agent.Error)
	}
	for _, trouble := range agent.Trouble {
		html.put(`<p class="trouble small"><bdi>%s</bdi></p>`, trouble)
	}
	heard := slices.IndexFunc(d.Rooms, func(room report.Room) bool {
		return room.Last != nil && slices.Contains(room.Heard, agent.Name)
	})
	if heard >= 0 {
		room := d.Rooms[heard]
		html.put(`<p class="soft small clip">%s · <bdi>%s: %s</bdi></p>`, room.Name, room.Last.Name, gist(room.Last))
	}
	if isHere {
		d.control(html, agent)
	} else {
		html.put(`<p class="soft small"><code>lethe take %s</code> in a terminal here has it go on at this host.</p>`,
			agent.Name)
	}
	html.put("\n</li>")
}

// control writes the buttons that have an identity run and stop.
func (d *agentsData) control(html *htmlPage, agent report.Agent) {
	html.put(`<form class="row small" method="post" action="/agents/%s/manage/run">`, agent.Name)
	canStart := agent.State == "stopped" && agent.Parent == ""
	switch {
	case agent.PID != 0:
		html.put(`<button name="do" value="stop">Stop%s</button>`, of(agent.Name))
	case canStart && agent.Endpoint == "offline":
		html.put(`<button name="do" value="offline">Start offline%s</button>`, of(agent.Name))
	case canStart:
		html.put(`<button name="do" value="model">Start%s</button>`, of(agent.Name))
	}
	html.put(` <a href="/agents/%s/manage">Manage%s</a></form>`, agent.Name, of(agent.Name))
}

// boot writes the form that boots an identity.
func (d *agentsData) boot(html *htmlPage) {
	form := html.R.FormValue
	html.put(`
<form class="text fields" method="post" action="/agents/boot">
<p><label for="name">Name</label><input id="name" name="name" value="%s" required maxlength="32" `+
		`pattern="[A-Za-z][A-Za-z0-9\-]*" autocapitalize="none" autocomplete="off" placeholder="ada" `+
		`title="a letter, then letters, digits and dashes" aria-describedby="name-is">`+
		`<span class="soft small" id="name-is">a letter, then letters, digits and dashes</span></p>
<p><label for="soul">Purpose</label><textarea id="soul" name="soul" rows="3" `+
		`placeholder="Keep an eye on the build, and tell me what breaks." aria-describedby="soul-is">%s</textarea>`+
		`<span class="soft small" id="soul-is">stays for life: its hash is the identity. `+
		`Left empty, it is a helpful companion.</span></p>
<p><label for="room">First room</label><input id="room" name="room" value="%s" pattern="[a-z0-9][a-z0-9_\-]*" `+
		`title="a-z, 0-9, - and _" maxlength="64" required></p>
`, form("name"), exact(form("soul")), cmp.Or(form("room"), "dev"))
	if len(d.All) == 0 {
		html.provider(d)
	} else {
		wantsNoModel := d.Keyless != "" || form("name") != ""
		html.put(`<p><label for="with">Thinks with</label><select id="with" name="with" aria-describedby="with-is">`+
			`<option value="model">%s, as below</option><option value=""%s>the offline model</option></select>`,
			cmp.Or(d.Model.Name, d.Model.Preset, "deepseek"), when(wantsNoModel && form("with") == "", " selected"))
		if d.Keyless != "" {
			html.put(`<span class="soft small" id="with-is">%s has no key yet: `+
				`save one below, or begin with the offline model.</span>`, d.Keyless)
		}
		html.put("</p>\n")
	}
	html.put(`
<p><button class="main">Begin</button></p>
</form>
`)
}

// shared writes the form of the settings that all identities share, and the form that removes a room.
func (d *agentsData) shared(html *htmlPage) {
	html.put(`<h2 id="settings">What all of them share</h2>
%s
<form class="text fields" method="post" action="/agents/settings">
`, when(html.R.FormValue("saved") != "", `<p class="text notice" role="status">Saved. It holds for `+
		`what starts from now on; `+
		`<i>Start anew</i> under Manage has one that runs take it.</p>`))
	html.provider(d)
	html.put(`
<p><label for="limit">Tokens of a request</label><input id="limit" name="context.limit" type="number" min="10000" `+
		`value="%v" placeholder="100000"></p>
<fieldset class="row"><legend>At most, in dollars</legend>`+
		`<label>a day, each <input name="budget.day_usd" inputmode="decimal" size="6" value="%v"></label> `+
		`<label>a month, each <input name="budget.month_usd" inputmode="decimal" size="6" value="%v"></label> `+
		`<label>a day, all <input name="budget.home_day_usd" inputmode="decimal" size="6" value="%v"></label></fieldset>
<p class="soft small">Left empty, nothing is limited. This is what <code>config.toml</code> in the home says; `+
		`its other lines and comments stay.</p>
<p><button class="main">Save</button></p>
</form>
<h2 id="rooms">Remove a room</h2>
<form class="text row" method="post" action="/agents/room"><label for="gone">Type its name</label>`+
		`<input id="gone" name="gone" size="14" value="%v" required autocomplete="off" autocapitalize="none"> `+
		`<button>Remove the room</button> <span class="soft small">its lines go for good; `+
		`what identities have heard there stays with them</span></form>`,
		html.Typed("context.limit", d.Context.Limit), html.Typed("budget.day_usd", d.Budget.Day),
		html.Typed("budget.month_usd", d.Budget.Month), html.Typed("budget.home_day_usd", d.Budget.HomeDay),
		html.Typed("gone", ""))
}

// provider writes the fields that choose a model.
func (p *htmlPage) provider(data *agentsData) {
	isFirst := len(p.Agents()) == 0
	preset := p.Typed("model.preset", data.Model.Preset)
	name, base := p.Typed("model.name", data.Model.Name), p.Typed("model.base_url", data.Model.BaseURL)
	title, unset := markup("Provider of the model"), markup("DeepSeek, as nothing is chosen")
	keyed := markup("Left empty, the one that is there stays.")
	switch {
	case isFirst:
		title, unset = "Thinks with", "offline: a script that follows plain phrases, for nothing"
		keyed = "The offline model needs none."
	case data.Keyless != "":
		keyed = "There is none yet."
	}
	p.put(`
<p><label for="preset">%s</label><select id="preset" name="model.preset"><option value=""%s>%s</option>`,
		title, when(isFirst, ` class="keyless"`), unset)
	for _, one := range llm.Presets() {
		known, _ := llm.Preset(one)
		isHere := known.BaseURL != "" && !known.KeyRequired
		p.put("<option%s%s>%s</option>", when(isHere, ` class="keyless"`), when(one == preset, " selected"), one)
	}
	p.put(`</select></p>
<p class="key"><label for="key">Key of the provider</label><input id="key" name="key" type="password" autocomplete="off" `+
		`spellcheck="false" aria-describedby="key-is"><span class="soft small" id="key-is">goes into keys.env in the home, `+
		`which only you can read. %s</span></p>
<details%s><summary class="small">Another model, or another address</summary>
<p><label for="model">Model</label><input id="model" name="model.name" value="%v" maxlength="100" `+
		`placeholder="the provider's usual one"></p>
<p><label for="base">Address</label><input id="base" name="model.base_url" type="url" value="%v" `+
		`placeholder="https://…/v1"></p></details>
`, keyed, when(name != "" || base != "", " open"), name, base)
}
