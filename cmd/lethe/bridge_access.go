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

	"lethe/bridge/access"
	"lethe/bridge/telegram"
	"lethe/config"
	"lethe/home"
)

// policy is the bridge's list of who may speak.
func (p *program) policy() *access.Policy {
	return &access.Policy{Dir: p.bridgeDir(), Members: p.settings.Telegram.Members, Names: p.reservedNames,
		People: p.settings.Deciders()}
}

// changePolicy is policy for its changes, which make no home.
func (p *program) changePolicy() (*access.Policy, error) {
	if _, err := os.Stat(p.home.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open home %s: %w", p.home.Dir, home.ErrNotFound)
	}
	return p.policy(), nil
}

func (p *program) bridgeDir() string { return filepath.Join(p.home.Dir, "bridges", telegram.Name) }

func (p *program) allowCommand() *cobra.Command {
	var room string
	cmd := &cobra.Command{
		Use:   "allow ID [NAME]",
		Short: "Let the person or group with this id speak",
		Long: `Allow lists a person, or a group, whose id is a negative number: allow -- -1001234, with
a point and the topic behind it for a topic that is to have a room of its own. The bridge
tells strangers their id when they write to it; /id does, too. NAME signs the lines of a
person; without it, the name that Telegram shows does. Given again, it takes the place of
what was given before. The bridge need not be restarted.`,
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
			to := p.settings.boundTo(room)
			return p.print(map[string]string{"allowed": who.ID, "name": who.Name, "room": to},
				"allowed: %s may write to room %s\n", who.ID, to)
		},
	}
	option(cmd, &room, "room", "the `ROOM` to connect the chat with (default: telegram.room, or dev)",
		p.offers(p.rooms))
	return cmd
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
			if err := policy.Revoke(list[0]); err != nil {
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
			rules, err := p.policy().Rules()
			if err != nil {
				return err
			}
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
		table(p, "MAY WRITE\tID\tNAME\tROOM\tSINCE", rows, func(row []any) []any { return row })
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
		rows = append(rows, []any{kind, who.ID, who.Name, p.settings.boundTo(who.Room), who.At.Local().Format(time.DateOnly)})
	}
	return rows
}

// boundTo is the room of a chat that was allowed with this one, which may be empty.
func (s settings) boundTo(room string) string {
	return cmp.Or(room, s.Telegram.Room, config.DefaultRoom)
}
