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
