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
	"text/tabwriter"
	"time"
	_ "time/tzdata" // schedules know their zones on any machine

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/llm"
	"lethe/trigger"
)

// triggerInfo is one line of lethe triggers.
type triggerInfo struct {
	Name string    `json:"name"`
	When string    `json:"when,omitempty"`
	Room string    `json:"room,omitempty"`
	Next time.Time `json:"next,omitzero"`
	firings
	Error string `json:"error,omitempty"`
}

func (p *program) triggersCommand() *cobra.Command {
	var now string
	cmd := &cobra.Command{
		Use:   "triggers [NAME]",
		Short: "List what wakes an identity by itself, with the next times and the history",
		Long: `Triggers lists the triggers of an identity: when each fires next, and from LIFE how often it has
fired, how many times were missed while the identity did not run, how many checks of its command found
nothing, how many of its lines were answered with (nothing), and what its turns have cost. It fails when a file is
wrong, and says what. docs/triggers.md tells how to write one.`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			id, err := p.find(first(list))
			if err != nil {
				return err
			}
			all, err := p.triggers(id, time.Now())
			if err != nil {
				return err
			}
			if now != "" {
				return p.runTrigger(id, now, all)
			}
			if err := p.printTriggers(id, all); err != nil {
				return err
			}
			return wrong(id, all)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().StringVar(&now, "run-now", "", "have `TRIGGER` fire once, now; its schedule stays")
	return cmd
}

// triggers reads the files and the history; what has fired and has no file any more is there, too.
func (p *program) triggers(id agent.Identity, now time.Time) ([]triggerInfo, error) {
	fired, err := firingsOf(id.LIFE())
	if err != nil {
		return nil, id.Unread(err)
	}
	files, err := os.ReadDir(triggersDir(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	live, running := alive(id)
	if !running {
		live.Triggers = nil
	}
	all := []triggerInfo{}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".toml")
		if !ok {
			continue
		}
		info := triggerInfo{Name: name}
		data, err := readGiven(filepath.Join(triggersDir(id), file.Name()))
		if err != nil {
			info.Error = err.Error()
		} else if t, err := trigger.Parse(info.Name, data, p.settings.zone()); err != nil {
			info.Error = err.Error()
		} else {
			info.When, info.Room, info.Next = t.When, t.Room, t.For(id.Self).Next(now)
			if f := fired[t.Signer()]; f != nil {
				info.firings = *f
				delete(fired, t.Signer())
			}
			for _, l := range live.Triggers { // what only the identity knows, such as that it may not
				if l.Name == name {
					info.Error = l.Error
				}
			}
		}
		all = append(all, info)
	}
	for by, f := range fired {
		if kind, _, _ := strings.Cut(by, "-"); slices.Contains([]string{"cron", "watch", "mail"}, kind) {
			all = append(all, triggerInfo{Name: by, firings: *f})
		}
	}
	slices.SortFunc(all, func(a, b triggerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func triggersDir(id agent.Identity) string { return filepath.Join(id.Dir, "triggers") }

func (p *program) printTriggers(id agent.Identity, all []triggerInfo) error {
	if p.json {
		return p.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintf(p.out, "%s has no triggers; docs/triggers.md tells how to write one, or ask it: %s\n", id.Name, p.lethe(`"every day at nine say good morning"`))
		return nil
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TRIGGER\tWHEN\tROOM\tNEXT\tLAST\tFIRED\tMISSED\tSILENT\tNOTHING\tUSD")
	for _, i := range all {
		usd := "-"
		if i.model != "" {
			usd = llm.Dollars(i.model, i.USD)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", chat.Sanitize(i.Name), dash(chat.Sanitize(i.When)), dash(i.Room), p.clock(i.Next), p.clock(i.Last),
			i.Fired, i.Missed, i.Silent, i.Nothing, usd)
	}
	if _, running := agent.Running(id); !running {
		p.note("note", "%s does not run, and nothing fires until it does; start it with: %s", id.Name, p.howToRun(id, ""))
	}
	return t.Flush()
}

// clock is a moment as the clocks here show it.
func (p *program) clock(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.In(p.settings.zone()).Format("Mon 2006-01-02 15:04:05")
}

// wrong says what is wrong with the files.
func wrong(id agent.Identity, all []triggerInfo) error {
	var faults []string
	for _, i := range all {
		if i.Error != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", i.Name, oneLine(i.Error)))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return hint(errors.New("triggers of "+id.Name+": "+strings.Join(faults, "; ")), "they are in %s; see docs/triggers.md", triggersDir(id))
}

// runTrigger asks the identity to fire a trigger now.
func (p *program) runTrigger(id agent.Identity, name string, all []triggerInfo) error {
	i := slices.IndexFunc(all, func(t triggerInfo) bool { return t.Name == name && t.When != "" })
	if i < 0 {
		if err := wrong(id, slices.DeleteFunc(all, func(t triggerInfo) bool { return t.Name != name })); err != nil {
			return err
		}
		return hint(fmt.Errorf("find trigger %s of %s: %w", name, id.Name, agent.ErrNotFound), "%s lists them", p.lethe("triggers %s", id.Name))
	}
	if strings.HasPrefix(all[i].When, "mail ") {
		return hint(usagef("%s fires for a file, not when it is asked to", name), "put one into its directory")
	}
	if err := durable.Overwrite(filepath.Join(triggersDir(id), name+".now"), nil, 0o600); err != nil {
		return err
	}
	if _, running := agent.Running(id); !running {
		p.note("note", "%s does not run: %s fires when it does; start it with: %s", id.Name, name, p.howToRun(id, ""))
		return nil
	}
	p.note("note", "asked %s to fire %s now", id.Name, name)
	return nil
}
