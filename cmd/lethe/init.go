package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/bridge/telegram"
	"lethe/internal/secret"
)

// initOptions are the flags of lethe init.
type initOptions struct {
	yes bool
}

func newInitCommand(app *app) *cobra.Command {
	var options initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up a home by five questions: model and key, name, Telegram, budget, service",
		Long: `Init asks on a terminal for a model and its key, the name of the identity that you talk
to, the token of a Telegram bot, a budget, and whether systemd shall keep it running.
Enter leaves each as it is. Keys go into keys.env in the home, with mode 0600, settings
into config.toml, whose comments stay, as soon as they are answered.

With --yes nobody is asked, and what it would propose is taken: the provider whose key is
in the environment, no Telegram, no budget, no service.`,
		Example: `  lethe init
  OPENAI_API_KEY=sk-… lethe init --yes`,
		RunE: app.makingHome(func(context.Context, []string) error {
			return runInit(app, options)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.yes, "yes", false, "do not ask")
	return cmd
}

// setup is a use of lethe init, which asks one question after the other.
type setup struct {
	*app
	yes   bool           // nobody is asked
	model llm.PresetInfo // the preset of the model
}

// runInit asks five questions. It writes each answer before the next question, so that the settings are always whole.
func runInit(app *app, options initOptions) error {
	canAsk := isTerminal(app.in) && !app.json
	if !options.yes && !canAsk {
		return hint(usagef("init asks its questions on a terminal"),
			"‹init --yes› takes the answers that it would propose")
	}
	setup := &setup{app: app, yes: options.yes}
	if err := setup.askModel(); err != nil {
		return err
	}
	if err := setup.askPerson(); err != nil {
		return err
	}
	runs, err := setup.askService()
	if err != nil {
		return err
	}
	hasBot := secret.Value(botToken) != ""
	next := app.lethe("")
	if !runs && hasBot {
		next = app.lethe("run --with telegram")
	}
	return app.show(object{"home": app.home.Dir, "next": next}, func(out io.Writer) {
		if !setup.online() {
			fmt.Fprintf(out, "Without a key an offline model answers; %s asks for one again.\n", app.lethe("init"))
		}
		if hasBot {
			fmt.Fprintf(out, "Write to your bot: it tells your id, and %s lets you in.\n",
				app.lethe("bridge telegram allow ID"))
		}
		fmt.Fprintf(out, "It is all in %s, keys in keys.env, the rest in config.toml. Next: %s\n", app.home.Dir, next)
	})
}

// ask asks until take accepts the answer, and returns it. Enter and --yes keep the usual one.
func (s *setup) ask(question, usual string, hidden bool, take func(string) error) (string, error) {
	for !s.yes {
		text, err := s.readTyped(s.out, fmt.Sprintf("%s [%s]: ", question, usual), hidden)
		if err != nil {
			return "", err
		}
		if text == "" || text == usual {
			break
		}
		err = take(text)
		if err == nil {
			return text, nil
		}
		fmt.Fprintln(s.out, "  ", plain(err))
	}
	return usual, nil
}

// set gives a key of config.toml its value.
func (s *setup) set(key string, value any) error {
	return config.Set(s.home.Dir, map[string]any{key: value})
}

// askKey asks for the key of a variable.
func (s *setup) askKey(question, variable string, check func(string) error) error {
	usual := "none"
	if secret.Value(variable) != "" {
		usual = "the one that is there"
	}
	_, err := s.ask(question+", not shown", usual, true, func(text string) error {
		if err := check(text); err != nil {
			return err
		}
		return config.SetKey(s.home.Dir, variable, text)
	})
	return err
}

// online reports whether the model has its key, or needs no key.
func (s *setup) online() bool { return !s.model.KeyRequired || secret.Value(s.model.KeyEnv) != "" }

// askModel asks for a model and its key. Without the key nothing is set: then the offline one answers.
func (s *setup) askModel() error {
	has := s.settings.Model
	isNew := has.Preset+has.Name+has.BaseURL == ""
	presets := llm.Presets()
	presets = presets[:len(presets)-1] // the last one is for endpoints that config.toml names
	usual := strings.TrimSuffix(llm.Explicit(has.Name, s.preset()), ":")
	if isNew {
		usual = cmp.Or(firstWithKey(presets), usual)
	}
	var model llm.Name
	choose := func(text string) error {
		model = llm.ParseName(text)
		if slices.Contains(presets, text) {
			model = llm.Name{Preset: text}
		}
		s.model, _ = llm.Preset(model.Preset)
		if s.model.BaseURL == "" || s.model.Model+model.Model == "" {
			return fmt.Errorf("%q is no provider with a model, such as openai or ollama:qwen3:8b", text)
		}
		return nil
	}
	answer, err := s.ask(modelQuestion(presets), usual, false, choose)
	if err != nil {
		return err
	}
	_ = choose(answer) // the usual one may be at an address in config.toml, and no preset's
	if s.model.KeyRequired {
		if err := s.askKey("   Its key", s.model.KeyEnv, func(string) error { return nil }); err != nil {
			return err
		}
	}
	changed := isNew || answer != usual
	if !changed || !s.online() {
		return nil
	}
	model.Preset = ""
	return config.Set(s.home.Dir, map[string]any{
		"model.preset": s.model.Name, "model.name": model.String(), "model.base_url": "",
	})
}

// firstWithKey returns the first preset with its key in the environment, or "".
func firstWithKey(presets []string) string {
	for _, name := range presets {
		preset, _ := llm.Preset(name)
		if secret.Value(preset.KeyEnv) != "" {
			return name
		}
	}
	return ""
}

// modelQuestion lists the presets, on lines of their own.
func modelQuestion(presets []string) string {
	question := "1  Model: PROVIDER or PROVIDER:MODEL, of\n   "
	for i, name := range presets {
		if i == 7 || i == 13 {
			question += "\n   "
		}
		question += name + " "
	}
	return question + "\n  "
}

// askPerson asks for the name of the identity, the bot and the budget.
func (s *setup) askPerson() error {
	id, _ := host.Default(s.home, s.settings.Settings) // there may be none yet, or several
	name := cmp.Or(s.settings.DefaultIdentity, id.Name, config.DefaultName)
	_, err := s.ask("2  Name of the identity that you talk to", name, false, func(text string) error {
		if err := home.CheckName(text); err != nil {
			return err
		}
		return s.set("default_identity", text)
	})
	if err != nil {
		return err
	}
	err = s.askKey("3  Telegram: the token of a bot, from @BotFather", botToken, telegram.CheckToken)
	if err != nil {
		return err
	}
	day := strconv.FormatFloat(s.settings.Budget.Day, 'f', -1, 64)
	_, err = s.ask("4  Budget: dollars a day, at most; 0 is no limit", day, false, func(text string) error {
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no amount, such as 2.50", text)
		}
		return s.set("budget.day_usd", usd)
	})
	return err
}
