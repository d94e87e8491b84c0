package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"lethe"
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

// boot boots an identity, after a check that it can run, and has it be kept running, with a model or offline. One that
// is there with the same purpose is meant: the form was sent twice.
func boot(page *frame, r *http.Request) (string, error) {
	options := home.BootOptions{
		Name: strings.ToLower(field(r, "name")), Soul: field(r, "soul"), Rooms: strings.Fields(field(r, "room")),
	}
	offline := field(r, "model.preset")+field(r, "with") == ""
	run := host.Options{
		Offline: offline, Preset: field(r, "model.preset"), BaseURL: field(r, "model.base_url"),
		Model: field(r, "model.name"), Log: page.Log,
	}
	if !offline {
		if err := keepKey(page, r); err != nil {
			return "", err
		}
	}
	opened, err := host.Open(page.Dir, run)
	if errors.Is(err, llm.ErrNoKey) {
		err = &report.InvalidError{Err: err, Advice: "give it a key below, or choose the offline model"}
	}
	if err != nil {
		return "", err
	}
	if !offline { // and that model can be opened
		if _, err := configure(page, r); err != nil {
			return "", errors.Join(err, opened.Close())
		}
	}
	id, err := opened.Boot(options)
	soul, _ := id.ReadOwn("SOUL.md", page.Log)
	if errors.Is(err, home.ErrExists) && string(soul) == cmp.Or(options.Soul, lethe.Soul) {
		err = nil
	}
	if err = errors.Join(err, opened.Close()); err == nil {
		err = report.Start(r.Context(), id, offline, page.RunStarted)
	}
	return "/agents/" + id.Name + "/now?room=" + host.RoomOf(id), err
}
