package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/status"
	"lethe/life"
)

func (p *program) say(room, as string, words []string) error {
	if as != chat.CleanName(as) {
		return usagef("%q cannot sign a line: no spaces, ] or control characters", as)
	}
	line, err := chat.Format(false, as, time.Now(), secret.Text(strings.Join(words, " ")))
	if err != nil {
		return usageError{err}
	}
	if _, _, err = chat.Append(chat.Path(p.home.Dir, room), line); err != nil {
		return err
	}
	if !p.subscribed(room) {
		fmt.Fprintf(p.err, "note: no identity hears room %s; what is said there waits\n", room)
	}
	return nil
}

// subscribed reports whether an identity hears a room when it runs.
func (p *program) subscribed(room string) bool {
	all, _ := p.home.List()
	return slices.ContainsFunc(all, func(id agent.Identity) bool {
		rooms, _ := chat.Rooms(id.Subs())
		return slices.Contains(rooms, room)
	})
}

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
		Short: "List identities: state, size, tokens and cost so far",
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
				fmt.Fprintln(p.out, "no identities yet; boot one with: lethe")
				return nil
			}
			t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "NAME\tSELF\tSTATE\tMODEL\tROOMS\tTURNS\tLIFE\tTOKENS IN/CACHED/OUT\tUSD")
			for _, i := range infos {
				fmt.Fprintf(t, "%s\t%.16s\t%s\t%s\t%s\t%d\t%s\t%d/%d/%d\t%.4f\n", i.Name, i.Self, i.State, dash(i.Model), dash(strings.Join(i.Rooms, ",")), i.Turns, size(i.LifeBytes), i.Input, i.Cached, i.Output, i.USD)
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
		info.State, info.PID, info.Error = or(live.State, status.Starting), live.PID, live.Error
		info.SilentSince, info.Trouble, info.Warnings = live.SilentSince, live.Trouble, live.Warnings
		if live.State == status.Retrying {
			info.Error = fmt.Sprintf("tries again since %s: %s", live.Since.Format(time.RFC3339), live.Error)
		}
	}
	return info
}

func dash(s string) string { return or(s, "-") }

