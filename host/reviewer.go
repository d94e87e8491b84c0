package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"lethe/agent"
	"lethe/tools"
)

// review completes what an identity runs with: as the reviewer, or as the one reviewed.
func (h *Host) review(id agent.Identity, c *agent.Config) error {
	r := h.settings.Reviewer
	switch {
	case r.For == "":
	case id.Name == r.For:
		c.Reviewer = r.Called()
	case r.Is(id):
		of, err := h.home.Find(r.For)
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
		if r.Model != "" && !h.Offline {
			c.Params.Model = r.Model
		}
	}
	return nil
}

// besideReviewer runs f for identities, and the reviewer of one of them as long as f lasts.
func (h *Host) besideReviewer(ctx context.Context, ids []agent.Identity, f func(context.Context) error) error {
	r := h.settings.Reviewer
	named := func(name string) bool {
		return slices.ContainsFunc(ids, func(id agent.Identity) bool { return id.Name == name })
	}
	if r.For == "" || !named(r.For) || named(r.Called()) {
		return f(ctx)
	}
	soul := strings.ReplaceAll(agent.ReviewSoul, "{{name}}", r.For)
	id, err := agent.Boot(h.home, h.store, agent.BootOptions{Name: r.Called(), Soul: soul})
	if err != nil && !errors.Is(err, agent.ErrExists) {
		return err
	}
	if err := h.home.Subscribe(id, agent.ReviewRoom(r.For)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { // ends with f
		if err := agent.Supervise(ctx, []agent.Identity{id}, h.OpenAgent, h.log); err != nil && ctx.Err() == nil {
			h.log.Error("the reviewer does not run", "identity", id.Name, "error", err)
		}
	})
	err = f(ctx)
	cancel()
	beside.Wait()
	return err
}
