package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/secret"
)

// Reply is an identity's answer to a line.
type Reply struct {
	Room  string    `json:"room"`
	Agent bool      `json:"agent"`          // true, as in a line of a room
	Name  string    `json:"name"`           // of the identity
	At    time.Time `json:"at"`             // of its last line
	Text  string    `json:"text"`           // what it said in the room, messages parted by newlines
	Turn  int       `json:"turn"`           // 0 without an answer: to a command, or to a line that wakes nobody
	Hash  string    `json:"hash,omitempty"` // of the blob with the answer

	Question *chat.Question `json:"question,omitempty"` // that it has asked, and waits for the answer to

	Calls  int     `json:"calls"` // of the model in this turn
	In     int64   `json:"in"`    // tokens
	Cached int64   `json:"cached"`
	Out    int64   `json:"out"`
	USD    float64 `json:"cost_usd"`

	After string `json:"-"` // the ID of the last event of it, to give to Events

	// Ended tells why the turn ended if the identity has not ended it: stop, or why it was
	// given up. Text then has the beginning of its answer.
	Ended string `json:"ended,omitempty"`
}

var (
	// ErrNotHeard says that an identity is not subscribed to a room: see Join.
	ErrNotHeard = errors.New("it does not hear the room")
	// ErrStopped says that an identity has stopped before it answered. What was said is
	// there, and it is heard at the next start.
	ErrStopped = errors.New("it has stopped; what was said is heard at its next start")
	// ErrDismissed is an ErrStopped by a person's request.
	ErrDismissed = fmt.Errorf("somebody has stopped it: %w", ErrStopped)
)

// PausedError says why an identity does not go on before somebody mends something. It goes on
// by itself then, and the answer is in the room.
type PausedError struct {
	Name, Why string
	Until     time.Time // when it tries again; zero where it does not
}

func (e *PausedError) Error() string { return "wait for an answer: " + e.Name + " is paused: " + e.Why }

// Post appends a line that somebody says to a room. In text are no secrets of this process.
func Post(home home.Home, room, user, text string) (chat.Line, error) {
	raw, err := chat.Format(false, user, time.Now(), secret.Text(text))
	if err != nil {
		return chat.Line{}, config.Invalid("", "%w", err)
	}
	line, path := chat.Parse(raw), chat.Path(home.Dir, room)
	line.From, line.To, err = chat.Append(path, raw)
	there, unread := chat.After(path, line.From, 1)
	isThere := unread == nil && len(there) > 0
	if isThere && there[0].To == line.To {
		line = there[0] // as it is heard: the beginning of a very long one
	}
	return line, err
}

// Say says something in a room as the user of config.toml, and returns what the identity has
// made of it: when its turn has ended, or when it asks something back, which a later Say
// answers. room may be empty: see RoomOf.
//
// The error is ErrNotHeard, ErrStopped, a *PausedError or the context's; what was said stays
// said, except with ErrNotHeard.
func (i *Identity) Say(ctx context.Context, room, text string) (Reply, error) {
	room = cmp.Or(room, RoomOf(i.Identity))
	for reply, err := range SayTo(ctx, i.host.settings.UserName(), room, text, []*Identity{i}, nil) {
		return reply, err
	}
	return Reply{}, nil // it yields once
}

// SayTo says something in a room as user, and yields what each of several identities has made of it, in their order.
// on is as for Await. An error that wraps ErrNotHeard comes alone: nothing was said.
func SayTo(
	ctx context.Context, user, room, text string, to []*Identity, on func(events.Event) error,
) iter.Seq2[Reply, error] {
	return func(yield func(Reply, error) bool) {
		var all []*Asked
		for _, identity := range to {
			asked, err := identity.Ask(room)
			if err != nil {
				yield(Reply{}, err)
				return
			}
			all = append(all, asked)
		}
		line, err := Post(to[0].host.home, room, user, text)
		if err != nil {
			yield(Reply{}, err)
			return
		}
		for _, asked := range all {
			if !yield(asked.Await(ctx, line, on)) {
				return
			}
		}
	}
}

// Asked waits for an identity's answer to a line that is about to be said.
type Asked struct {
	*Identity
	Room  string
	After string // the newest event that Await has seen

	turn  turn
	heard atomic.Bool // as the turn has it, for untilStopped
}

