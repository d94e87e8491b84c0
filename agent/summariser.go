package agent

import (
	"context"
	"fmt"
	"sync"

	"lethe/compactor"
	"lethe/internal/secret"
	"lethe/llm"
)

// summariser asks the identity's model for what compaction needs.
type summariser struct {
	model    Model
	frozen   llm.Request   // the life's own, of the moment when the job began
	estimate llm.Estimator // of the same moment
	other    string        // another model, for requests that stand alone
	writable func() error  // an error when an answer could not be written down
	cancel   func()        // ends the job

	mu   sync.Mutex
	bill bill
}

func (a *Agent) summariser(cancel func()) *summariser {
	return &summariser{
		model: a.cfg.Model, frozen: a.request(), estimate: a.estimate, other: a.cfg.Forgetting.Model,
		writable: a.writable, cancel: cancel,
	}
}

// Ask is compactor.Model. A fork goes out with the tools and parameters of the
// life, byte for byte, so that nearly all of it comes from the provider's cache.
func (s *summariser) Ask(ctx context.Context, ask compactor.Ask) (string, error) {
	if err := s.writable(); err != nil {
		s.cancel()
		return "", err
	}
	r := s.frozen
	if !ask.Fork {
		r.Tools = nil
		if s.other != "" {
			r.Model = s.other
		}
	}
	r.Messages = wire(ask.Messages)
	r.Messages[len(r.Messages)-1].Join = llm.JoinNone // the task is no part of what somebody said
	reply, err := s.model.Complete(ctx, r, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bill.calls++
	s.bill.waste(r, reply.Waste, s.estimate)
	s.bill.add(r.Model, reply.Usage)
	if err != nil {
		if llm.KindOf(err) == llm.Garbage {
			return "", fmt.Errorf("%w: %w", compactor.ErrGarbage, err)
		}
		return "", err
	}
	if len(reply.Calls) > 0 || reply.Finish == "length" {
		return "", fmt.Errorf("%w: it ended with %s", compactor.ErrGarbage, reply.Finish)
	}
	return secret.Text(reply.Text), nil
}

// asked reports whether any call was made.
func (s *summariser) asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bill.calls > 0
}

// spent is what the job has cost, for the log.
func (s *summariser) spent() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bill.spent("compaction")
}
