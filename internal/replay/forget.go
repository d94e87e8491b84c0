package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"lethe"
	"lethe/blobs"
	"lethe/compactor"
	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// A forgetter makes room in the context.
type forgetter interface {
	// plan decides what is to fade. It is false when that is not worth it.
	plan() (job, bool)
	// squeeze brings the request under the limit at once and without a model, as
	// far as that can be done.
	squeeze() error
}

// A job is a compaction that was decided on: it is asked about now, and put into
// force some requests later, or at once and without a model.
type job interface {
	ask(ctx context.Context)
	swap(mechanical bool) (why string, err error)
}

func (r *run) forgetter() forgetter {
	switch r.opts.Compactor {
	case Halve, Rewrite, Classic:
		return &naive{r}
	}
	return &fading{run: r}
}

// makeRoom does what an agent does before a request: put answers that have
// arrived into force, begin a compaction when the request has grown to within a
// tenth of the limit, and compact at once when it would exceed the limit.
func (r *run) makeRoom() (started bool, err error) {
	if r.pending != nil && r.report.Main.Requests >= r.due {
		if err := r.swap(r.pending, false); err != nil {
			return false, err
		}
		r.pending = nil
	}
	size, limit := r.next(), r.opts.Limit
	switch {
	case size > limit:
		if r.pending != nil {
			r.pending = nil
			r.report.Discarded++
		}
		err = r.forget.squeeze()
		if r.next() > limit {
			r.report.Delayed++ // everything has faded that can: an agent would pause
		}
	case r.pending == nil && size > limit-limit/10 && size > r.after+limit/50:
		job, ok := r.forget.plan()
		if !ok {
			r.after = size
			return false, nil
		}
		if r.opts.Compactor == Mechanical {
			return false, r.swap(job, true)
		}
		r.pending = job
		return true, nil
	}
	return false, err
}

// next is the size of the next request with its answer, in estimated tokens.
func (r *run) next() int {
	r.trunk.follow(r.id.state.Messages(""))
	weight := r.trunk.weight
	for _, m := range r.last() {
		weight += weigh(m)
	}
	return r.size(weight)
}

// swap puts a job into force: an epoch.
func (r *run) swap(j job, mechanical bool) error {
	why, err := j.swap(mechanical)
	if err == nil && why != "" {
		r.report.Compactions++
		if mechanical {
			r.report.Mechanical++
		}
		err = r.renew(why)
	}
	r.after = r.next()
	return err
}

// fading is package compactor at work, with the settings that package agent
// gives it.
type fading struct {
	*run
	known []compactor.Fade // chunks that an earlier swap left live
}

// measure is one way to make room; they are those of package agent.
type measure struct {
	target float64 // share of what is eligible that is left
	share  float64 // of the live entries that is eligible
	past   float64 // share of its budgets that the past keeps
	goal   int     // tokens that are few enough
}

// usual is what a compaction does that nothing presses.
func (c *fading) usual() measure {
	return measure{c.opts.Target, compactor.Older, 1, c.opts.Limit - c.opts.Limit/10}
}

// squeeze takes measures from the gentlest to the hardest.
func (c *fading) squeeze() error {
	limit := c.opts.Limit
	const older = compactor.Older
	for _, m := range []measure{c.usual(), {0, older, 1, limit - limit/10}, {0, older, 0.5, limit}, {0, older, 0.25, limit}, {0, 1, 0.25, limit}, {0, 1, 0, limit}} {
		for size, before := c.next(), math.MaxInt; size > m.goal && size < before; size = c.next() {
			before = size
			j, ok := c.planned(m)
			if !ok {
				break
			}
			if err := c.run.swap(j, true); err != nil {
				return err
			}
		}
		if c.next() <= limit {
			return nil
		}
	}
	return nil
}

func (c *fading) settings(m measure) compactor.Settings {
	s := compactor.Default(c.opts.Limit)
	s.Target, s.Order, s.Parallel, s.Alone = m.target, c.opts.By, c.opts.Parallel, c.opts.Alone
	s.MinChunk = cmp.Or(c.opts.MinChunk, s.MinChunk)
	all := s.Summaries + s.Gists + s.Cards + s.Pins
	share := m.past * min(1, float64(c.space())/3/(all*float64(s.Limit)))
	s.Summaries, s.Gists, s.Cards, s.Pins = s.Summaries*share, s.Gists*share, s.Cards*share, s.Pins*share
	return s
}

func (c *fading) plan() (job, bool) { return c.planned(c.usual()) }

