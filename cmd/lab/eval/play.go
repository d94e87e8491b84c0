package eval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/status"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/mind"
)

const (
	room = "talk"
	// filler is who speaks when the conversation is over, to no purpose.
	filler = "filler"
)

// Size decides how large originals are: by the limit of the context, and by how many characters
// of lines are heard at once, as by somebody who looks into the room now and then.
type Size struct{ limit, portion int }

var (
	// Small has a small limit, so that a conversation fades while it is heard. The portion is just
	// more than the smallest chunk that the compactor makes, which so has about 700 tokens.
	Small = Size{16_000, 2000}
	// Large makes originals of about 3800 tokens, as the default limit does.
	Large = Size{100_000, 12_500}
)

// listener is the model of an identity that only listens. It answers nothing,
// and does what a compaction asks for: it cuts as finely as the compactor allows. Its
// summaries say nothing, so that only what people said is found.
type listener struct{}

var segmentTask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^<task name="segment" from="e(\d+)" to="e(\d+)">`)
})

func (listener) Complete(ctx context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return llm.Reply{}, &llm.Error{Kind: llm.Canceled, Err: err}
	}
	reply := llm.Reply{Finish: "stop", Model: r.Model}
	last := r.Messages[len(r.Messages)-1].Content.String()
	if m := segmentTask().FindStringSubmatch(last); m != nil {
		from, _ := strconv.Atoi(m[1]) // digits, by the pattern
		to, _ := strconv.Atoi(m[2])
		reply.Text = cutEverywhere(from, to)
		return reply, nil
	}
	if strings.Contains(last, "<task name=") {
		reply.Text = `{"summary":"…","gist":"…","relevance":4}`
	}
	return reply, nil
}

// cutEverywhere answers SEGMENT with a chunk for each entry; the compactor joins
// those that are too small.
func cutEverywhere(from, to int) string {
	chunks := make([]string, 0, max(0, to-from+1))
	for n := from; n <= to; n++ {
		chunks = append(chunks, fmt.Sprintf(`{"from":"e%d","to":"e%d","topic":"talk"}`, n, n))
	}
	return `{"chunks":[` + strings.Join(chunks, ",") + `]}`
}

// stage is a home in which one conversation is played.
type stage struct {
	store   *blobs.Store
	id      home.Identity
	config  agent.Config
	watcher *chat.Watcher
	room    string            // path of the room's file
	forks   int               // that were asked
	files   map[string]string // of each fork's workspace
}

// newStage boots an identity that hears one room, or finds it.
func newStage(dir string, limit int) (*stage, error) {
	h, err := home.Open(filepath.Join(dir, "home"))
	if err != nil {
		return nil, err
	}
	store, err := blobs.Open(h.Blobs())
	if err != nil {
		return nil, err
	}
	id, err := h.Find("listener")
	if err != nil {
		id, err = home.Boot(h, store, home.BootOptions{Name: "listener", Rooms: []string{room}})
	}
	if err != nil {
		return nil, err
	}
	return stageOf(h, store, id, limit), nil
}

func stageOf(h home.Home, store *blobs.Store, id home.Identity, limit int) *stage {
	s := &stage{store: store, id: id, watcher: chat.NewWatcher(50*time.Millisecond, nil), room: chat.Path(h.Dir, room)}
	s.config = agent.Config{
		Home: h, Store: store, Watcher: s.watcher, Log: slog.New(slog.DiscardHandler),
		Thinking: agent.Thinking{
			Model: listener{}, Offline: true, DefaultModel: "rehearsal",
			Params: mind.Params{Endpoint: "offline", MaxTokens: 1024},
			Recall: agent.Recall{NoHints: true}, // they would be part of what fades
		},
		Limits:  agent.Limits{ContextLimit: limit},
		Calling: agent.Calling{Tools: tools.Config{Bash: tools.BashOff}},
	}
	return s
}

// live runs the identity while it hears lines, some at once.
func (s *stage) live(ctx context.Context, portions ...[]Line) error {
	if err := os.Remove(filepath.Join(s.id.Dir, "status.json")); err != nil && !os.IsNotExist(err) { // of a run that was killed
		return err
	}
	a, err := agent.Open(s.id, s.config)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	group, inner := errgroup.WithContext(inner)
	group.Go(func() error { return canceled(s.watcher.Run(inner)) })
	group.Go(func() error { defer cancel(); return a.Run(inner) })
	group.Go(func() error {
		defer cancel()
		if err := s.rest(inner); err != nil { // it joins the room before the first line
			return canceled(err)
		}
		for _, lines := range portions {
			if err := s.hear(inner, lines); err != nil {
				return canceled(err)
			}
		}
		return nil
	})
	return group.Wait()
}

// canceled passes over an error that only says that the end was asked for.
func canceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// patience is how long an agent may take for one step; then something is wrong.
const patience = 2 * time.Minute

// hear appends lines to the room and waits until the identity has taken them in
// and forgotten what they made it forget.
func (s *stage) hear(ctx context.Context, lines []Line) error {
	var text []byte
	for _, l := range lines {
		raw, err := format(l)
		if err != nil {
			return err
		}
		text = append(text, raw...)
	}
	if _, _, err := durable.Append(s.room, text, 0o600); err != nil { // at once, so that one look takes in all of it
		return err
	}
	return s.rest(ctx)
}

// rest waits until nothing is owed and no compaction is under way.
func (s *stage) rest(ctx context.Context) error {
	end, err := chat.End(s.room)
	if err != nil {
		return err
	}
	heard := strings.TrimSuffix(filepath.Base(s.room), ".md")
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		now, err := status.Read(s.id.Dir)
		switch {
		case err != nil: // not written yet
		case now.State == status.Paused:
			return fmt.Errorf("the identity paused: %s", now.Error)
		case now.State == status.Idle && len(now.Answering) == 0 && now.Heard[heard] >= end.Size() && !now.Compacting:
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the identity did not come to rest in %v", patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// play lets a conversation be heard and fade.
func play(ctx context.Context, dir string, talk Conversation, size Size) (*stage, error) {
	s, err := newStage(dir, size.limit)
	if err == nil {
		err = s.live(ctx, portions(talk, size.portion)...)
	}
	if err == nil {
		err = s.outlive(ctx, end(talk))
	}
	return s, err
}

// outlive has the identity hear lines about nothing, and forget, until all of the
// conversation has faded.
func (s *stage) outlive(ctx context.Context, end time.Time) error {
	everything := 0.0
	talk := func(e *mind.Entry) bool {
		return e.Kind == mind.Inbound && !strings.HasPrefix(e.Text, "[USER:"+filler+" ")
	}
	s.config.Forgetting.Target = &everything
	for range 20 {
		state, err := home.Fold(s.id, s.store)
		if err != nil || !slices.ContainsFunc(state.Live, talk) {
			return err
		}
		lines := make([]Line, 30)
		for i := range lines {
			lines[i] = Line{Speaker: filler, At: end.Add(time.Hour), Text: fmt.Sprintf("Row %d of the table: nothing to report.", i)}
		}
		if err := s.live(ctx, lines); err != nil {
			return err
		}
		a, err := agent.Open(s.id, s.config)
		if err != nil {
			return err
		}
		err = a.Compact(ctx, "")
		if err := errors.Join(err, a.Close()); err != nil {
			return err
		}
	}
	return errors.New("some of it did not fade")
}

// format makes the line of a room.
func format(l Line) ([]byte, error) {
	raw, err := chat.Format(l.Agent, chat.CleanName(l.Speaker), l.At, l.Text)
	if err != nil {
		err = fmt.Errorf("line %s: %w", l.ID, err)
	}
	return raw, err
}

// portions cuts a conversation into what is heard at once.
func portions(c Conversation, portion int) [][]Line {
	const tagBytes = len("[USER: 2026-11-20T12:57:16Z] \n")
	var out [][]Line
	size := portion
	for _, l := range c.Lines {
		if size >= portion {
			out, size = append(out, nil), 0
		}
		last := &out[len(out)-1]
		*last = append(*last, l)
		size += tagBytes + len(chat.CleanName(l.Speaker)) + len(l.Text)
	}
	return out
}

// end is when the last line was said.
func end(c Conversation) time.Time {
	return slices.MaxFunc(c.Lines, func(a, b Line) int { return a.At.Compare(b.At) }).At
}
