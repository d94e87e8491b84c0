package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/bridge/serve"
	"lethe/bridge/serve/backend"
	"lethe/bridge/telegram"
	"lethe/config"
	"lethe/host"
	"lethe/llm"
	"lethe/report"
)

// roomOf is the room to talk to an identity in.
func (p *program) roomOf(id agent.Identity) string {
	if len(p.runs.rooms) > 0 {
		return p.runs.rooms[0]
	}
	return host.RoomOf(id)
}

// open finds the home and reads its configuration. A home that is missing is
// made, or else is empty.
func (p *program) open(missing bool) error {
	dir, err := host.Dir(p.homeDir)
	if err != nil {
		return hint(err, "name it with --home")
	}
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		return hint(fmt.Errorf("open home: %s is not a directory", dir), "name another with --home, or LETHE_HOME")
	}
	if errors.Is(err, fs.ErrNotExist) && !missing {
		p.home.Dir, err = filepath.Abs(dir)
		return err
	}
	if !p.asIs {
		p.home, err = agent.OpenHome(dir)
	} else if _, err = agent.Format(dir); err == nil {
		p.home.Dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return err
	}
	if p.home.Restored != "" {
		p.note("note", "the home is for its owner alone; permissions were restored: %s", p.home.Restored)
	}
	_, _ = serve.ReadToken(serve.TokenFile(dir)) // so that it is struck out wherever it is written
	told := len(p.settings.Ignored) > 0
	p.settings, err = readSettings(p.home.Dir)
	if keys := p.settings.Ignored; len(keys) > 0 && !told {
		p.note("warning", "%s: %s no longer has an effect; delete it", config.File(p.home.Dir), strings.Join(keys, ", "))
	}
	if p.asIs { // fsck names what is not finished
		return err
	}
	all, _ := p.home.List() // commands that need it tell of an error
	for _, id := range all {
		if err := p.home.FinishErasure(id, p.logTo(p.err)); err != nil {
			p.note("warning", "%v", err)
		}
	}
	return err
}

func (p *program) store() (*blobs.Store, error) {
	if _, err := os.Stat(p.home.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, hint(fmt.Errorf("open home %s: %w", p.home.Dir, agent.ErrNotFound), "name it with --home, or LETHE_HOME")
	}
	return blobs.Open(p.home.Blobs())
}

// find is the identity of a name or hash; for "" the default one. Where there are
// several and none is the default, a person at a terminal is asked.
func (p *program) find(who string) (agent.Identity, error) {
	if who == "" {
		id, err := p.defaultIdentity()
		if errors.As(err, new(*host.SeveralError)) && isTerminal(p.in) && isTerminal(p.err) && !p.json {
			return p.pick(err)
		}
		return id, err
	}
	id, err := p.home.Find(who)
	if errors.Is(err, agent.ErrNotFound) {
		return id, hint(err, "%s%s lists them", p.nearest(who), p.lethe("agents"))
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

// defaultIdentity is host.Default, with what to do where there is none.
func (p *program) defaultIdentity() (agent.Identity, error) {
	id, err := host.Default(p.home, p.settings.Settings)
	switch {
	case errors.As(err, new(*host.SeveralError)):
		err = hint(usageError{err}, "name one, as the command's argument or with --name, or set default_identity in %s", config.File(p.home.Dir))
	case errors.Is(err, agent.ErrNotFound):
		err = hint(err, "boot one with: %s", p.lethe(""))
	}
	return id, err
}

// pick asks a person for one of the identities, and returns several when there is no answer.
func (p *program) pick(several error) (agent.Identity, error) {
	all, err := host.Grown(p.home)
	if err != nil {
		return agent.Identity{}, err
	}
	for i, id := range all {
		state := "stopped"
		if _, running := agent.Running(id); running {
			state = "running"
		}
		fmt.Fprintf(p.err, "%2d  %-16s %.16s  %s\n", i+1, id.Name, id.Self, state)
	}
	answer := p.asks(p.err, "Which identity? (number or name) ")
	if answer == "" {
		return agent.Identity{}, several
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(all) {
		answer = all[n-1].Name
	}
	id, err := p.find(answer)
	p.runs.name = id.Name // so that it is asked once
	return id, err
}

// subscribers are the identities that hear a room when they run.
func (p *program) subscribers(room string) []agent.Identity {
	return report.Home{Home: p.home}.Hearers(room)
}

// howToHear is the command that has a room heard.
func (p *program) howToHear(room string) string {
	id, _ := p.defaultIdentity()
	candidates, flags := p.subscribers(room), ""
	hears := len(candidates) > 0
	if !hears {
		candidates, _ = host.Grown(p.home)
		flags = " --room " + room
	}
	if len(candidates) > 0 && !slices.Contains(candidates, id) {
		id = candidates[0]
	}
	start := p.howToRun(id, flags)
	if _, running := agent.Running(id); running && !hears { // one that hears has stopped when this is said
		return fmt.Sprintf("%s, then %s", p.lethe("stop %s", id.Name), start)
	}
	return start
}

// howToRun is the command that runs an identity, or a new one.
func (p *program) howToRun(id agent.Identity, flags string) string {
	flags += p.rerun
	preset, known := llm.Preset(cmp.Or(p.settings.Model.Preset, llm.Presets()[0]))
	noKey := known && preset.KeyRequired && os.Getenv(preset.KeyEnv) == "" && p.settings.Model.BaseURL == ""
	if p.rerun == "" && noKey && !p.livedOnline(id) {
		flags += " --offline"
	}
	return p.lethe("run %s", strings.TrimSpace(id.Name+flags))
}

// settings are config.toml, with the tables of the bridges that this program runs.
type settings struct {
	config.Settings
	Telegram telegram.Settings
	Serve    serve.Settings
}

// readSettings reads config.toml in the home. A missing one is empty.
func readSettings(home string) (s settings, err error) {
	s.Settings, err = config.Read(home, s.tables()...)
	return s, err
}

// tables are those of the bridges.
func (s *settings) tables() []config.Table {
	return []config.Table{
		{Name: telegram.Name, Into: &s.Telegram, Check: s.checkTelegram},
		{Name: backend.Name, Into: &s.Serve, Check: func() error { return s.Serve.Check() }},
	}
}