func size(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func (p *program) lifeCommand() *cobra.Command {
	var follow bool
	var last int
	cmd := &cobra.Command{
		Use:   "life [NAME]",
		Short: "Print LIFE, the log of everything that happened to an identity",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if last < 0 {
				return usagef("--lines is %d; 0 prints all", last)
			}
			id, err := p.find(first(list))
			if err != nil {
				return err
			}
			return p.printLife(cmd.Context(), id, last, follow)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing as it happens")
	cmd.Flags().IntVarP(&last, "lines", "n", 0, "only the last `N` lines (0: all)")
	return cmd
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// printLife prints the lines of a log, checked, and follows it when asked.
func (p *program) printLife(ctx context.Context, id agent.Identity, last int, follow bool) error {
	f, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return id.Unread(err)
	}
	defer f.Close()
	if last > 0 {
		if err := p.seekLast(f, id, last); err != nil {
			return err
		}
	}
	r := bufio.NewReader(f)
	watcher := chat.NewWatcher(500*time.Millisecond, nil)
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: id.Dir, Names: []string{"LIFE.md"}})
	defer cancel()
	if follow {
		go func() { _ = watcher.Run(ctx) }() // ends with the process
	}
	var partial string
	for {
		line, err := life.ReadLine(r)
		partial += line
		if errors.Is(err, life.ErrLongLine) {
			return fmt.Errorf("%w: read %s: %w", agent.ErrCorrupt, f.Name(), err)
		}
		if err == nil {
			if err := p.printEvent(partial); err != nil {
				return err
			}
			partial = ""
			continue
		}
		if !errors.Is(err, io.EOF) || !follow {
			return ignoreEOF(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// seekLast moves to the last n lines of a log.
func (p *program) seekLast(f *os.File, id agent.Identity, n int) error {
	log, err := life.View(id.LIFE())
	if err != nil {
		return err
	}
	defer log.Close()
	lines, err := log.Lines(n)
	if err != nil {
		return err
	}
	length := int64(0)
	for _, l := range lines {
		length += int64(len(l)) + 1
	}
	end, err := log.Size()
	if err != nil {
		return err
	}
	_, err = f.Seek(end-length, io.SeekStart)
	return err
}

func (p *program) printEvent(line string) error {
	line = strings.TrimSuffix(line, "\n")
	if !p.json {
		_, err := fmt.Fprintln(p.out, chat.Sanitize(line))
		return err
	}
	e, err := life.ParseLine(line)
	if err != nil {
		return err
	}
	return json.NewEncoder(p.out).Encode(eventOf(e))
}

func (p *program) contextCommand() *cobra.Command {
	var compact bool
	cmd := &cobra.Command{
		Use:   "context [NAME]",
		Short: "Print the live context of an identity, and its budget",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, err := p.find(first(list))
			if err != nil {
				return err
			}
			if compact {
				return p.compact(cmd.Context(), id)
			}
			return p.printContext(id)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().BoolVar(&compact, "compact", false, "compact it now, and say what that brought")
	return cmd
}

func (p *program) printContext(id agent.Identity) error {
	store, err := p.store()
	if err != nil {
		return err
	}
	s, err := agent.Fold(id, store)
	if err != nil {
		return err
	}
	limit := p.settings.Context.Limit
	if live, running := alive(id); running && live.ContextLimit > 0 {
		limit = live.ContextLimit
	}
	b := agent.BudgetOf(s, limit)
	if p.json {
		return p.printJSON(struct {
			agent.Budget
			Messages []messageJSON `json:"messages"`
		}{b, messagesOf(s.Messages(""))})
	}
	if _, err := io.WriteString(p.out, chat.Sanitize(string(s.View()))); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "%s: about %d of %d tokens: system %d, past %d, entries %d (%d of them), tools %d, answer %d; epoch %d\n",
		id.Name, b.Total, b.Limit, b.System, b.Past, b.Live, b.Entries, b.Tools, b.Answer, b.Epoch)
	return nil
}

func (p *program) catCommand() *cobra.Command {
	var meta bool
	cmd := &cobra.Command{
		Use:   "cat REF",
		Short: "Print a blob's body, checked against its hash",
		Example: `  lethe cat 3fa9c0d2e1b4a5f6
  lethe cat --meta 3fa9c0d2e1b4a5f6`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			store, err := p.store()
			if err != nil {
				return err
			}
			ref, err := hashIn(list[0])
			if err != nil {
				return err
			}
			h, err := store.Resolve(ref)
			if err != nil {
				return err
			}
			b, err := store.Get(h)
			if err != nil {
				return err
			}
			return p.printBlob(b, meta)
		},
	}
	cmd.Flags().BoolVar(&meta, "meta", false, "print its frontmatter instead")
	return cmd
}

// hashIn takes the hash out of what a person gave: hash=3fa9…, a whole ref, or
// the bare digits.
func hashIn(arg string) (string, error) {
	ref := strings.ToLower(strings.TrimPrefix(arg, "hash="))
	if refs := blobs.ParseRefs(arg); len(refs) == 1 {
		ref = refs[0].Hash
	}
	if len(ref) < blobs.MinPrefix || len(ref) > 64 || strings.Trim(ref, "0123456789abcdef") != "" {
		return "", hint(usagef("%q is not the hash of a blob", arg), "lethe life shows them, as hash=…; %d digits are the least", blobs.MinPrefix)
	}
	return ref, nil
}

func (p *program) printBlob(b blobs.Blob, meta bool) error {
	if p.json {
		return p.printJSON(map[string]any{
			"hash": b.Hash, "at": b.At, "gist": b.Gist, "life": b.Life, "parent": b.Parent, "bytes": len(b.Body), "body": string(b.Body),
		})
	}
	if meta {
		_, err := fmt.Fprintf(p.out, "hash: %s\n%s", b.Hash, chat.Sanitize(string(blobs.Encode(b.Meta, nil))))
		return err
	}
	body := b.Body
	if isTerminal(p.out) { // a pipe gets the bytes as they are
		body = []byte(chat.Sanitize(string(body)))
	}
	_, err := p.out.Write(body)
	return err
}
