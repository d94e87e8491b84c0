package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/llm"
)

// agentInfo is one line of lethe agents.
type agentInfo struct {
	Name      string   `json:"name"`
	Self      string   `json:"self"`
	State     string   `json:"state"`
	PID       int      `json:"pid,omitempty"`
	Model     string   `json:"model,omitempty"`
	Endpoint  string   `json:"endpoint,omitempty"`
	Rooms     []string `json:"rooms"`
	Turns     int      `json:"turns"`
	Entries   int      `json:"entries"`
	LifeBytes int64    `json:"life_bytes"`
	Input     int64    `json:"input_tokens"`
	Cached    int64    `json:"cached_tokens"`
	Output    int64    `json:"output_tokens"`
	USD       float64  `json:"cost_usd"`
	Error     string   `json:"error,omitempty"`
	Trouble   []string `json:"trouble,omitempty"` // with rooms
	Warnings  []string `json:"warnings,omitempty"`

	SilentSince time.Time `json:"silent_since,omitzero"` // see status.Status
}

func (p *program) agentsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agents",
		Short: "List identities with their state, size, tokens and cost",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			infos, err := p.agents()
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(infos)
			}
			if len(infos) == 0 {
				fmt.Fprintln(p.out, "no identities yet; boot one with:", p.lethe(""))
				return nil
			}
			t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "NAME\tSELF\tSTATE\tMODEL\tROOMS\tTURNS\tLIFE\tTOKENS IN/CACHED/OUT\tUSD")
			for _, i := range infos {
				fmt.Fprintf(t, "%s\t%.16s\t%s\t%s\t%s\t%d\t%s\t%d/%d/%d\t%s\n", i.Name, i.Self, i.State, dash(i.Model), dash(strings.Join(i.Rooms, ",")), i.Turns, fmt.Sprintf("%d KiB", (i.LifeBytes+1023)>>10), i.Input, i.Cached, i.Output, llm.Dollars(i.Model, i.USD))
			}
			if err := t.Flush(); err != nil {
				return err
			}
			for _, i := range infos {
				if i.Error != "" {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, oneLine(i.Error))
				}
				if !i.SilentSince.IsZero() {
					fmt.Fprintf(p.out, "%s: nothing has come from the model for %s\n", i.Name, time.Since(i.SilentSince).Truncate(time.Second))
				}
				for _, t := range i.Trouble {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, oneLine(t))
				}
			}
			return nil
		},
	}
}

func (p *program) agents() ([]agentInfo, error) {
	infos := []agentInfo{}
	all, err := p.home.List()
	if err != nil || len(all) == 0 {
		return infos, err
	}
	store, err := p.store()
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		infos = append(infos, describe(id, store))
	}
	return infos, nil
}

// describe reads what is known of an identity; what cannot be read is said in it.
func describe(id agent.Identity, store *blobs.Store) agentInfo {
	info := agentInfo{Name: id.Name, Self: id.Self, State: status.Stopped, Rooms: []string{}}
	if fi, err := os.Stat(id.LIFE()); err == nil {
		info.LifeBytes = fi.Size()
	}
	if rooms, err := chat.Rooms(id.Subs()); err == nil && rooms != nil {
		info.Rooms = rooms
	}
	s, err := agent.Fold(id, store)
	if err != nil {
		info.State, info.Error = "damaged", err.Error()
		return info
	}
	info.Model, info.Endpoint = s.Stable.Params.Model, s.Stable.Params.Endpoint
	info.Turns, info.Entries = s.Turn, s.Next-1
	info.Input, info.Cached, info.Output, info.USD = s.Usage.Input, s.Usage.Cached, s.Usage.Output, s.Usage.USD
	if live, running := alive(id); running {
		info.State, info.PID, info.Error = cmp.Or(live.State, status.Starting), live.PID, live.Error
		info.SilentSince, info.Trouble, info.Warnings = live.SilentSince, live.Trouble, live.Warnings
		if live.State == status.Retrying {
			info.Error = fmt.Sprintf("tries again since %s: %s", live.Since.Format(time.RFC3339), live.Error)
		}
	}
	return info
}

func dash(s string) string { return cmp.Or(s, "-") }
