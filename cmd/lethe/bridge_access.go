package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/health"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/config"
)

// policy opens the bridge's list of who may speak.
func (p *program) policy() (*access.Policy, error) {
	policy, s := access.New(p.bridgeDir()), p.settings.Telegram
	err := policy.Static(access.Lists{Users: s.Users, Chats: s.Chats, Members: s.Members, Names: p.reservedNames(), People: p.settings.Deciders()})
	if err != nil {
		return nil, usagef("read %s: telegram: %w", config.File(p.home.Dir), err)
	}
	return policy, nil
}

// changePolicy is policy for its changes: a bridge that has never run has given
// nobody a code, and gets no directory by that.
func (p *program) changePolicy() (*access.Policy, error) {
	if _, err := os.Stat(p.bridgeDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, hint(fmt.Errorf("open bridge telegram in %s: %w", p.home.Dir, agent.ErrNotFound), "it has not run here yet: %s", p.lethe("bridge telegram"))
	}
	return p.policy()
}

func (p *program) bridgeDir() string { return filepath.Join(p.home.Dir, "bridges", telegram.Name) }

func (p *program) allowCommand() *cobra.Command {
	var room string
	cmd := &cobra.Command{
		Use:   "allow CODE",
		Short: "Let the person or group speak that was given this code",
		Long: `Allow approves a pairing code. Somebody whom the bridge does not know gets one when
they write to it; it is good for an hour and for one use. Ask them for it over a
way that tells you who they are. The bridge need not be restarted.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			if room != "" {
				if err := checkRooms(room); err != nil {
					return err
				}
			}
			policy, err := p.changePolicy()
			if err != nil {
				return err
			}
			who, err := policy.Approve(list[0], room)
			if errors.Is(err, access.ErrNoSuchCode) {
				return hint(err, "it is mistyped, used already, or older than an hour; have them write again for a new one; all who wait: %s", p.lethe("bridge telegram who"))
			}
			if err != nil {
				return err
			}
			p.tellStale()
			return p.printAllowed(who, room)
		},
	}
	cmd.Flags().StringVar(&room, "room", "", "the `ROOM` to connect the chat with (default: telegram.room, or dev)")
	_ = cmd.RegisterFlagCompletionFunc("room", p.completeRooms) // fails for a flag that is not there
	return cmd
}

// printAllowed says who was let in, and where the lines go.
func (p *program) printAllowed(who access.Applicant, room string) error {
	id := who.Chat
	if who.Private {
		id = who.ID
	}
	to := p.settings.boundTo(id, room)
	why := ""
	if room != "" && to != room {
		why = fmt.Sprintf(", where a route in config.toml sends that chat, and not to %s", room)
	}
	return p.print(map[string]string{"allowed": id, "name": who.String(), "room": to}, "allowed: %s may write to room %s%s\n", chat.Sanitize(who.String()), to, why)
}

// tellStale warns when the running bridge has other settings than config.toml.
func (p *program) tellStale() {
	all, err := bridge.ReadHealth(p.home.Dir)
	i := slices.IndexFunc(all, func(h health.Health) bool { return h.Name == telegram.Name })
	if err == nil && i >= 0 && all[i].Runs() && !p.inForce() {
		p.note("warning", "the running bridge has not read config.toml since it was changed: kill -HUP %d (some settings need a restart)", all[i].PID)
	}
}

func (p *program) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back what allow gave, by the id of the user or group",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			policy, err := p.changePolicy()
			if err != nil {
				return err
			}
			err = policy.Revoke(list[0])
			p.tellStale()
			if errors.Is(err, access.ErrNotListed) {
				return hint(err, "%s lists the ids", p.lethe("bridge telegram who"))
			}
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
		Short: "Print who may speak, who waits to be allowed, and where their lines go",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			policy, err := p.policy()
			if err != nil {
				return err
			}
			l, err := policy.List()
			if err != nil {
				return err
			}
			p.tellStale()
			if p.json {
				return p.printJSON(l)
			}
			return p.printPolicy(l)
		},
	}
}

func (p *program) printPolicy(l access.Listing) error {
	if len(l.Users)+len(l.Chats) == 0 {
		fmt.Fprintf(p.out, "nobody may write. A person who writes to it gets a code; approve it with: %s\n", p.lethe("bridge telegram allow CODE"))
	} else {
		s, table := p.settings, tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "MAY WRITE\tID\tNAME\tROOM\tBY")
		s.printListed(table, "user", l.Users)
		s.printListed(table, "chat", l.Chats)
		s.printTopics(table, slices.Concat(l.Chats, l.Users))
		if err := table.Flush(); err != nil {
			return err
		}
		who := "everyone in it"
		if l.Members == access.MembersListed {
			who = "of its members only the users above"
		}
		fmt.Fprintf(p.out, "may speak in private: the users above; in a chat above: %s; anywhere else: nobody\n", who)
	}
	for _, w := range l.Pending {
		fmt.Fprintf(p.out, "waits: %s, with a code until %s\n", chat.Sanitize(w.String()), w.Expires.Local().Format("15:04"))
	}
	return nil
}

func (s settings) printListed(table *tabwriter.Writer, kind string, list []access.Person) {
	for _, who := range list {
		by := "allow, " + who.At.Local().Format("2006-01-02")
		if who.Config {
			by = "config.toml"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", kind, who.ID, dash(chat.Sanitize(who.Name)), s.boundTo(who.ID, who.Room), by)
	}
}

// printTopics prints the topics of chats that have a room of their own.
func (s settings) printTopics(table *tabwriter.Writer, list []access.Person) {
	for _, r := range s.Telegram.Routes {
		if r.Topic > 1 && slices.ContainsFunc(list, func(l access.Person) bool { return l.ID == r.Chat }) {
			fmt.Fprintf(table, "topic %d\t%s\t-\t%s\tconfig.toml\n", r.Topic, r.Chat, r.Room)
		}
	}
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
