package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/journal"
	"lethe/agent/llm"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/telegram"
	"lethe/internal/secret"
)

// app has the parts that all commands share: the console, the global flags, and the home once it is open.
type app struct {
	console
	homeDir string
	runs    runFlags

	asIs     bool // the home is looked at, and nothing of it made or restored
	home     home.Home
	look     report.Home // reads it
	settings settings
	shared   *hosts.Cluster // nil: no other host shares the home
}

// settings are config.toml, with the tables of the bridges that this program runs.
type settings struct {
	config.Settings
	Telegram telegram.Settings `toml:"telegram"`
	Serve    serve.Settings    `toml:"serve"`
}

// Check refuses values that make no sense.
func (s *settings) Check() error {
	return errors.Join(s.Settings.Check(), s.checkTelegram(), s.Serve.Check())
}

func newApp(in io.Reader, out, err io.Writer) *app {
	return &app{console: console{in: in, lines: bufio.NewReader(in), out: out, err: err}}
}

// execute runs the command line, and returns the exit code.
func (app *app) execute(ctx context.Context, args []string) int {
	app.json = wantsJSON(args)
	root := newRootCommand(app)
	root.SetArgs(args)
	root.SetIn(app.in)
	root.SetOut(app.out)
	root.SetErr(app.err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		app.report(err)
	}
	for _, outlet := range app.outlets {
		outlet.flush()
	}
	return codeOf(err)
}

// wantsJSON looks for --json before the flags are parsed, which may fail.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// dir returns the absolute path of the home.
func (app *app) dir() (string, error) {
	dir, err := host.Dir(app.homeDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, hint(err, "name it with --home")
}

// open finds the home and reads its configuration. A home that is missing is made, or else is empty.
func (app *app) open(missing bool) error {
	dir, err := app.dir()
	if err != nil {
		return err
	}
	app.home.Dir = dir
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return hint(fmt.Errorf("open home: %s is not a directory", dir), "name another with --home, or LETHE_HOME")
	}
	if errors.Is(err, fs.ErrNotExist) && !missing {
		app.look = report.Home{Home: app.home}
		return nil
	}
	if err := app.openHome(); err != nil {
		return err
	}
	if err := app.readSettings(); err != nil {
		return err
	}
	store, err := blobs.Open(app.home.Blobs())
	if err != nil {
		return err
	}
	if !app.asIs {
		app.shared = host.Share(&app.home, app.settings.Settings, store, app.logTo(app.err))
	}
	app.look = report.Home{
		Home: app.home, Store: store, Limits: app.settings.Budget.Limits(), Zone: app.settings.Zone(),
		People: app.settings.Deciders(), ContextLimit: app.settings.Context.Limit, Known: app.known(),
		Mentions: app.settings.Mentions,
	}
	if !app.asIs { // else lethe check names what is not finished
		app.finishErasures()
	}
	return nil
}

// openHome opens the directory: as it is, or with its modes restored.
func (app *app) openHome() (err error) {
	if app.asIs {
		_, err = home.Format(app.home.Dir)
		return err
	}
	app.home, err = home.Open(app.home.Dir)
	if err != nil {
		return err
	}
	if app.home.Restored != "" {
		app.note("the home is for its owner alone; permissions were restored: %s", app.home.Restored)
	}
	return nil
}

// readSettings reads config.toml, and the secrets that are struck out wherever they are written.
func (app *app) readSettings() error {
	_, _ = serve.ReadToken(serve.TokenFile(app.home.Dir))
	_, _ = serve.ReadToken(serve.PushKeyFile(app.home.Dir))
	err := config.Read(app.home.Dir, &app.settings)
	if keys := app.settings.Ignored; len(keys) > 0 {
		app.warn("%s: %s no longer has an effect; delete it", config.File(app.home.Dir), strings.Join(keys, ", "))
	}
	if err != nil {
		return err
	}
	secret.Add(app.settings.Web.Key())
	return nil
}

// finishErasures ends erasures that a crash has interrupted.
func (app *app) finishErasures() {
	all, _ := app.home.List() // commands that need it tell of an error
	for _, id := range all {
		if err := journal.FinishErasure(app.home, id, app.logTo(app.err)); err != nil {
			app.warn("%v", err)
		}
	}
}

// known returns the facts about models, with config.toml's own.
func (app *app) known() llm.Known {
	return app.settings.Known(app.preset())
}

// preset returns the name of the configured preset.
func (app *app) preset() string {
	model := app.settings.Model
	preset, _ := llm.Config{Preset: model.Preset, BaseURL: model.BaseURL, Model: model.Name}.Chosen()
	return preset.Name
}

// store returns the store of the home, or an error where there is no home.
func (app *app) store() (*blobs.Store, error) {
	if app.look.Store == nil {
		err := fmt.Errorf("open home %s: %w", app.home.Dir, home.ErrNotFound)
		return nil, hint(err, "name it with --home, or LETHE_HOME")
	}
	return app.look.Store, nil
}
