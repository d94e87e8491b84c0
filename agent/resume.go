package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// Fold reads an identity's log from its newest epoch and folds it, changing
// nothing: what a running daemon would know, for commands that look at a life.
func Fold(id Identity, store *blobs.Store) (*mind.State, error) {
	log, err := View(id, store)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	state, _, err := fold(id, log, store)
	return state, err
}

// View opens the log of an identity for reading. It ends before a torn end, also one whose texts are torn. While the life
// is Erasing, nobody looks at it.
func View(id Identity, store *blobs.Store) (*life.Log, error) {
	if err := id.Erasing(); err != nil {
		return nil, err
	}
	log, err := life.View(id.LIFE())
	if err != nil {
		return nil, id.Unread(err)
	}
	if _, err := dropTorn(log, store); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// dropTorn has a log end before its last append if that is not whole, or if a text is missing or damaged that a line of it
// refers to: a power loss took it before the append was durable, and nothing rests on it. Otherwise it returns the texts.
func dropTorn(log *life.Log, store *blobs.Store) (texts []mind.Body, err error) {
	if !log.Last().Whole() {
		log.DropLast()
		return nil, nil
	}
	for _, e := range log.Last() {
		bodies, err := load(e, store)
		if errors.Is(err, blobs.ErrNotFound) || errors.Is(err, blobs.ErrDigest) {
			log.DropLast()
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the end of life: %w", err)
		}
		texts = append(texts, bodies...)
	}
	return texts, nil
}

// Unread says what it means that the identity's LIFE cannot be read: that there is
// no such identity, or, where the rest of it is there, damage.
func (id Identity) Unread(err error) error {
	if _, serr := os.Stat(id.Dir); serr == nil && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open %s: %w: %w", id.Name, ErrCorrupt, err)
	}
	return notFoundOrCorrupt(err)
}

