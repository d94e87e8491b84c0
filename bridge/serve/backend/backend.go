// Package backend serves the handlers of the HTTP server: it shows them the home, says a line for them
// exactly once, and reads and answers requests.
package backend

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zeebo/blake3"

	"lethe"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/chat"
	"lethe/internal/secret"
)

// Name is the bridge's: of its directory under bridges/, and of its table in config.toml.
const Name = "serve"

// Backend lets handlers see and say. Its methods may be called from any goroutine.
type Backend struct {
	report.Home
	Bridge  *bridge.Bridge
	Watcher *chat.Watcher
	User    string // who signs where a request names nobody
	PushKey string // with which browsers subscribe to notices; "" where no notices are sent
	Log     *slog.Logger
	Done    <-chan struct{} // closed when the server stops: what streams ends
	// RunStarted has a process run what people have started; nil leaves that to whoever runs identities.
	RunStarted func() error
	// Rerun is lethe rerun: what it prints. An error has what it says.
	Rerun func(ctx context.Context, args ...string) ([]byte, error)
	// Archive writes an archive of an identity, which then goes on elsewhere, unless it is copied; to has who can read it.
	Archive func(w io.Writer, id home.Identity, copied, workspace bool, to ...string) error

	streams atomic.Int32 // that are open
}

// Identity finds the identity that {self} in the path names: a name, a hash, or the beginning of one.
func (b *Backend) Identity(r *http.Request) (home.Identity, error) {
	return b.Find(r.PathValue("self"))
}

// Boot boots an identity, after a check that it can run, and has it be kept running. ready is called when its model can be
// opened. One that is there with the same purpose is meant: the request came twice.
func (b *Backend) Boot(
	ctx context.Context, o home.BootOptions, run host.Options, ready func() error,
) (id home.Identity, err error) {
	if err := home.CheckName(o.Name); err != nil {
		return id, &report.InvalidError{Err: err}
	}
	for _, room := range o.Rooms {
		if !chat.ValidRoom(room) {
			return id, invalidRoom(room)
		}
	}
	opened, err := host.Open(b.Dir, run)
	if errors.Is(err, llm.ErrNoKey) {
		err = &report.InvalidError{Err: err, Advice: "give it a key, or choose the offline model"}
	}
	if err != nil {
		return id, err
	}
	if err = ready(); err == nil {
		id, err = opened.Boot(o)
	}
	if errors.Is(err, home.ErrExists) {
		if soul, _ := id.ReadOwn("SOUL.md", b.Log); string(soul) == cmp.Or(o.Soul, lethe.Soul) {
			err = nil
		}
	}
	if err = errors.Join(err, opened.Close()); err == nil {
		err = report.Start(ctx, id, run.Offline, b.RunStarted)
	}
	return id, err
}

