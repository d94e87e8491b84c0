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
	"time"

	"github.com/spf13/cobra"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/telegram"
	"lethe/config"
	"lethe/home"
)

// policy opens the bridge's list of who may speak.
func (p *program) policy() (*access.Policy, error) {
	policy, s := access.New(p.bridgeDir()), p.settings.Telegram
	err := policy.Static(access.Lists{Users: s.Users, Chats: s.Chats, Members: s.Members, Names: p.reservedNames(),
		People: p.settings.Deciders()})
	if err != nil {
		return nil, usagef("read %s: telegram: %w", config.File(p.home.Dir), err)
	}
	return policy, nil
}

// changePolicy is policy for its changes: a bridge that has never run gets no directory by that.
func (p *program) changePolicy() (*access.Policy, error) {
	if _, err := os.Stat(p.bridgeDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, hint(fmt.Errorf("open bridge telegram in %s: %w", p.home.Dir, home.ErrNotFound),
			"it has not run here yet: %s", p.lethe("bridge telegram"))
	}
	return p.policy()
}

func (p *program) bridgeDir() string { return filepath.Join(p.home.Dir, "bridges", telegram.Name) }

func (p *program) allowCommand() *cobra.Command {
	var room string
	cmd := &cobra.Command{
		Use:   "allow ID [NAME]",
		Short: "Let the person or group with this id speak",
		Long: `Allow lists a person, or a group, whose id is a negative number: allow -- -1001234. The
bridge tells strangers their id when they write to it; /id does, too. NAME signs the
lines of a person; without it, the name that Telegram shows does. The bridge need not be
restarted.`,
		RunE: func(_ *cobra.Command, list []string) error {
			if err := checkRooms(cmp.Or(room, config.DefaultRoom)); err != nil {
				return err
			}
			if err := telegram.CheckID(list[0]); err != nil {
				return usageError(err)
			}
			policy, err := p.changePolicy()
			if err != nil {
				return err
			}
			who, err := policy.Allow(strings.Join(list, " "), room, strings.HasPrefix(list[0], "-"))
			if err != nil {
				return err
			}
			p.tellStale()
			to, why := p.settings.boundTo(who.ID, room), ""
			if room != "" && to != room {
				why = fmt.Sprintf(", where a route in config.toml sends that chat, and not to %s", room)
			}
			return p.print(map[string]string{"allowed": who.ID, "name": who.Name, "room": to},
				"allowed: %s may write to room %s%s\n", who.ID, to, why)
		},
	}
	option(cmd, &room, "room", "the `ROOM` to connect the chat with (default: telegram.room, or dev)",
		p.offers(p.rooms))
	return cmd
}

// tellStale warns when config.toml has changed since the bridge that runs read it.
func (p *program) tellStale() {
	h := bridge.HealthOf(p.home.Dir, telegram.Name)
	if fi, err := os.Stat(config.File(p.home.Dir)); err == nil && h.Runs() && fi.ModTime().After(h.Started) {
		p.warn("the running bridge has not read config.toml since it was changed: restart it (beside lethe run: kill %d)", h.PID)
	}
}

func (p *program) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back what allow gave, by the id of the user or group",
		RunE: func(_ *cobra.Command, list []string) error {
			policy, err := p.changePolicy()
			if err != nil {
				return err
			}
			err = policy.Revoke(list[0])
			p.tellStale()
			if err != nil {
				return err
			}
			return p.print(map[string]string{"revoked": list[0]}, "revoked: %s may not write any more\n", list[0])
		},
	}
}

func (p *program) whoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "who",
		Short: "Print who may speak, and where their lines go",
		RunE: func(*cobra.Command, []string) error {
			policy, err := p.policy()
			if err != nil {
				return err
			}
			rules, err := policy.Rules()
			if err != nil {
				return err
			}
			p.tellStale()
			return p.show(rules, func() { p.printPolicy(rules) })
		},
	}
}

func (p *program) printPolicy(l access.Rules) {
	rows := slices.Concat(p.listed("user", l.Users), p.listed("chat", l.Chats))
	if len(rows) == 0 {
		fmt.Fprintf(p.out, "nobody may write. A person who writes to it is told an id; allow it with: %s\n",
			p.lethe("bridge telegram allow ID"))
	} else {
		for _, r := range p.settings.Telegram.Routes { // topics that have a room of their own
			known := func(row []any) bool { return row[1] == r.Chat }
			if r.Topic > 1 && slices.ContainsFunc(rows, known) {
				rows = append(rows, []any{fmt.Sprintf("topic %d", r.Topic), r.Chat, "", r.Room, "config.toml"})
			}
		}
		table(p, "MAY WRITE\tID\tNAME\tROOM\tBY", rows, func(row []any) []any { return row })
		who := "everyone in it"
		if l.Members == access.MembersListed {
			who = "of its members only the users above"
		}
		fmt.Fprintf(p.out, "may speak in private: the users above; in a chat above: %s; anywhere else: nobody\n", who)
	}
}

// listed are the rows of people or chats.
func (p *program) listed(kind string, list []access.Person) (rows [][]any) {
	for _, who := range list {
		by := "allow, " + who.At.Local().Format(time.DateOnly)
		if who.Config {
			by = "config.toml"
		}
		rows = append(rows, []any{kind, who.ID, who.Name, p.settings.boundTo(who.ID, who.Room), by})
	}
	return rows
}

// boundTo is the room that a chat is connected with: the configuration wins over approved, the
// room that was given with the approval.
func (s settings) boundTo(chat, approved string) string {
	for _, r := range s.Telegram.Routes {
		if r.Chat == chat && r.Topic <= 1 { // the first topic is the chat itself
			return r.Room
		}
	}
	return cmp.Or(approved, s.Telegram.Room, config.DefaultRoom)
}
