package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"lethe"
	"lethe/config"
	"lethe/home"
	"lethe/host"
	"lethe/llm"
	"lethe/report"
)

// agents lists the identities of the home, boots them, and has the settings that they share. It is at /agents; where
// there is no identity yet, the page begins with it.
var agents = view{
	Name: "agents", Title: "Identities", Apart: true, Shared: true, data: settingsOf,
	forms: map[string]form{"boot": then(boot), "settings": then(configure), "room": then(removeRoom)},
}

func settingsOf(f *frame, _ *http.Request) (any, error) {
	s := &config.Settings{}
	f.Wrong = cmp.Or(f.Wrong, config.Read(f.Dir, s))
	return s, nil
}

// changed are the keys of config.toml that the page changes: texts of a model, and numbers.
var changed = []string{
	"model.preset", "model.name", "model.base_url", "context.limit", "budget.day_usd", "budget.month_usd",
	"budget.home_day_usd",
}

// configure writes the settings that a form has, and the key of the provider into the file of keys.
func configure(f *frame, r *http.Request) (string, error) {
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
	if key := r.FormValue("key"); key != "" {
		preset, _ := llm.Preset(cmp.Or(r.FormValue("model.preset"), llm.Presets()[0])) // another one is refused below
		if err := config.SetKey(f.Dir, preset.KeyEnv, key); err != nil {
			return "", err
		}
	}
	return "/agents?saved=1#settings", config.Set(f.Dir, values)
}

func removeRoom(f *frame, r *http.Request) (string, error) {
	return "/agents", f.RemoveRoom(field(r, "gone"))
}

// boot boots an identity, after a check that it can run, and has it be kept running, with a model or offline. One that
// is there with the same purpose is meant: the form was sent twice.
func boot(f *frame, r *http.Request) (string, error) {
	o := home.BootOptions{
		Name: strings.ToLower(field(r, "name")), Soul: field(r, "soul"), Rooms: strings.Fields(field(r, "room")),
	}
	offline := field(r, "model.preset")+field(r, "with") == ""
	if !offline {
		if _, err := configure(f, r); err != nil {
			return "", err
		}
	}
	h, err := host.Open(f.Dir, host.Options{Offline: offline, Log: f.Log})
	if err != nil {
		return "", err
	}
	id, err := h.Boot(o)
	soul, _ := id.ReadOwn("SOUL.md", f.Log)
	if errors.Is(err, home.ErrExists) && string(soul) == cmp.Or(o.Soul, lethe.Soul) {
		err = nil
	}
	if err = errors.Join(err, h.Close()); err == nil {
		err = report.Start(r.Context(), id, offline, f.RunStarted)
	}
	return "/agents/" + id.Name + "/now?room=" + host.RoomOf(id), err
}