func notFoundOrCorrupt(err error) error {
	var corrupt *life.CorruptError
	switch {
	case errors.As(err, &corrupt), errors.Is(err, blobs.ErrDigest), errors.Is(err, blobs.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// fold returns the state and the events it was folded from: the newest epoch, if
// there is one, and what follows.
func fold(id Identity, log *life.Log, store *blobs.Store) (*mind.State, []life.Event, error) {
	events, err := log.SinceEpoch()
	if err != nil {
		return nil, nil, notFoundOrCorrupt(err)
	}
	if len(events) == 0 || events[0].Kind != life.Epoch && events[0].Kind != "boot" {
		return nil, nil, fmt.Errorf("open %s: %w: LIFE does not begin with a boot", id.Name, ErrCorrupt)
	}
	state, err := foldEvents(id, events, store)
	return state, events, err
}

// foldEvents folds an epoch, or a boot, and what follows it.
func foldEvents(id Identity, events []life.Event, store *blobs.Store) (*mind.State, error) {
	state := mind.New()
	for i, e := range events {
		bodies, err := load(e, store)
		if err != nil {
			return nil, notFoundOrCorrupt(fmt.Errorf("fold %s %s: %w", e.Kind, strings.Join(e.Args, " "), err))
		}
		if i == 0 && e.Kind == life.Epoch && len(bodies) == 1 {
			if state, err = mind.Restore(bodies[0].Data, bodiesOf(store)); err != nil {
				return nil, notFoundOrCorrupt(err)
			}
		}
		if err := state.Apply(e, bodies...); err != nil {
			return nil, fmt.Errorf("open %s: %w: %w", id.Name, ErrCorrupt, err)
		}
	}
	if state.Self != id.Self {
		return nil, fmt.Errorf("open %s: %w: LIFE is that of %.16s", id.Name, ErrCorrupt, state.Self)
	}
	return state, nil
}

// bodiesOf reads the bodies of blobs.
func bodiesOf(store *blobs.Store) func(blobs.Hash) ([]byte, error) {
	return func(h blobs.Hash) ([]byte, error) {
		b, err := store.Get(h)
		return b.Body, err
	}
}

// load reads the blobs that an event names.
func load(e life.Event, store *blobs.Store) ([]mind.Body, error) {
	var out []mind.Body
	for _, r := range e.Refs {
		h, err := store.Resolve(r.Hash)
		if err != nil {
			return nil, err
		}
		b, err := store.Get(h)
		if err != nil {
			return nil, err
		}
		out = append(out, mind.Body{Hash: h, Data: b.Body})
	}
	return out, nil
}

// resume folds the log into the state and checks what stands beside it.
func (a *Agent) resume() error {
	state, events, err := fold(a.id, a.log.Log, a.store)
	if err != nil {
		return err
	}
	a.state = state
	a.log.last = events[len(events)-1].At
	a.fresh = state.Stable.System == ""
	a.log.sinceEpoch = len(events)
	a.estimate = estimator(state)
	return a.checkSoul()
}

// estimator knows what the last reply of a life has told of the length of tokens.
func estimator(s *mind.State) (e llm.Estimator) {
	if w := s.Usage.LastWeight; w > 0 {
		e = e.Observe(int(w), int(s.Usage.LastInput))
	}
	return e
}

// checkSoul holds SOUL.md against the boot blob. A missing one is put back; an
// altered one is not ours to overrule.
func (a *Agent) checkSoul() error {
	self, err := blobs.ParseHash(a.id.Self)
	if err != nil {
		return fmt.Errorf("open %s: %w: %w", a.id.Name, ErrCorrupt, err)
	}
	boot, err := a.store.Get(self)
	if err != nil {
		return notFoundOrCorrupt(fmt.Errorf("open %s: boot blob: %w", a.id.Name, err))
	}
	path := filepath.Join(a.id.Dir, "SOUL.md")
	soul, _, err := durable.ReadRegular(path, int64(len(boot.Body))+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.cfg.Log.Warn("SOUL.md was missing; put back from the boot blob")
		return durable.WriteFile(path, boot.Body, 0o400)
	case err != nil && !errors.Is(err, durable.ErrNotRegular):
		return err
	case err != nil || !bytes.Equal(soul, boot.Body):
		return fmt.Errorf("open %s: %w: %s is not the soul it was booted with", a.id.Name, ErrCorrupt, path)
	}
	return nil
}

// makeTools makes the tools.
func (a *Agent) makeTools() error {
	conf := a.cfg.Tools
	conf.AgentDir, conf.Home, conf.ChatsDir = a.id.Dir, a.cfg.Home.Dir, a.cfg.Home.Chats()
	conf.Rooms, conf.Past, conf.Spawn, conf.CheckTrigger = (*roomTools)(a), (*past)(a), a.spawn, a.checkTrigger
	conf.Workspace = a.workspace()
	conf.JobEnded, conf.Weight, conf.Times = a.stir, weightOf, a.times
	set, err := tools.New(conf)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.id.Name, err)
	}
	a.tools = set
	if a.cfg.runTrigger == nil {
		a.cfg.runTrigger = set.RunTrigger
	}
	return nil
}

// workspace is where the tools work.
func (a *Agent) workspace() string {
	return cmp.Or(a.cfg.Tools.Workspace, filepath.Join(a.id.Dir, "workspace"))
}

// request renders the next call to the model.
func (a *Agent) request() llm.Request {
	r, p := a.rendering.follow(a.state), a.state.Stable.Params
	q := llm.Request{
		Model: p.Model, Tools: r.tools, MaxTokens: p.MaxTokens, Thinking: p.Thinking, Effort: p.Effort, UserID: a.state.Self[:32],
		Messages: r.prefix.Messages(), Prefix: r.prefix,
	}
	if tail := a.tail(); tail != "" {
		q.Messages = append(q.Messages, llm.Message{Role: "user", Content: tail, Aside: true})
	}
	return q
}

// rendering is what the requests of an epoch have in common: an entry stays as it is until the next epoch, once no
// result is awaited.
type rendering struct {
	epoch   int
	stable  mind.Stable
	tools   json.RawMessage
	weight  int // of the tools
	entries int // of State.Live that are in prefix
	prefix  llm.Prefix
}

// follow brings the rendering up to date.
func (r *rendering) follow(s *mind.State) *rendering {
	if r.epoch != s.Epoch || r.stable != s.Stable || r.entries > len(s.Live) {
		*r = rendering{epoch: s.Epoch, stable: s.Stable, tools: json.RawMessage(s.Stable.Tools), weight: llm.Weight(s.Stable.Tools)}
		r.prefix.Add(Wire((&mind.State{Stable: s.Stable}).Messages(""))...)
	}
	for ; r.entries < len(s.Live) && !s.Live[r.entries].Waits(); r.entries++ {
		r.prefix.Add(Wire(s.Live[r.entries].Messages(s.Stable.Indented))...)
	}
	return r
}

// Wire gives messages the form of package llm.
func Wire(messages []mind.Message) []llm.Message {
	out := make([]llm.Message, 0, len(messages))
	for _, m := range messages {
		w := llm.Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, CallID: m.CallID, Aside: m.Aside}
		for _, c := range m.Calls {
			w.Calls = append(w.Calls, llm.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Args})
		}
		out = append(out, w)
	}
	return out
}

// tail is what goes last in the classic order; nothing in the default one.
func (a *Agent) tail() string {
	if a.state.Stable.Params.Order != mind.OrderTail {
		return ""
	}
	memory, lines, err := a.notes(a.state.Stable)
	if err != nil { // a request without them is better than none
		return ""
	}
	return mind.Notes(memory, lines)
}
