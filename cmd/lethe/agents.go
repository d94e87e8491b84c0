package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/llm"
	"lethe/tools"
)

// agentInfo is one line of lethe agents.
type agentInfo struct {
	Name      string    `json:"name"`
	Self      string    `json:"self"`
	State     string    `json:"state"`
	PID       int       `json:"pid,omitempty"`
	Model     string    `json:"model,omitempty"`
	Endpoint  string    `json:"endpoint,omitempty"`
	Rooms     []string  `json:"rooms"`
	Parent    string    `json:"parent,omitempty"` // of a child
	Work      *workInfo `json:"work,omitempty"`
	Turns     int       `json:"turns"`
	Entries   int       `json:"entries"`
	LifeBytes int64     `json:"life_bytes"`
	Input     int64     `json:"input_tokens"`
	Cached    int64     `json:"cached_tokens"`
	Output    int64     `json:"output_tokens"`
	USD       float64   `json:"cost_usd"`
	Error     string    `json:"error,omitempty"`
	status.Beside
	brief string
}

// workInfo is how far a child is.
type workInfo struct {
	Room   string `json:"room"`
	State  string `json:"state"` // working, waiting, done, failed, stopped
	Result string `json:"result,omitempty"`
}

func (p *program) agentsCommand() *cobra.Command {
	tree := false
	cmd := &cobra.Command{
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
			if tree {
				printTree(t, infos)
				return t.Flush()
			}
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
				if i.brief != "" {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, i.brief)
				}
				for _, j := range i.Jobs {
					fmt.Fprintf(p.out, "%s: job %d runs for %s: %s\n", i.Name, j.ID, tools.Span(time.Since(j.Began)), oneLine(j.Command))
				}
				for _, q := range i.Questions {
					fmt.Fprintf(p.out, "%s asks %s in %s: %s\n", i.Name, q.ID, q.Room, oneLine(q.Text))
				}
				for _, t := range i.Trouble {
					fmt.Fprintf(p.out, "%s: %s\n", i.Name, oneLine(t))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "show who works for whom, in which room, and how far")
	return cmd
}

// printTree shows each child below its parent. infos have them in that order.
func printTree(w io.Writer, infos []agentInfo) {
	fmt.Fprintln(w, "NAME\tSTATE\tROOM\tUSD\tRESULT")
	depth := map[string]int{}
	for _, i := range infos {
		room, state, result := strings.Join(i.Rooms, ","), i.State, ""
		if i.Work != nil {
			room, state, result = i.Work.Room, i.Work.State, i.Work.Result
			depth[i.Name] = depth[i.Parent] + 1
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\n", strings.Repeat("  ", depth[i.Name]), i.Name, state, dash(room), llm.Dollars(i.Model, i.USD), dash(result))
	}
}

// family puts children behind their parents.
func family(infos []agentInfo) []agentInfo {
	out := []agentInfo{}
	var add func(parent string)
	add = func(parent string) {
		for _, i := range infos {
			if i.Parent == parent {
				out = append(out, i)
				add(i.Name)
			}
		}
	}
	add("")
	for _, i := range infos { // whose parent is gone
		if !slices.ContainsFunc(out, func(o agentInfo) bool { return o.Self == i.Self }) {
			out = append(out, i)
		}
	}
	return out
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
	return family(infos), nil
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
	live, running := alive(id)
	info.Questions = live.Questions
	if t := s.Task; t != nil {
		info.Parent, info.Work = t.Parent, &workInfo{t.Room, cmp.Or(t.How, "new"), t.Gist}
		switch {
		case t.Open() && running && live.State == status.Idle:
			info.Work.State = "waiting"
		case t.Open() && running:
			info.Work.State = "working"
		case t.Open():
			info.Work.State = "unfinished"
		}
	}
	if running {
		info.State, info.PID, info.Error = cmp.Or(live.State, status.Starting), live.PID, live.Error
		info.Beside = live.Beside
		live.Questions, live.Jobs = nil, nil // each has a line of its own
		info.brief = oneLine(strings.Join(live.Brief(time.Now()), ", "))
		if live.State == status.Retrying {
			info.Error = fmt.Sprintf("tries again since %s: %s", live.Since.Format(time.RFC3339), live.Error)
		}
	}
	return info
}

func dash(s string) string { return cmp.Or(s, "-") }