// Ask prepares to say something in a room.
func (i *Identity) Ask(room string) (*Asked, error) {
	if !i.Hears(room) {
		return nil, fmt.Errorf("say something to %s in room %s: %w", i.Name, room, ErrNotHeard)
	}
	after, err := events.End(i.LIFE())
	return &Asked{Identity: i, Room: room, After: after}, err
}

// Await returns when the turn that hears the line has ended; see Say. on, if not nil, is called
// for each event meanwhile, deltas too. After an ErrStopped and Resume, a *PausedError or a context that
// ended, it may be called again, and goes on.
func (a *Asked) Await(ctx context.Context, line chat.Line, on func(events.Event) error) (Reply, error) {
	t := &a.turn
	if errors.As(t.err, new(*PausedError)) {
		t.entry = "" // its notice was the end of the call before
	}
	t.Room, t.Agent, t.Name, t.line, t.err = a.Room, true, a.Name, line.Hash, nil
	following, end := context.WithCancelCause(ctx)
	defer end(nil)
	go a.untilStopped(following, end)
	see := func(event events.Event, err error) (done bool, _ error) {
		if err == nil && on != nil {
			err = on(event)
		}
		if err != nil {
			return true, err
		}
		a.After = cmp.Or(event.ID, a.After)
		t.After = a.After
		done = t.take(event)
		if t.heard {
			a.heard.Store(true)
		}
		return done, a.elsewhere(t.err)
	}
	for e, err := range a.Events(following, a.After) {
		if done, err := see(e, err); done {
			if errors.Is(err, ErrStopped) {
				a.ended(ctx)
			}
			answered := err == nil && t.Ended == ""
			paused := errors.As(err, new(*PausedError))
			speaks := answered || paused
			if t.said > 0 && speaks {
				a.posted(ctx, line)
			}
			return t.Reply, err
		}
	}
	if err := context.Cause(following); !errors.Is(err, ErrStopped) {
		return t.Reply, err
	}
	// What has happened at the end may not have been read yet.
	rest, err := events.Open(a.host.store, events.Log{Path: a.LIFE(), Name: a.Name}, a.After)
	if err != nil {
		return t.Reply, err
	}
	defer rest.Close()
	for e, err := range rest.All() {
		if done, err := see(e, err); done {
			return t.Reply, err
		}
	}
	return t.Reply, context.Cause(following)
}

// posted waits until what the identity said stands in the room: its log says it a moment before. A room that
// cannot be written is not waited for longer.
func (a *Asked) posted(ctx context.Context, line chat.Line) {
	path := chat.Path(a.host.home.Dir, a.Room)
	changed, cancel := a.host.watcher.Subscribe(chat.Scope{Dir: filepath.Dir(path), Names: []string{filepath.Base(path)}})
	defer cancel()
	for late := time.After(alivePace); ; {
		select {
		case <-changed:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
		lines, err := chat.Before(path, -1, 1000) // so many may have been said since
		lines = slices.DeleteFunc(lines, func(l chat.Line) bool { return !l.By(a.Name) || l.From < line.From })
		if err != nil || len(lines) >= a.turn.said {
			return
		}
	}
}

// ended waits for the end of a run in this program that has said that it stops, so that Resume begins another one.
func (i *Identity) ended(ctx context.Context) {
	i.mu.Lock()
	done := i.done
	i.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(alivePace): // it was an earlier run
	}
}

// alivePace is the time between two looks whether another process lives; it may die without a word.
const alivePace = 2 * time.Second

// hearTime is the time in which an identity of another host that has nothing to do should hear a line: its host looks
// for lines twice a minute or more often, and may say a minute later that it has heard them.
const hearTime = 150 * time.Second

