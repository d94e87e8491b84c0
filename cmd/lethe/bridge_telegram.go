package main

import (
	"context"
	"errors"
	"fmt"

	"lethe/bridge/telegram"
)

const (
	botToken  = "TELEGRAM_BOT_TOKEN" // a variable of the environment
	tokenHint = "@BotFather gives you one; see docs/telegram.md"
)

// telegram is what the settings say of the bridge.
func (s *settings) telegram() telegram.Config {
	return telegram.Config{Settings: s.Telegram, Notify: s.Notified()}
}

func (s *settings) checkTelegram() error {
	if err := s.telegram().Check(); err != nil {
		return fmt.Errorf("telegram: %w", err)
	}
	return nil
}

// inForce says whether the running bridge has the settings of config.toml.
func (p *program) inForce() bool {
	c := p.settings.telegram()
	c.Home = p.home.Dir
	return c.InForce()
}

func (p *program) runTelegram(ctx context.Context, c telegram.Config) error {
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
