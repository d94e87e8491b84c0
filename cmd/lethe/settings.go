package main

import (
	"lethe/bridge/serve"
	"lethe/bridge/serve/backend"
	"lethe/bridge/telegram"
	"lethe/config"
)

// settings are config.toml, with the tables of the bridges that this program runs.
type settings struct {
	config.Settings
	Telegram telegramSettings
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
		{Name: telegram.Name, Into: &s.Telegram, Check: func() error { return s.Telegram.check() }},
		{Name: backend.Name, Into: &s.Serve, Check: func() error { return s.Serve.Check() }},
	}
}
