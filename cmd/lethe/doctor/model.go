package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/llm"
)

// model looks at the key, the endpoint, its clock and its models.
func (x Exam) model(ctx context.Context) {
	settings := x.Settings.Model
	conf := llm.Config{Preset: settings.Preset, BaseURL: settings.BaseURL, Model: settings.Name, MaxRetries: -1}
	preset, _ := conf.Chosen()
	export := "lethe init    # or: export " + preset.KeyEnv + "=…"
	client, err := llm.New(conf)
	if errors.Is(err, llm.ErrNoKey) && settings.Preset+settings.BaseURL+llm.ParseName(settings.Name).Preset == "" {
		x.warn(true, "key", export,
			"%s is not set: identities talk with the offline model, which is not intelligent", preset.KeyEnv)
		return
	}
	if err != nil {
		x.check(err, "key", export, "")
		return
	}
	defer client.Close()
	name, set := client.Key()
	how := "set"
	switch {
	case client.Withheld() != "":
		how = "not set; " + client.Withheld()
	case !set:
		how = "not set"
	case os.Getenv(name) == "":
		how = "set in " + config.KeysFile(x.Home.Dir)
	}
	x.check(nil, "key", "", "%s is %s", name, how)
	if !x.Request {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if model := x.endpoint(ctx, client); model != "" {
		x.ask(ctx, client, model)
	}
}

// endpoint looks at a provider without a cost. It returns the configured model, or "" if the provider does not serve
// it.
func (x Exam) endpoint(ctx context.Context, client *llm.Client) (model string) {
	began := time.Now()
	status, date, models, err := client.Look(ctx)
	if !x.check(err, "endpoint", x.curl(client), "%s answers with HTTP status %d after %d ms",
		client.Host(), status, time.Since(began).Milliseconds()) {
		return ""
	}
	off := time.Since(date).Round(time.Second)
	x.warn(!date.IsZero() && off.Abs() > 30*time.Second, "clock", "sudo timedatectl set-ntp true",
		"it is %s off that of %s", off, client.Host())
	model = cmp.Or(llm.ParseName(x.Settings.Model.Name).Model, client.Preset().Model)
	_, isServed := models[model]
	mayBeServed := isServed || len(models) == 0
	if model != "" && mayBeServed {
		known := x.Settings.Known(client.Preset().Name)
		known.Learn(client.Preset().Name, models)
		if window, _ := client.Window(ctx, model); window > 0 {
			known.Learn(client.Preset().Name, llm.Known{model: {Window: window, From: client.Host()}})
		}
		info, _ := known.Of(model)
		x.warn(info.Window == 0, "window", x.edit(),
			"nobody has told how many tokens %s takes: say so as window in [models]", model)
		if info.Window > 0 {
			x.check(config.Fits(x.Settings.Context.Limit, model, info), "window", x.edit(),
				"%s takes %d tokens", model, info.Window)
		}
		return model
	}
	names := slices.Sorted(maps.Keys(models))
	near := cmp.Or(config.Nearest(model, names), strings.Join(names, " "))
	err = fmt.Errorf("%s serves no model %q: set model.name to one such as %.100q", client.Host(), model, near)
	x.check(err, "model", x.edit(), "")
	return ""
}

// curl is the command that shows how an endpoint answers.
func (x Exam) curl(client *llm.Client) string {
	return "curl -v " + cmp.Or(x.Settings.Model.BaseURL, client.Preset().BaseURL)
}

// ask asks a model for one word.
func (x Exam) ask(ctx context.Context, client *llm.Client, model string) {
	cost := "at a price that is not known"
	if usd, known := x.Settings.Known(client.Preset().Name).Worst(model, 32, 16, time.Now()); known {
		cost = fmt.Sprintf("for $%.5f at most", usd)
	}
	x.check(nil, "model", "", "asking %s for one word, %s; --no-request leaves it out", model, cost)
	_, err := client.Complete(ctx, llm.Request{
		Model: model, MaxTokens: 16, Thinking: "disabled",
		Messages: []llm.Message{{Role: "user", Content: llm.Text("Say ok.")}},
	}, nil)
	x.check(err, "model", x.curl(client), "%s answered", model)
}
