// Package cli holds the parts that all commands of lethe share: the global flags, the home once it is open, the
// identity that is meant, and the advice in errors.
//
// A command is a cobra.Command with a function that WithHome, MakingHome or WithIdentity call when the home is open.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/secret"
)

// App is one run of lethe.
type App struct {
	console.Console
	HomeDir string // --home
	Runs    RunFlags

	AsIs     bool           // the home is looked at, and nothing of it made or restored
	Home     home.Home      // once it is open, as all that follows
	Look     report.Home    // reads it
	Settings Settings       // its config.toml
	Shared   *hosts.Cluster // nil: no other host shares the home

	// copies is a home for copies of lives that other hosts have, while there is one; here is then Look of the home.
	copies *host.Copies
	here   report.Home
}

// Settings are config.toml, with the tables of the bridges that this program runs.
type Settings struct {
	config.Settings
	Telegram telegram.Settings `toml:"telegram"`
	Serve    serve.Settings    `toml:"serve"`
}

// Check refuses values that make no sense.
func (s *Settings) Check() error {
	err := s.Bridge().Check()
	if err != nil {
		err = fmt.Errorf("telegram: %w", err)
	}
	return errors.Join(s.Settings.Check(), err, s.Serve.Check())
}

// Bridge returns the settings of the Telegram bridge.
func (s *Settings) Bridge() telegram.Config {
	return telegram.Config{Settings: s.Telegram, Notify: s.Notified(config.ByTelegram)}
}

// RehearsalPace is the delay between the pieces of an answer of the offline model.
const RehearsalPace = 8 * time.Millisecond

// New makes an App. Its home is not open yet.
func New(in io.Reader, out, err io.Writer) *App {
	app := &App{Console: console.New(in, out, err)}
	app.Runs.Pace = RehearsalPace
	return app
}

// Dir returns the absolute path of the home.
func (app *App) Dir() (string, error) {
	dir, err := host.Dir(app.HomeDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, exit.Hint(err, "name it with --home")
}

// Open finds the home and reads its configuration. A missing home is made, or, unless makes is set, empty.
func (app *App) Open(makes bool) error {
	dir, err := app.Dir()
	if err != nil {
		return err
	}
	app.Home.Dir = dir
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err := fmt.Errorf("open home: %s is not a directory", dir)
		return exit.Hint(err, "name another with --home, or LETHE_HOME")
	}
	if errors.Is(err, fs.ErrNotExist) && !makes {
		app.Look = report.Home{Home: app.Home}
		return nil
	}
	if err := app.openHome(); err != nil {
		return err
	}
	if err := app.readSettings(); err != nil {
		return err
	}
	store, err := blobs.Open(app.Home.Blobs())
	if err != nil {
		return err
	}
	if !app.AsIs {
		app.Shared = host.Share(&app.Home, app.Settings.Settings, store, app.LogTo(app.Err))
	}
	app.Look = report.Home{
		Home: app.Home, Store: store, Limits: app.Settings.Budget.Limits(), Zone: app.Settings.Zone(),
		People: app.Settings.Deciders(), ContextLimit: app.Settings.Context.Limit, Known: app.Known(),
		Mentions: app.Settings.Mentions,
	}
	if !app.AsIs { // else lethe check names what is not finished
		app.finishErasures()
	}
	return nil
}

// openHome opens the directory: as it is, or with its modes restored.
func (app *App) openHome() (err error) {
	if app.AsIs {
		_, err = home.Format(app.Home.Dir)
		return err
	}
	app.Home, err = home.Open(app.Home.Dir)
	if err != nil {
		return err
	}
	if app.Home.Restored != "" {
		app.Note("the home is for its owner alone; permissions were restored: %s", app.Home.Restored)
	}
	return nil
}

// readSettings reads config.toml, and the secrets that are struck out of all that is written.
func (app *App) readSettings() error {
	_, _ = serve.ReadToken(serve.TokenFile(app.Home.Dir))
	_, _ = serve.ReadToken(serve.PushKeyFile(app.Home.Dir))
	err := config.Read(app.Home.Dir, &app.Settings)
	if keys := app.Settings.Ignored; len(keys) > 0 {
		app.Warn("%s: %s no longer has an effect; delete it", config.File(app.Home.Dir), strings.Join(keys, ", "))
	}
	if err != nil {
		return err
	}
	secret.Add(app.Settings.Web.Key())
	return nil
}

