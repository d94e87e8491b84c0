package telegram

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"lethe/internal/durable"
)

// now are the settings in force.
func (s *session) now() *Config { return s.conf.Load() }

// reload reads the settings again. Those that make no sense are refused as a whole.
func (s *session) reload() {
	read, err := s.cfg.Reload()
	c := s.cfg
	c.Settings, c.Notify = read.Settings, read.Notify
	c.TokenFile, c.BaseURL = s.cfg.TokenFile, s.cfg.BaseURL
	c = c.defaults()
	if err == nil {
		err = c.Check()
	}
	if err == nil {
		s.conf.Store(&c)
		err = s.apply()
		s.log.Info("takes up changed settings",
			"users", len(c.Users), "chats", len(c.Chats), "routes", len(c.Routes), "room", c.Room)
	}
	s.hub.LocalTrouble("take up changed settings", err)
}

// apply puts settings in force, and writes down which these are.
func (s *session) apply() error {
	if err := s.setLists(); err != nil {
		return err
	}
	if err := durable.Replace(s.now().inForce(), s.now().summary(), 0o600); err != nil {
		s.log.Warn("cannot write down which settings are in force", "error", err) // only the command line reads it
	}
	return nil
}

// setLists gives the policy the lists of the settings, with groups under the ids by which the
// bridge knows them: a supergroup may be listed by its new id, its old one, or both.
func (s *session) setLists() error {
	s.setting.Lock()
	defer s.setting.Unlock()
	l := s.now().lists()
	l.Chats = nil
	listed := map[string]bool{}
	for _, entry := range s.now().Chats {
		id, title, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if id = s.chats.canonical(id); !listed[id] {
			listed[id] = true
			l.Chats = append(l.Chats, strings.TrimSpace(id+" "+title))
		}
	}
	return s.policy.Static(l)
}

// inForce is the file with the settings of the running bridge.
func (c Config) inForce() string { return filepath.Join(c.Home, "bridges", Name, "settings") }

// summary is the content of that file.
func (c Config) summary() []byte {
	c = c.defaults()
	data, _ := json.Marshal([]any{c.Settings, c.Notify}) // cannot fail
	return data
}

// InForce says whether the bridge of c.Home had these settings when it last took any up.
func (c Config) InForce() bool {
	data, _, err := durable.ReadRegular(c.inForce(), 1<<20)
	return err == nil && bytes.Equal(data, c.summary())
}
