package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"lethe/agent"
	"lethe/agent/children"
	"lethe/agent/home"
	"lethe/agent/hook"
	"lethe/agent/tools"
	"lethe/agent/wake"
)

// review completes what an identity runs with: as the reviewer, or as the one reviewed.
func (h *Host) review(id home.Identity, c *agent.Config) error {
	reviewer := h.settings.Reviewer
	switch {
	case reviewer.For == "":
	case id.Name == reviewer.For:
		c.Reviewer = reviewer.Called()
	case reviewer.Is(id):
		of, err := h.home.Find(reviewer.For)
		if errors.Is(err, home.ErrNotFound) {
			return nil // it may be booted later
		}
		if err != nil {
			return err
		}
		// It looks at a life, not at a workspace: no check holds for its answers.
		c.Reviews, c.Gate = of, hook.Gate{}
		c.Tools = tools.Config{Bash: tools.BashOff, Secrets: c.Tools.Secrets, Ask: c.Tools.Ask,
			Only: []string{"SAY", "READ_FILE", "WRITE_FILE", "EDIT_FILE", "UNCOMPACT", "RECALL", "COMPACT"}}
		if reviewer.Model != "" && !h.Offline {
			c.Params.Model = h.known.Settle(reviewer.Model, "", h.preset)
		}
	}
	return nil
}

// supervise runs identities, which hear rooms, and one identity's reviewer for as long.
func (h *Host) supervise(ctx context.Context, ids []home.Identity, rooms []string) error {
	reviewer := h.settings.Reviewer
	named := func(name string) bool {
		return slices.ContainsFunc(ids, func(id home.Identity) bool { return id.Name == name })
	}
	isReviewed := reviewer.For != "" && named(reviewer.For)
	if !isReviewed || named(reviewer.Called()) {
		return children.Supervise(ctx, ids, h.opener(ids, rooms), h.log)
	}
	soul := strings.ReplaceAll(wake.ReviewSoul, "{{name}}", reviewer.For)
	id, err := home.Boot(h.home, h.store, home.BootOptions{Name: reviewer.Called(), Soul: soul})
	if err != nil && !errors.Is(err, home.ErrExists) {
		return err
	}
	if err := h.home.Subscribe(id, home.ReviewRoom(reviewer.For)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { // ends with them
		if err := children.Supervise(ctx, []home.Identity{id}, h.OpenAgent, h.log); err != nil && ctx.Err() == nil {
			h.log.Error("the reviewer does not run", "identity", id.Name, "error", err)
		}
	})
	err = children.Supervise(ctx, ids, h.opener(ids, rooms), h.log)
	cancel()
	beside.Wait()
	return err
}
