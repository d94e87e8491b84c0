// Package setup is lethe init: five questions that make a home ready for use.
package setup

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/secret"
)

// setup asks one question after the other.
type setup struct {
	*cli.App
	yes   bool           // nobody is asked
	model llm.PresetInfo // the preset of the chosen model
}

// Run asks the five questions; with yes, nobody is asked, and the proposed answers count. It writes each answer before
// the next question, so that the settings are always whole.
func Run(app *cli.App, yes bool) error {
	canAsk := console.IsTerminal(app.In) && !app.JSON
	if !yes && !canAsk {
		return exit.Hint(exit.Usagef("init asks its questions on a terminal"),
			"%s takes the answers that it would propose", app.Lethe("init --yes"))
	}
	setup := &setup{App: app, yes: yes}
	for _, ask := range []func() error{setup.askModel, setup.askName, setup.askBot, setup.askBudget} {
		if err := ask(); err != nil {
			return err
		}
	}
	runs, err := setup.askService()
	if err != nil {
		return err
	}
	return setup.tellNext(runs)
}

// tellNext tells the next step; runs: systemd keeps the identity running.
func (s *setup) tellNext(runs bool) error {
	hasBot := secret.Value(bot.Variable) != ""
	next := s.Lethe("")
	if !runs && hasBot {
		next = s.Lethe("run --with telegram")
	}
	return s.Show(console.Object{"home": s.Home.Dir, "next": next}, func(out io.Writer) {
		if !s.online() {
			fmt.Fprintf(out, "Without a key an offline model answers; %s asks for one again.\n", s.Lethe("init"))
		}
		if hasBot {
			fmt.Fprintf(out, "Write to your bot: it tells your id, and %s lets you in.\n",
				s.Lethe("bridge telegram allow ID"))
		}
		fmt.Fprintf(out, "It is all in %s, keys in keys.env, the rest in config.toml. Next: %s\n", s.Home.Dir, next)
	})
}

// ask asks until take accepts the answer, and returns it. Enter and --yes keep the usual answer, which take does not
// see.
func (s *setup) ask(question, usual string, hidden bool, take func(string) error) (string, error) {
	for !s.yes {
		text, err := s.ReadTyped(s.Out, fmt.Sprintf("%s [%s]: ", question, usual), hidden)
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
		fmt.Fprintln(s.Out, "  ", cli.Plain(err))
	}
	return usual, nil
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
		return config.SetKey(s.Home.Dir, variable, text)
	})
	return err
}

// askName asks for the name of the default identity.
func (s *setup) askName() error {
	id, _ := host.Default(s.Home, s.Settings.Settings) // there may be no identity yet, or several
	name := cmp.Or(s.Settings.DefaultIdentity, id.Name, config.DefaultName)
	_, err := s.ask("2  Name of the identity that you talk to", name, false, func(text string) error {
		if err := home.CheckName(text); err != nil {
			return err
		}
		return s.set("default_identity", text)
	})
	return err
}

// askBot asks for the token of a Telegram bot.
func (s *setup) askBot() error {
	return s.askKey("3  Telegram: the token of a bot, from @BotFather", bot.Variable, telegram.CheckToken)
}

// askBudget asks for the limit of a day.
func (s *setup) askBudget() error {
	day := strconv.FormatFloat(s.Settings.Budget.Day, 'f', -1, 64)
	_, err := s.ask("4  Budget: dollars a day, at most; 0 is no limit", day, false, func(text string) error {
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no amount, such as 2.50", text)
		}
		return s.set("budget.day_usd", usd)
	})
	return err
}

// set gives a key of config.toml its value.
func (s *setup) set(key string, value any) error {
	return config.Set(s.Home.Dir, map[string]any{key: value})
}
