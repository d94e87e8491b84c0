package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"lethe/bridge/telegram"
	"lethe/config"
)

func telegramTransport() transport {
	return transport{
		name: telegram.Name, service: "Telegram",
		variable: "TELEGRAM_BOT_TOKEN", checkToken: telegram.CheckToken, readToken: telegram.ReadToken,
		tokenHint: "@BotFather gives you one; see docs/telegram.md",
		settings:  func(s *settings) bridgeSettings { return s.Telegram.bridgeSettings },
		inForce: func(p *program) bool {
			c := p.settings.telegram()
			c.Home = p.home.Dir
			return c.InForce()
		},
		run: runTelegram,
	}
}

// telegramSettings are the table telegram of config.toml.
type telegramSettings struct {
	bridgeSettings
	BaseURL string `toml:"base_url"`
}

// config is what the settings say of the bridge.
func (t telegramSettings) config() telegram.Config {
	c := telegram.Config{
		BaseURL: t.BaseURL, Room: cmp.Or(t.Room, config.DefaultRoom),
		Users: t.Users, Chats: t.Chats, Members: t.Members,
	}
	for _, r := range t.Routes {
		c.Routes = append(c.Routes, telegram.Route(r))
	}
	return c
}

// telegram is config with what stands outside of the table.
func (s settings) telegram() telegram.Config {
	c := s.Telegram.config()
	c.Notify = s.Notified()
	return c
}

func (t telegramSettings) check() error {
	if err := t.config().Check(); err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	return nil
}

func runTelegram(ctx context.Context, p *program, with bridgeParts) error {
	c := p.settings.telegram()
	c.People = p.settings.Deciders()
	c.Home, c.Store, c.Watcher, c.Log, c.Token = p.home.Dir, with.store, with.watcher, with.log, with.token
	c.Names, c.Ready, c.Hangup = p.reservedNames, with.ready, with.hangup
	c.Reload = func() (telegram.Config, error) {
		s, err := readSettings(p.home.Dir)
		return s.telegram(), err
	}
	err := telegram.Run(ctx, c)
	if errors.Is(err, telegram.ErrToken) {
		err = tokenError{err}
	}
	return err
}
