package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/sandbox"
	"lethe/internal/secret"
)

// confines says that Main was called, so that commands can be started by running this
// program again.
var confines atomic.Bool

// Main has to be the first call in the main function of a program that runs identities: it
// runs this program again to confine a command. Where it was not called, BASH is refused.
func Main() {
	sandbox.Main()
	confines.Store(true)
}

// HideKeys makes the keys of models in the environment known: they are struck out
// of all that is stored, said and logged. Keys in a home's file are known once it is read.
func HideKeys() {
	for _, name := range llm.Presets() {
		preset, _ := llm.Preset(name)
		secret.Add(os.Getenv(preset.KeyEnv))
	}
}

// Dir is the home that is meant: dir, or $LETHE_HOME, or ~/.lethe.
func Dir(dir string) (string, error) {
	dir = cmp.Or(dir, os.Getenv("LETHE_HOME"))
	if dir != "" {
		return dir, nil
	}
	base, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home: %w", err)
	}
	return filepath.Join(base, ".lethe"), nil
}

// Open opens a home, which is made where it is missing. dir may be empty: see Dir. The settings
// come from its config.toml, and keys come from the environment or its file of keys.
func Open(dir string, o Options) (*Host, error) {
	dir, err := Dir(dir)
	if err != nil {
		return nil, err
	}
	home, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	var settings config.Settings
	if err := config.Read(home.Dir, &settings); err != nil {
		return nil, err
	}
	return New(home, settings, o)
}

// members are the identities of a Host that Start runs.
type members struct {
	begin  sync.Once
	ctx    context.Context // of all that runs
	cancel context.CancelFunc
	around chan error // gets the last error of the parts that run around them
	all    sync.WaitGroup

	mu    sync.Mutex
	known map[string]*Identity // by hash
}

// started begins what identities share while they run.
func (h *Host) started() context.Context {
	m := &h.members
	m.begin.Do(func() {
		m.ctx, m.cancel = context.WithCancel(context.Background())
		m.around = make(chan error, 1)
		h.warn()
		go func() { // ends with Close
			m.around <- h.Serving(m.ctx, func(ctx context.Context) error {
				<-ctx.Done()
				m.all.Wait()
				return nil
			})
			close(m.around)
		}()
	})
	return m.ctx
}

// Close stops the identities that run here, and waits for that: everything is saved. No other
// method may be called after it, but Close again.
func (h *Host) Close() error {
	h.started() // the offline model listens since New
	h.members.cancel()
	return <-h.members.around
}

// hears tells Start that an identity is ready.
func (h *Host) hears(id home.Identity) {
	i := h.Of(id)
	h.members.mu.Lock()
	if i.ready != nil {
		close(i.ready)
		i.ready = nil
	}
	h.members.mu.Unlock()
	if h.options.Ready != nil {
		h.options.Ready(id)
	}
}

// Identity is an identity as a program deals with it. Its methods may be called from any
// goroutine.
type Identity struct {
	home.Identity
	host  *Host
	ready chan struct{} // of Resume: closed when the identity hears its rooms. members.mu guards it
	limit atomic.Int64  // of SetLimit; 0 for the options'

	mu   sync.Mutex
	stop context.CancelFunc // of the run in this program; nil before the first
	done chan struct{}      // closed when that run has ended
	err  error              // of it
}

// Find returns the identity of a name, a hash or its beginning; "" is the default one. It runs
// nothing: Events works, and Say where another process runs the identity.
func (h *Host) Find(who string) (*Identity, error) {
	id, err := Default(h.home, h.settings)
	if who != "" {
		id, err = h.home.Find(who)
	}
	return h.Of(id), err
}

// Of is an identity of the home, for the methods that there are: the same one each time.
func (h *Host) Of(id home.Identity) *Identity {
	h.members.mu.Lock()
	defer h.members.mu.Unlock()
	if h.members.known == nil {
		h.members.known = map[string]*Identity{}
	}
	i := h.members.known[id.Self]
	if i == nil {
		i = &Identity{Identity: id, host: h}
		h.members.known[id.Self] = i
	}
	return i
}

// Start resumes the identity of a name, or boots it with the rest of the options, and has it
// run in this program until Stop or Close. Where another process runs it, Start leaves it there.
// It returns when the identity hears its rooms.
func (h *Host) Start(ctx context.Context, o home.BootOptions) (*Identity, error) {
	id, err := h.Boot(o)
	if err != nil && !errors.Is(err, home.ErrExists) {
		return nil, err
	}
	i := h.Of(id)
	return i, i.Resume(ctx)
}

// Resume has the identity run, as Start does, if it does not.
func (i *Identity) Resume(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inside() {
		return nil
	}
	if _, running := home.Running(i.Identity); running {
		return nil
	}
	h := i.host
	if h.client == nil { // of Look
		return llm.ErrNoKey
	}
	life, stop := context.WithCancel(h.started())
	ready := make(chan struct{})
	h.members.mu.Lock()
	i.ready = ready
	h.members.mu.Unlock()
	i.stop, i.done = stop, make(chan struct{})
	done := i.done
	h.members.all.Go(func() { // ends with life
		defer stop()
		i.err = h.supervise(life, []home.Identity{i.Identity}, h.options.Rooms)
		close(done)
	})
	select {
	case <-ready:
		return nil
	case <-done:
		if running := new(home.RunningError); errors.As(i.err, &running) {
			return nil // another process was faster
		}
		return i.err
	case <-ctx.Done():
		stop()
		<-done
		return context.Cause(ctx)
	}
}

