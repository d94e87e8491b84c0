package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"lethe/agent/config"
	"lethe/bridge/access"
	"lethe/bridge/telegram"
)

// policy is the bridge's list of who may speak.
func (p *program) policy() *access.Policy {
	return &access.Policy{Dir: p.bridgeDir(), Members: p.settings.Telegram.Members, Names: p.reservedNames,
		People: p.settings.Deciders()}
}

func (p *program) bridgeDir() string { return filepath.Join(p.home.Dir, "bridges", telegram.Name) }

func (p *program) allowCommand(c call) error {
	room := c.text("room")
	if err := checkRooms(cmp.Or(room, config.DefaultRoom)); err != nil {
		return err
	}
	if err := telegram.CheckID(c.arg(0)); err != nil {
		return usageError(err)
	}
	if _, err := p.store(); err != nil {
		return err
	}
	who, err := p.policy().Allow(strings.Join(c.args, " "), room, strings.HasPrefix(c.arg(0), "-"))
	if err != nil {
		return err
	}
	to := p.settings.boundTo(room)
	return p.print(map[string]string{"allowed": who.ID, "name": who.Name, "room": to},
		"allowed: %s may write to room %s\n", who.ID, to)
}

func (p *program) revokeCommand(c call) error {
	if _, err := p.store(); err != nil {
		return err
	}
	if err := p.policy().Revoke(c.arg(0)); err != nil {
		return err
	}
	return p.print(map[string]string{"revoked": c.arg(0)}, "revoked: %s may not write any more\n", c.arg(0))
}

func (p *program) whoCommand(call) error {
	rules, err := p.policy().Rules()
	return p.words("policy", rules, err)
}

// boundTo is the room of a chat that was allowed with this one, which may be empty.
func (s settings) boundTo(room string) string {
	return cmp.Or(room, s.Telegram.Room, config.DefaultRoom)
}
