package main

import (
	"cmp"
	"errors"
	"fmt"
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
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/internal/secret"
)

// roomOf is the room to talk to an identity in.
func (p *program) roomOf(id home.Identity) string {
	if len(p.runs.Rooms) > 0 {
		return p.runs.Rooms[0]
	}
	return host.RoomOf(id)
}

// dir is the home's directory, absolute.
func (p *program) dir() (string, error) {
	dir, err := host.Dir(p.homeDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, hint(err, "name it with --home")
}

// open finds the home and reads its configuration. A home that is missing is
// made, or else is empty.
func (p *program) open(missing bool) error {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	p.home.Dir = dir
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		return hint(fmt.Errorf("open home: %s is not a directory", dir), "name another with --home, or LETHE_HOME")
	}
	if errors.Is(err, fs.ErrNotExist) && !missing {
		p.look = report.Home{Home: p.home}
		return nil
	}
	if p.asIs {
		_, err = home.Format(dir)
	} else {
		p.home, err = home.Open(dir)
	}
	if err != nil {
		return err
	}
	if p.home.Restored != "" {
		p.note("the home is for its owner alone; permissions were restored: %s", p.home.Restored)
	}
	_, _ = serve.ReadToken(serve.TokenFile(dir)) // so that it is struck out wherever it is written
	_, _ = serve.ReadToken(serve.PushKeyFile(dir))
	err = config.Read(p.home.Dir, &p.settings)
	if keys := p.settings.Ignored; len(keys) > 0 {
		p.warn("%s: %s no longer has an effect; delete it", config.File(p.home.Dir), strings.Join(keys, ", "))
	}
	if err != nil {
		return err
	}
	secret.Add(p.settings.Web.Key())
	store, err := blobs.Open(p.home.Blobs())
	if err == nil && !p.asIs {
		p.shared = host.Share(&p.home, p.settings.Settings, store, p.logTo(p.err))
	}
	p.look = report.Home{
		Home: p.home, Store: store, Limits: p.settings.Budget.Limits(), Zone: p.settings.Zone(),
		People: p.settings.Deciders(), ContextLimit: p.settings.Context.Limit, Known: p.known(), Mentions: p.settings.Mentions,
	}
	if err != nil || p.asIs { // check names what is not finished
		return err
	}
	all, _ := p.home.List() // commands that need it tell of an error
	for _, id := range all {
		if err := journal.FinishErasure(p.home, id, p.logTo(p.err)); err != nil {
			p.warn("%v", err)
		}
	}
	return nil
}

// known is what is known of models.
func (p *program) known() llm.Known {
	return p.settings.Known(p.preset())
}

// preset is the configured one.
func (p *program) preset() string {
	model := p.settings.Model
	preset, _ := llm.Config{Preset: model.Preset, BaseURL: model.BaseURL, Model: model.Name}.Chosen()
	return preset.Name
}

// store is that of the home, which has to be there.
func (p *program) store() (*blobs.Store, error) {
	if p.look.Store == nil {
		return nil, hint(fmt.Errorf("open home %s: %w", p.home.Dir, home.ErrNotFound), "name it with --home, or LETHE_HOME")
	}
	return p.look.Store, nil
}

// find is the identity of a name or hash; for "" the default one.
func (p *program) find(who string) (home.Identity, error) {
	if who == "" {
		return p.defaultIdentity()
	}
	id, err := p.home.Find(who)
	if errors.Is(err, home.ErrNotFound) && p.shared != nil {
		for _, e := range p.shared.Elsewhere() {
			if e.Identity.Name == who || e.Identity.Self == who {
				return id, e
			}
		}
	}
	if errors.Is(err, home.ErrNotFound) {
		return id, hint(err, "%s‹agents› lists them", p.nearest(who))
	}
	return id, err
}

// nearest asks whether an identity is meant whose name is much like who, or is "".
func (p *program) nearest(who string) string {
	var names []string
	all, _ := host.Grown(p.home)
	for _, id := range all {
		names = append(names, id.Name)
	}
	if near := config.Nearest(who, names); near != "" {
		return fmt.Sprintf("did you mean %s? ", near)
	}
	return ""
}

// nearestRoom asks whether another room is meant than one that is not there, or is "".
func (p *program) nearestRoom(room string) string {
	all := chat.All(p.home.Dir)
	if near := config.Nearest(room, all); near != "" && !slices.Contains(all, room) {
		return fmt.Sprintf("did you mean room %s? ", near)
	}
	return ""
}

// defaultIdentity is host.Default, with what to do where there is none.
func (p *program) defaultIdentity() (home.Identity, error) {
	id, err := host.Default(p.home, p.settings.Settings)
	if errors.Is(err, home.ErrNotFound) && p.shared != nil {
		for _, e := range p.shared.Elsewhere() {
			return id, e
		}
	}
	switch {
	case errors.As(err, new(*host.SeveralError)):
		err = hint(usageError(err), "name one, as the command's argument or with --name, or set default_identity in %s",
			config.File(p.home.Dir))
	case errors.Is(err, home.ErrNotFound):
		err = hint(err, "boot one with: %s", p.lethe(""))
	}
	return id, err
}

// howToHear is the command that has a room heard.
func (p *program) howToHear(room string) string {
	id, _ := p.defaultIdentity()
	candidates, flags := p.look.Hearers(room), ""
	hears := len(candidates) > 0
	if !hears {
		candidates, _ = host.Grown(p.home)
		flags = " --room " + room
	}
	if len(candidates) > 0 && !slices.Contains(candidates, id) {
		id = candidates[0]
	}
	start := p.howToRun(id, flags)
	if _, running := home.Running(id); running && !hears { // one that hears has stopped when this is said
		return fmt.Sprintf("%s, then %s", p.lethe("stop %s", id.Name), start)
	}
	return start
}

// howToRun is the command that runs an identity, or a new one.
func (p *program) howToRun(id home.Identity, flags string) string {
	flags += p.rerun
	preset, known := llm.Preset(cmp.Or(p.settings.Model.Preset, llm.Presets()[0]))
	noKey := known && preset.KeyRequired && secret.Value(preset.KeyEnv) == "" && p.settings.Model.BaseURL == ""
	if p.rerun == "" && noKey && !p.livedOnline(id) {
		flags += " --offline"
	}
	return p.lethe("run %s", strings.TrimSpace(id.Name+flags))
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