// untilStopped ends the wait for an identity that has stopped, or does not hear.
func (a *Asked) untilStopped(ctx context.Context, end context.CancelCauseFunc) {
	a.mu.Lock()
	done := a.done
	a.mu.Unlock()
	look := time.NewTicker(alivePace)
	defer look.Stop()
	for idle := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-done:
			done = nil // perhaps it was opened by another process before this one
		case <-look.C:
		}
		if _, running := home.Running(a.Identity.Identity); !running {
			end(a.elsewhere(fmt.Errorf("wait for %s: %w", a.Name, ErrStopped)))
		}
		if a.host.copies == nil {
			continue
		}
		if live, _ := status.Read(a.Dir); a.heard.Load() || live.State != status.Idle {
			idle = time.Now()
		}
		if time.Since(idle) > hearTime {
			where, _ := a.host.copies.Where(a.Identity.Identity)
			end(fmt.Errorf("wait for %s: it has not heard what was said within %s: %w", a.Name, hearTime, where))
		}
	}
}

// elsewhere adds to an ErrStopped of an identity of another host where that is.
func (i *Identity) elsewhere(err error) error {
	if i.host.copies == nil || !errors.Is(err, ErrStopped) {
		return err
	}
	where, _ := i.host.copies.Where(i.Identity)
	return fmt.Errorf("%w: %w", err, where)
}

// Events yields what happens to the identity, behind the event with the ID after: from the
// beginning of its life for "", and from now on for events.End. It goes on until ctx ends.
func (i *Identity) Events(ctx context.Context, after string) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		i.host.started() // the watcher
		s, err := events.Open(i.host.store, events.Log{Path: i.LIFE(), Name: i.Name}, after)
		if err != nil {
			yield(events.Event{}, err)
			return
		}
		defer s.Close()
		enough := errors.New("the reader has enough")
		err = s.Follow(ctx, i.host.watcher, func(event events.Event) error {
			if !yield(event, nil) {
				return enough
			}
			return nil
		})
		if err != nil && err != enough {
			yield(events.Event{}, err)
		}
	}
}

// turn gathers the reply to a line.
type turn struct {
	Reply
	line  string // its hash
	heard bool
	said  int    // messages of Text that are said in the room
	entry string // what the harness says next is the end: the answer to a command, or why it pauses
	err   error  // at the end
}

// take reports whether an event is the last that has to do with the line.
func (t *turn) take(event events.Event) (done bool) {
	here := event.InRoom(t.Room)
	switch {
	case event.Type == events.Stopped:
		why := ErrStopped
		if event.Why == "request" {
			why = ErrDismissed
		}
		t.err = fmt.Errorf("wait for %s: %w", t.Name, why)
		return true
	case event.Type == events.Paused:
		t.err, t.entry = &PausedError{t.Name, event.Text, event.Until}, event.Entry
		return !strings.Contains(event.ID, ".") // unless more of this line follows, which says so
	case t.entry != "":
		isNotice := event.Type == events.MessageDone && event.Entry == t.entry
		if isNotice && here {
			t.say(event, event.Text)
			return true
		}
		return false
	case !t.heard:
		isOurs := here && event.Line == t.line
		if event.Type == events.UserMessage && isOurs {
			t.heard, t.Turn = true, event.Turn
			if strings.HasPrefix(event.Entry, "k") {
				t.entry, t.Turn = event.Entry, 0
				return false
			}
			return t.Turn == 0
		}
		return false
	case event.Turn != t.Turn:
		return false
	}
	isNotice := strings.HasPrefix(event.Entry, "k") // as that the model is not reached
	isCut := event.Status == "cut" || event.Status == "stopped"
	asksHere := here && event.Question != nil
	switch {
	case event.Type == events.MessageDone && isNotice:
	case event.Type == events.MessageDone && (here || isCut):
		t.say(event, event.Text)
		t.Hash = event.Hash
	case event.Type == events.Asked && asksHere:
		t.Question = event.Question
		t.say(event, event.Question.String())
	case event.Type == events.Usage:
		t.Calls, t.USD = t.Calls+event.Calls, t.USD+event.USD
		t.In, t.Cached, t.Out = t.In+event.In, t.Cached+event.Cached, t.Out+event.Out
	case event.Type == events.TurnEnd:
		if event.Why != "asked" {
			t.Ended = event.Why
		}
		return true
	}
	return false
}

func (t *turn) say(event events.Event, text string) {
	t.At, t.Text = event.At, strings.TrimPrefix(t.Text+"\n"+text, "\n")
	if event.Status == "" {
		t.said++
	}
}
