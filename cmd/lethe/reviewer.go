package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"lethe/agent"
	"lethe/chat"
	"lethe/tools"
)

// defaultReviewer is the name of the reviewer that is configured without one.
const defaultReviewer = "reviewer"

// reviewerSettings are the table of config.toml.
type reviewerSettings struct {
	For   string `toml:"for"` // the name of the identity that is reviewed
	Name  string `toml:"name"`
	Model string `toml:"model"`
}

func (s reviewerSettings) name() string { return cmp.Or(s.Name, defaultReviewer) }

func (s reviewerSettings) check() error {
	for key, name := range map[string]string{"for": s.For, "name": s.Name} {
		if name != "" && !agent.ValidName(name) {
			return fmt.Errorf("reviewer.%s = %q is not a name", key, name)
		}
	}
	if s.For == s.name() {
		return fmt.Errorf("reviewer.for = %q is the reviewer itself; give it another name", s.For)
	}
	return nil
}

// isReviewer reports whether an identity is the configured reviewer.
func (p *program) isReviewer(id agent.Identity) bool {
	r := p.settings.Reviewer
	return r.For != "" && id.Name == r.name()
}

// review completes what an identity runs with: as the reviewer, or as the one reviewed.
func (h *host) review(id agent.Identity, c *agent.Config) error {
	r := h.p.settings.Reviewer
	switch {
	case r.For == "":
	case id.Name == r.For:
		c.Reviewer = r.name()
	case h.p.isReviewer(id):
		of, err := h.p.home.Find(r.For)
		if errors.Is(err, agent.ErrNotFound) {
			return nil // it may be booted later
		}
		if err != nil {
			return err
		}
		// It looks at a life, not at a workspace: no check holds for what it says.
		c.Reviews, c.Gate = of, agent.Gate{}
		c.Tools = tools.Config{Bash: tools.BashOff, Secrets: c.Tools.Secrets, Ask: c.Tools.Ask,
			Only: []string{"SAY", "READ_FILE", "WRITE_FILE", "EDIT_FILE", "UNCOMPACT", "RECALL", "COMPACT"}}
		if r.Model != "" && !h.offline {
			c.Params.Model = r.Model
		}
	}
	return nil
}

// besideReviewer runs f for identities, and the reviewer of one of them as long as f lasts.
func (h *host) besideReviewer(ctx context.Context, ids []agent.Identity, f func(context.Context) error) error {
	r := h.p.settings.Reviewer
	named := func(name string) bool {
		return slices.ContainsFunc(ids, func(id agent.Identity) bool { return id.Name == name })
	}
	if r.For == "" || !named(r.For) || named(r.name()) {
		return f(ctx)
	}
	soul := strings.ReplaceAll(agent.ReviewSoul, "{{name}}", r.For)
	id, err := agent.Boot(h.p.home, h.store, agent.BootOptions{Name: r.name(), Soul: soul})
	if err != nil && !errors.Is(err, agent.ErrExists) {
		return err
	}
	if err := chat.Subscribe(id.Subs(), h.p.home.Chats(), agent.ReviewRoom(r.For)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { // ends with f
		if err := agent.Supervise(ctx, []agent.Identity{id}, h.open, h.log); err != nil && ctx.Err() == nil {
			h.log.Error("the reviewer does not run", "identity", id.Name, "error", err)
		}
	})
	err = f(ctx)
	cancel()
	beside.Wait()
	return err
}