// Events opens the events of an identity behind an event with this ID, or all for "".
func (b *Backend) Events(id home.Identity, after string) (*events.Stream, error) {
	stream, err := events.Open(b.Store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
	switch {
	case errors.Is(err, events.ErrAfter):
		err = report.Invalid("after is %q; it is the id of an event, or 0", after)
	case errors.Is(err, events.ErrGone):
		err = Refuse(http.StatusGone, "begin anew, without Last-Event-ID",
			"the log of %s does not have the place %s any more", id.Name, after)
	case err != nil:
		err = id.Unread(err)
	}
	return stream, err
}

// Blob reads the blob with this hash, or the only blob whose hash begins so.
func (b *Backend) Blob(hash string) (blob blobs.Blob, err error) {
	hash = strings.ToLower(hash)
	fits := len(hash) >= blobs.MinPrefix && len(hash) <= 64
	if !fits || strings.Trim(hash, "0123456789abcdef") != "" {
		return blob, report.Invalid("%.80q is not the hash of a stored text: it has %d to 64 hex digits",
			hash, blobs.MinPrefix)
	}
	return b.Store.Find(hash)
}

// Said is a line that was said.
type Said struct {
	Room string    `json:"room"`
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	// From and To are the bytes of the room that the line has. They are 0 while it waits for
	// a room that cannot be written, and where it is too old to be remembered.
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Hash     string `json:"hash"` // of the line: chat.Hash
	Repeated bool   `json:"repeated,omitempty"`
	Heard    bool   `json:"heard"` // an identity is subscribed to the room
}

// ErrOtherBody says that the key of a request was used before, for another one.
var ErrOtherBody = errors.New("this Idempotency-Key was used for another request")

// Say says a line in a room, exactly once for each key: over retries, a kill of this process,
// and power loss. Without a key each call is a line. user "" is b.User.
func (b *Backend) Say(key, room, user, text string) (Said, error) {
	user = cmp.Or(user, b.User)
	switch {
	case !chat.ValidRoom(room):
		return Said{}, invalidRoom(room)
	case user != chat.CleanName(user):
		return Said{}, report.Invalid("%q cannot sign a line: no spaces, ] or control characters", user)
	case len(key) > 255:
		return Said{}, report.Invalid("the Idempotency-Key has %d bytes; at most 255", len(key))
	}
	if _, err := chat.Format(false, user, time.Now(), secret.Text(text)); err != nil {
		return Said{}, &report.InvalidError{Err: err}
	}
	key = cmp.Or(key, rand.Text())
	sum := blake3.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", room, user, text))
	note, _ := json.Marshal(map[string]string{"body": hex.EncodeToString(sum[:16])})
	id := "key:" + key
	_, repeated := b.Bridge.Taken(id)
	now := time.Now().Truncate(time.Second)
	message := bridge.Message{ID: id, Room: room, User: user, At: now, Text: text, Note: note}
	if err := b.Bridge.Accept(message); err != nil {
		return Said{}, err
	}
	origin, _ := b.Bridge.Taken(id)
	if origin.ID != "" && string(origin.Note) != string(note) {
		return Said{}, ErrOtherBody
	}
	b.Bridge.Exchanged()
	if origin.ID == "" { // it is too old to be remembered as a whole
		origin.Room, origin.User = room, user
	}
	said := b.said(origin)
	said.Repeated = repeated
	return said, nil
}

// Reply says the answer to one of these open questions, once for each key.
func (b *Backend) Reply(open []report.Question, key, qid, user, text string) (said Said, err error) {
	user = cmp.Or(user, b.User)
	if key != "" { // which another question may have, too
		key = qid + "/" + key
	}
	if said, ok := b.SaidBefore(key); ok { // repeated: the question is no longer open
		if said.Name != user {
			err = ErrOtherBody
		}
		return said, err
	}
	room, line, err := b.Answer(open, qid, user, text)
	if err != nil {
		return said, err
	}
	return b.Say(key, room, user, line)
}

// SaidBefore returns the line that was said with a key, for a repeated request whose question is answered by now.
func (b *Backend) SaidBefore(key string) (said Said, ok bool) {
	o, _ := b.Bridge.Taken("key:" + key)
	if key == "" || o.ID == "" {
		return said, false
	}
	said = b.said(o)
	said.Repeated = true
	return said, true
}

func (b *Backend) said(o bridge.Origin) Said {
	heard := len(b.Hearers(o.Room)) > 0
	return Said{Room: o.Room, Name: o.User, At: o.At, From: o.From, To: o.To, Hash: o.Hash, Heard: heard}
}

// MakeRoom makes a room, unless there is one, and has these identities hear it.
func (b *Backend) MakeRoom(name string, hear ...home.Identity) error {
	if !chat.ValidRoom(name) {
		return invalidRoom(name)
	}
	for _, id := range hear {
		if err := b.Subscribe(id, name); err != nil {
			return err
		}
	}
	_, err := chat.Make(chat.Path(b.Dir, name))
	return err
}

func invalidRoom(name string) error {
	err := fmt.Errorf("%q is not the name of a room", name)
	return &report.InvalidError{Err: err, Advice: "up to 64 of a-z, 0-9, - and _, a letter or digit first"}
}
