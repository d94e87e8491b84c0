package page

import (
	"net/http"

	"lethe/bridge/serve/push"
)

// devices shows which devices get notices, for all identities.
var devices = view{
	Name: "devices", Title: "Devices", Apart: true,
	data: func(f *frame, _ *http.Request) (content, error) {
		all, err := push.Devices(f.Dir)
		return devicesData(all), err
	},
	forms: map[string]form{
		"add": func(f *frame, w http.ResponseWriter, r *http.Request) error {
			if err := push.Add(f.Dir, r.FormValue("name"), r.FormValue("subscription")); err != nil {
				return err
			}
			return f.done(w, r, "")
		},
		"remove": func(f *frame, w http.ResponseWriter, r *http.Request) error {
			if err := push.Remove(f.Dir, r.FormValue("id")); err != nil {
				return err
			}
			return f.done(w, r, "")
		},
	},
}

type devicesData []push.Device

func (d devicesData) show(html *htmlPage) {
	html.put(`
<h1>Devices</h1>
<div class="text devices">
<p>A device that is listed here gets a notice when an identity asks something, mentions you, or cannot go on: ` +
		`in a few words, encrypted on the way.</p>
<ul class="plain">`)
	for _, one := range d {
		html.put(`<li><form class="row" method="post" action="/agents/%s/devices/remove">`+
			`<input type="hidden" name="id" value="%s"><span><b><bdi>%s</bdi></b> `+
			`<span class="soft small">since %s</span></span> `+
			`<button aria-label="Remove %[3]s">Remove</button></form></li>
`, html.ID.Name, one.ID, one.Name, html.moment(one.At, day))
	}
	if len(d) == 0 {
		html.put(`<li class="soft">No device yet.</li>`)
	}
	html.put(`</ul>
<h2>This device</h2>
`)
	if html.PushKey == "" {
		html.put(`<p>No notices are sent yet: write <code>notify = ["push"]</code> into config.toml, above its tables, ` +
			`and start Lethe again.</p>`)
	} else {
		html.put(`<form class="row" id="push" method="post" action="/agents/%s/devices/add" data-key="%s" hidden>
<label>Its name <input name="name" maxlength="60"></label><input type="hidden" name="subscription">
<button class="main">Send notices here</button></form>
<p id="nopush" class="soft">This browser gets notices only with script, over https, and on an iPhone or iPad from the `+
			`home screen: Share, then Add to Home Screen.</p>
<p id="wrong" role="alert"></p>
`, html.ID.Name, html.PushKey)
	}
	html.put(`
</div>
`)
}
