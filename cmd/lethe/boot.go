package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"lethe/agent"
)

// identity is the identity of the flags, or the default one. It is booted if it is
// not there yet; fresh says so.
func (h *host) identity() (id agent.Identity, fresh bool, err error) {
	p := h.p
	name := p.runs.name
	if name == "" {
		id, err := p.find("")
		if err == nil && p.runs.soul == "" {
			return id, false, nil
		}
		if err != nil && !errors.Is(err, agent.ErrNotFound) {
			return id, false, err
		}
		name = cmp.Or(p.settings.DefaultIdentity, defaultName)
	}
	soul, err := readSoul(p.runs.soul)
	if err != nil {
		return agent.Identity{}, false, err
	}
	if !agent.ValidName(name) {
		return agent.Identity{}, false, usagef("%q is not a name for an identity: a lower-case letter, then up to 31 of a-z, 0-9 and -", name)
	}
	rooms := p.runs.rooms
	if len(rooms) == 0 {
		rooms = []string{defaultRoom}
	}
	id, err = agent.Boot(p.home, h.store, agent.BootOptions{Name: name, Soul: soul, Rooms: rooms, Check: h.check})
	if errors.Is(err, agent.ErrExists) {
		if soul != "" {
			return id, false, hint(err, "a soul is for life: boot another identity with --name, or leave out --soul to resume %s", name)
		}
		return id, false, nil
	}
	return id, err == nil, err
}

// check refuses settings that an identity cannot run with.
func (h *host) check(id agent.Identity) error {
	config, err := h.config(id)
	if err != nil {
		return err
	}
	return agent.Check(id, config)
}

func readSoul(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := readGiven(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read soul %s: %w", path, agent.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", usagef("read soul %s: it is empty", path)
	}
	return string(text), nil
}
