// Package backend is what the handlers of the HTTP server have in common: what there is
// to see of the home, how a line is said exactly once, and how requests are read and
// answered.
package backend

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zeebo/blake3"

	"lethe/agent"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/secret"
	"lethe/report"
)

// Name is the bridge's: of its directory under bridges/, and of its table in config.toml.
const Name = "serve"

// Backend is what handlers work with. Its methods may be called from any goroutine.
type Backend struct {
	report.Home
	Bridge  *bridge.Bridge
	Watcher *chat.Watcher
	User    string // who signs where a request names nobody
	Log     *slog.Logger
	Done    <-chan struct{} // closed when the server stops: what streams ends

	streams atomic.Int32 // that are open
	notes   roomNotes
}

// Identity is the one that {self} in the path names: a name, a hash, or the beginning of one.
func (b *Backend) Identity(r *http.Request) (agent.Identity, error) {
	return b.Find(r.PathValue("self"))
}

// Blob is what is stored under a hash, or under the only one that begins so.
func (b *Backend) Blob(hash string) (blob blobs.Blob, err error) {
	if len(hash) < blobs.MinPrefix || len(hash) > 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return blob, report.Invalid("%.80q is not the hash of a stored text: it has %d to 64 hex digits", hash, blobs.MinPrefix)
	}
	h, err := b.Store.Resolve(hash)
	if err == nil {
		blob, err = b.Store.Get(h)
	}
	return blob, err
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
		return Said{}, report.Invalid("%q is not the name of a room: up to 64 of a-z, 0-9, - and _, a letter or digit first", room)
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
	if _, err := b.Bridge.Accept("", bridge.Message{ID: id, Room: room, User: user, At: time.Now().Truncate(time.Second), Text: text, Note: note}); err != nil {
		return Said{}, err
	}
	o, _ := b.Bridge.Taken(id)
	if o.ID != "" && string(o.Note) != string(note) {
		return Said{}, ErrOtherBody
	}
	b.Bridge.Exchanged()
	if o.ID == "" { // it is too old to be remembered as a whole
		o.Room, o.User = room, user
	}
	said := b.said(o)
	said.Repeated = repeated
	return said, nil
}

// Reply says the answer to one of these open questions, once for each key.
func (b *Backend) Reply(open []report.Question, key, qid, user, text string) (said Said, err error) {
	user = cmp.Or(user, b.User)
	if key != "" { // which another question may have, too
		key = qid + "/" + key
	}
	if said, ok := b.SaidBefore(key); ok { // repeated: the question is not open any more
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

// SaidBefore is the line that was said with a key, for a request whose repetition cannot be
// checked any more: the question is answered.
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
	return Said{Room: o.Room, Name: o.User, At: o.At, From: o.From, To: o.To, Hash: o.Hash, Heard: len(b.Hearers(o.Room)) > 0}
}