// Inside reports whether the identity runs in this program.
func (i *Identity) Inside() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.inside()
}

// inside is Inside, with mu held.
func (i *Identity) inside() bool {
	if i.done == nil {
		return false
	}
	select {
	case <-i.done:
		return false
	default:
		return true
	}
}

// Stop stops the identity: in this program it waits until it has stopped, and returns why it
// failed, if it did. Another process is asked to.
func (i *Identity) Stop() error {
	i.mu.Lock()
	stop, done := i.stop, i.done
	i.mu.Unlock()
	if done != nil {
		stop()
		<-done
		return i.err
	}
	if _, running := home.Running(i.Identity); !running {
		return nil
	}
	return home.Ask(i.Identity, home.WishStop)
}

// Limit returns the tokens of a request with its answer at most, as the identity runs in this program.
func (i *Identity) Limit() int {
	h := i.host
	return cmp.Or(int(i.limit.Load()), h.options.Limit, h.settings.Context.Limit, h.limit, prompt.DefaultLimit)
}

// SetLimit has the identity, which runs in this program, go on with another limit as long as this program lasts. A
// limit that it cannot run with is refused, and it goes on as before.
func (i *Identity) SetLimit(ctx context.Context, tokens int) error {
	if !i.Inside() {
		return fmt.Errorf("set the limit of %s: it runs in another process, by context.limit in config.toml", i.Name)
	}
	state, err := home.Fold(i.Identity, i.host.store)
	if err != nil {
		return err
	}
	model := state.Stable.Params.Model
	info, _ := i.host.known.Of(model)
	if err := config.Fits(tokens, model, info); err != nil {
		return err
	}
	if err := i.Stop(); err != nil {
		return err
	}
	before := i.limit.Swap(int64(tokens))
	err = i.Resume(ctx)
	if err != nil {
		i.limit.Store(before)
		err = errors.Join(err, i.Resume(ctx))
	}
	return err
}

// Join has the identity hear a room, which is made where it is missing.
func (i *Identity) Join(room string) error {
	return i.host.home.Subscribe(i.Identity, room)
}

// Hears reports whether the identity hears a room when it runs.
func (i *Identity) Hears(room string) bool {
	rooms, _ := chat.Rooms(i.Subs())
	return slices.Contains(rooms, room)
}

// SeveralError says that there are several identities and no default.
type SeveralError struct {
	Names   []string
	Default string // default_identity, if it names no identity
}

func (e *SeveralError) Error() string {
	what := fmt.Sprintf("there are %d identities, and none is the default", len(e.Names))
	if e.Default != "" {
		what = fmt.Sprintf("default_identity is %s, which is none of the %d identities", e.Default, len(e.Names))
	}
	return what + ": " + strings.Join(e.Names, ", ")
}

// Default is the identity that is meant if nobody names one: the one of the configuration, or
// the one named lethe, or the only one, whatever children they have. Its error is
// home.ErrNotFound or a *SeveralError.
func Default(h home.Home, settings config.Settings) (home.Identity, error) {
	all, err := Grown(h)
	if err != nil {
		return home.Identity{}, err
	}
	return DefaultOf(all, settings)
}

// DefaultOf is Default for identities that are no children.
func DefaultOf(all []home.Identity, settings config.Settings) (home.Identity, error) {
	for _, name := range []string{settings.DefaultIdentity, config.DefaultName} {
		for _, id := range all {
			if id.Name == name {
				return id, nil
			}
		}
	}
	all = slices.DeleteFunc(all, func(id home.Identity) bool {
		hired, err := id.Hired()
		return settings.Reviewer.Is(id) || hired != nil || err != nil
	})
	switch len(all) {
	case 0:
		return home.Identity{}, fmt.Errorf("find the default identity: %w", home.ErrNotFound)
	case 1:
		return all[0], nil
	}
	several := &SeveralError{Default: settings.DefaultIdentity}
	for _, id := range all {
		several.Names = append(several.Names, id.Name)
	}
	return home.Identity{}, several
}

// Grown are the identities of a home that are no children.
func Grown(h home.Home) ([]home.Identity, error) {
	all, err := h.List()
	return slices.DeleteFunc(all, home.Identity.IsChild), err
}

// RoomOf is the room to talk to an identity in.
func RoomOf(id home.Identity) string {
	rooms, err := chat.Rooms(id.Subs())
	if !id.IsChild() { // it hears its own children, too
		rooms = slices.DeleteFunc(rooms, chat.ForWork)
	}
	hearsDefault := slices.Contains(rooms, config.DefaultRoom)
	if err != nil {
		return config.DefaultRoom
	}
	if len(rooms) == 0 || hearsDefault {
		return config.DefaultRoom
	}
	return rooms[0]
}

// LivedOnline reports whether an identity has used a real model: the offline one must not
// speak in its name unasked.
func LivedOnline(id home.Identity, store *blobs.Store) bool { return LastEndpoint(id, store) != "" }

// LastEndpoint returns the host of the real model that an identity used last, or "".
func LastEndpoint(id home.Identity, store *blobs.Store) string {
	if id.Self == "" {
		return ""
	}
	s, err := home.Fold(id, store)
	if err != nil || s.Stable.Params.Endpoint == "offline" {
		return ""
	}
	return s.Stable.Params.Endpoint
}