// finishErasures ends erasures that a crash has interrupted.
func (app *App) finishErasures() {
	all, _ := app.Home.List() // commands that need it tell of an error
	for _, id := range all {
		if err := journal.FinishErasure(app.Home, id, app.LogTo(app.Err)); err != nil {
			app.Warn("%v", err)
		}
	}
}

// Known returns the facts about models, with those in config.toml.
func (app *App) Known() llm.Known { return app.Settings.Known(app.Preset()) }

// Preset returns the name of the configured preset.
func (app *App) Preset() string {
	model := app.Settings.Model
	preset, _ := llm.Config{Preset: model.Preset, BaseURL: model.BaseURL, Model: model.Name}.Chosen()
	return preset.Name
}

// OfferedModels lists the known models of the configured preset, if its key is set.
func (app *App) OfferedModels() (names []string) {
	preset := app.Preset()
	if info, _ := llm.Preset(preset); app.Runs.Offline || secret.Value(info.KeyEnv) == "" {
		return nil
	}
	for name := range app.Known() {
		if llm.ParseName(name).Preset == preset {
			names = append(names, llm.Known(nil).Settle(name, "", preset))
		}
	}
	slices.Sort(names)
	return names
}

// Learn asks the endpoint of a preset for its models, where there is a key, and adds them to known.
func (app *App) Learn(ctx context.Context, preset string, known llm.Known) {
	conf := llm.Config{Preset: preset}
	if preset == app.Preset() {
		conf.BaseURL = app.Settings.Model.BaseURL
	}
	client, err := llm.New(conf)
	if err != nil {
		return // it is not in use here
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, _, models, err := client.Look(ctx)
	if err != nil {
		app.Warn("%v", err)
	}
	known.Learn(preset, models)
}

// Store returns the store of the home, or an error where there is no home.
func (app *App) Store() (*blobs.Store, error) {
	if app.Look.Store == nil {
		err := fmt.Errorf("open home %s: %w", app.Home.Dir, home.ErrNotFound)
		return nil, exit.Hint(err, "name it with --home, or LETHE_HOME")
	}
	return app.Look.Store, nil
}

// Event announces an event of an identity, such as "ready" or "stopped".
func (app *App) Event(name string, id home.Identity) {
	value := map[string]string{"event": name, "self": id.Self, "name": id.Name}
	app.Announce(value, "%s %s %s", name, id.Self, id.Name)
}

// At writes a time of a schedule, in the zone of config.toml.
func (app *App) At(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(app.Settings.Zone()).Format("Mon 2006-01-02 15:04:05")
}

// BotToken finds the token of the Telegram bot. It never returns the token in an error.
func (app *App) BotToken() (string, error) { return bot.Token(app.botTokenFile()) }

func (app *App) botTokenFile() string { return bot.TokenFile(app.Home.Dir, app.Settings.Telegram) }

// Policy returns the list of people who may write by Telegram.
func (app *App) Policy() *access.Policy {
	policy := bot.Policy(app.Home.Dir, app.Settings.Telegram, app.ReservedNames, app.Settings.Deciders())
	if app.Shared != nil {
		policy.Shared = app.Shared.Bridge(context.Background(), telegram.Name)
	}
	return policy
}

// listed returns the names with which people sign whom the bridge lists: the names that you gave, and for others the
// names of their private chats.
func (app *App) listed() (names []string) {
	rules, _ := app.Policy().Rules() // while the list cannot be read, nobody is on it
	for _, user := range rules.Users {
		if user.Name != "" {
			names = append(names, user.Name)
		} else {
			names = append(names, bridge.Signers(bot.Dir(app.Home.Dir), user.ID)...)
		}
	}
	return names
}

// ReservedNames are the names that nobody on the other side of a bridge may sign with: yours, and the identities'.
func (app *App) ReservedNames() []string {
	names := []string{app.Settings.UserName()}
	all, _ := app.Home.List()
	for _, id := range all {
		names = append(names, id.Name)
	}
	return names
}