func (c *fading) planned(m measure) (job, bool) {
	set := c.settings(m)
	j, ok := compactor.Plan(c.id.state, compactor.Input{
		Settings: set, Meter: c.meter(), Tail: c.tail(), Share: m.share,
		Segment: lethe.Segment, Summarise: lethe.Summarise, Known: c.known,
	})
	return &fadingJob{fading: c, job: j, set: set}, ok
}

// meter estimates as it stands now; a job may use it from several goroutines.
func (r *run) meter() compactor.Meter {
	e := r.estimate
	return func(text string) int { return e.Tokens(llm.Weight(text)) }
}

type fadingJob struct {
	*fading
	job   compactor.Job
	set   compactor.Settings
	fades []compactor.Fade
}

// ask puts the job's questions at once, since nobody waits here, and accounts
// for them in the order in which they would be put one by one.
func (j *fadingJob) ask(ctx context.Context) {
	model := &offline{ratio: j.opts.SummaryRatio}
	j.fades = j.job.Run(ctx, model)
	slices.SortStableFunc(model.calls, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.phase(), b.phase()), cmp.Compare(a.from, b.from))
	})
	for _, c := range model.calls {
		j.charge(c.Messages, c.answer)
	}
}

// charge accounts for a request of the compactor, which goes on from the frozen
// request where it begins with it.
func (r *run) charge(messages []mind.Message, answer rehearsal.Answer) {
	n := len(r.trunk.messages)
	if n > len(messages) || !slices.EqualFunc(r.trunk.messages, messages[:n], sameMessage) {
		p := rehearsal.NewPrompt(r.trunk.params, r.trunk.tools)
		for _, m := range messages {
			p.Add(wire(m))
		}
		r.ledger.count(&r.report.Compaction, p, answer)
		return
	}
	p, _ := r.trunk.with(messages[n:]...)
	r.ledger.count(&r.report.Compaction, p, answer)
}

func (j *fadingJob) swap(mechanical bool) (string, error) {
	fades, why := j.fades, "compaction"
	if mechanical {
		fades, why = j.job.Mechanical(), "mechanical"
	}
	d := j.id
	out, err := compactor.Swap(d.state, fades, j.set, j.meter(),
		func(gist string, body []byte) (mind.Ref, error) { return d.put(gist, body), nil }, d.store.read)
	if err != nil {
		return "", fmt.Errorf("compact: %w", err)
	}
	j.known = out.Kept
	if len(out.Lines) == 0 {
		return "", nil
	}
	out.Next.LastBlob = d.state.LastBlob
	d.state = out.Next
	for _, l := range out.Lines {
		d.fade(l.From, l.To, l.Level, l.Relevance, l.Original, l.Replacement)
	}
	return why, nil
}

// fade writes the line of a fade, which takes effect with the epoch that
// follows.
func (d *identity) fade(from, to int, level string, relevance int, refs ...mind.Ref) {
	e := d.event("fade", []string{mind.EntryID(from) + ".." + mind.EntryID(to)}, "to", level, "rel", strconv.Itoa(relevance))
	for _, r := range refs {
		if !r.Hash.IsZero() {
			e.Refs = append(e.Refs, blobs.Ref{Hash: r.Short, Gist: r.Gist})
		}
	}
	d.log(e)
}

// offline answers the compactor's tasks in process.
type offline struct {
	ratio float64

	mu    sync.Mutex
	calls []asked
}

// asked is a request of the compactor with its answer.
type asked struct {
	compactor.Ask
	from   int // the first entry it is about
	answer rehearsal.Answer
}

// phase is 1 for SEGMENT and 2 for SUMMARISE.
func (a asked) phase() int {
	if a.Task == compactor.Segment {
		return 1
	}
	return 2
}

// Ask answers a task as the offline model does.
func (m *offline) Ask(ctx context.Context, a compactor.Ask) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	answer, ok := rehearsal.Task(wires(a.Messages), m.ratio)
	if !ok {
		return "", fmt.Errorf("%w: the request asks for no task", compactor.ErrGarbage)
	}
	from := 0
	_, _ = fmt.Sscanf(a.Messages[len(a.Messages)-1].Content, "<task name=%q from=\"e%d", new(string), &from)
	m.mu.Lock()
	m.calls = append(m.calls, asked{a, from, answer})
	m.mu.Unlock()
	return answer.Text, nil
}

func wires(messages []mind.Message) []rehearsal.Message {
	out := make([]rehearsal.Message, len(messages))
	for i, m := range messages {
		out[i] = wire(m)
	}
	return out
}
