package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/bridge/stdin"
	"lethe/chat"
	"lethe/llm"
	"lethe/mind"
	"lethe/report"
)

func (p *program) contextCommand() *cobra.Command {
	var compact bool
	cmd := p.about(&cobra.Command{
		Use:   "context [NAME]",
		Short: "Print the context of an identity and its budget, or compact it",
	}, func(ctx context.Context, id agent.Identity) error {
		if compact {
			return p.compact(ctx, id)
		}
		return p.printContext(id)
	})
	cmd.Flags().BoolVar(&compact, "compact", false, "compact it now and print the effect")
	return cmd
}

func (p *program) printContext(id agent.Identity) error {
	s, b, err := p.budget(id)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(struct {
			agent.Parts
			Messages []llm.Message `json:"messages"`
		}{b, agent.Wire(s.Messages(""))})
	}
	if _, err := io.WriteString(p.err, partsTable(id.Name, b)); err != nil {
		return err
	}
	_, err = io.WriteString(p.out, chat.Sanitize(string(s.View())))
	return err
}

// partsTable shows what each part of the next request costs, and what is free.
func partsTable(name string, b agent.Parts) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s: about %d of %d tokens, epoch %d\n", name, b.Total, b.Limit, b.Epoch)
	for _, part := range []struct {
		name   string
		tokens int
		what   string
	}{
		{"system", b.System, ""},
		{"tools", b.Tools, ""},
		{"past", b.Past, "what has faded, pins and MEMORY"},
		{"entries", b.Live, fmt.Sprintf("live: %d", b.Entries)},
		{"answer", b.Answer, "kept free for it"},
		{"free", max(b.Limit-b.Total, 0), ""},
	} {
		fmt.Fprintln(&t, strings.TrimRight(fmt.Sprintf("  %-7s %7d  %s %s", part.name, part.tokens, stdin.Bar(part.tokens, b.Limit, 30), part.what), " "))
	}
	return t.String()
}

// compactTime bounds the wait for a running identity to compact.
const compactTime = 10 * time.Minute

// compact has an identity forget now: the running one by asking it, another one
// by opening it for that long.
func (p *program) compact(ctx context.Context, id agent.Identity) error {
	_, before, err := p.budget(id)
	if err != nil {
		return err
	}
	if _, running := agent.Running(id); running {
		err = p.compactRunning(ctx, id, before.Epoch)
	} else {
		err = p.compactStopped(ctx, id)
	}
	if err != nil {
		return err
	}
	_, after, err := p.budget(id)
	if err != nil {
		return err
	}
	both := map[string]agent.Parts{"before": before, "after": after}
	if after.Epoch == before.Epoch {
		return p.print(both, "%s: nothing to compact; about %d of %d tokens\n", id.Name, after.Total, after.Limit)
	}
	return p.print(both, "%s: from about %d tokens to %d of %d; live entries: %d, before %d\n", id.Name, before.Total, after.Total, after.Limit, after.Entries, before.Entries)
}

// budget is the state of an identity, and its budget as the daemon counts it.
func (p *program) budget(id agent.Identity) (*mind.State, agent.Parts, error) {
	h, err := p.reports()
	if err != nil {
		return nil, agent.Parts{}, err
	}
	return h.Context(id)
}

// compactRunning asks, and waits for the epoch that says that it is done.
func (p *program) compactRunning(ctx context.Context, id agent.Identity, epoch int) error {
	if err := agent.AskToCompact(id); err != nil {
		return err
	}
	p.note("note", "asked %s to compact; waiting", id.Name)
	for deadline := time.Now().Add(compactTime); ctx.Err() == nil && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		_, b, err := p.budget(id)
		if err != nil || b.Epoch > epoch {
			return err
		}
		s, running := report.Live(id)
		if !running {
			return fmt.Errorf("compact %s: it stopped meanwhile", id.Name)
		}
		if !s.Compacting && !agent.CompactPending(id) { // there was nothing to do
			return nil
		}
	}
	return cmp.Or(ctx.Err(), fmt.Errorf("compact %s: no answer within %s; it goes on in the background", id.Name, compactTime))
}

// compactStopped opens the identity as run would, without letting it hear.
func (p *program) compactStopped(ctx context.Context, id agent.Identity) error {
	o := p.hostOptions(p.logTo(p.err))
	o.Rehearse = !p.livedOnline(id)
	h, err := p.newHost(o)
	if err != nil {
		return err
	}
	return h.Serving(ctx, func(ctx context.Context) error {
		a, err := h.OpenAgent(id)
		if err != nil {
			return err
		}
		defer a.Close()
		return a.Compact(ctx)
	})
}
