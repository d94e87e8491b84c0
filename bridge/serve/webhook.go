package serve

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/internal/durable"
	"lethe/internal/pattern"
)

const (
	maxHook = 10 << 20 // bytes that a trigger takes as mail

	// Bodies of senders who show the token are held until they are delivered.
	mostBytes = 4 * maxHook
	knownTime = time.Minute // for all of a body, with the wait for its place

	// Bodies of senders who show no token are read within bounds.
	mostHooks    = 16               // at once
	mostHooksOf  = 4                // of one peer
	strangerTime = 20 * time.Second // for all of a body, with the wait for its place
	mostPeers    = 10_000           // that are counted apart
)

// webhooks puts the bodies that POST /hooks/NAME is sent into the directory of a trigger that waits for mail.
type webhooks struct {
	*backend.Backend
	guard  *guard.Guard
	hooks  map[string]Hook
	tokens map[string]string
	places *semaphore.Weighted // for bodies of senders who show no token
	held   *semaphore.Weighted // bytes of bodies of the others
	one    sync.Mutex          // held while a delivery is looked up and put there

	mu    sync.Mutex
	peers map[netip.Prefix]*semaphore.Weighted // the places of each
}

func (c Config) webhooks(mux *http.ServeMux, b *backend.Backend, g *guard.Guard) error {
	hooks := &webhooks{
		Backend: b, guard: g, hooks: c.Hooks, tokens: map[string]string{},
		places: semaphore.NewWeighted(mostHooks), held: semaphore.NewWeighted(mostBytes),
		peers: map[netip.Prefix]*semaphore.Weighted{},
	}
	for name := range c.Hooks {
		token, err := makeToken(HookTokenFile(c.Home.Dir, name), newToken)
		if err != nil {
			return err
		}
		hooks.tokens[name] = token
	}
	mux.HandleFunc("POST /hooks/{name}", hooks.take)
	return nil
}

type delivery struct {
	File     string `json:"file"` // that the trigger finds
	Repeated bool   `json:"repeated,omitempty"`
}

func (h *webhooks) take(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, known, release, err := h.read(w, r, h.tokens[name])
	defer release()
	if !known {
		h.guard.Wrong(w, r, "each webhook has its own, in bridges/serve/hooks of the home")
		return
	}
	if err != nil {
		backend.WriteError(w, err)
		return
	}
	delivered, err := h.deliver(name, fileName(name, r.Header), body)
	if err != nil {
		h.Log.Warn("a webhook is not taken", "hook", name, "error", err)
		backend.WriteError(w, err)
		return
	}
	h.Bridge.Exchanged()
	backend.WriteJSON(w, http.StatusAccepted, delivered)
}

// read reads the body, which has a place until release. The sender is known if it shows the token, or has signed the
// body with it. An empty token is no hook's.
func (h *webhooks) read(w http.ResponseWriter, r *http.Request, token string) (
	body []byte, known bool, release func(), err error,
) {
	release = func() {}
	shown := cmp.Or(guard.Bearer(r), r.Header.Get("X-Gitlab-Token"))
	signature := r.Header.Get("X-Hub-Signature-256")
	switch {
	case token == "":
		return nil, false, release, nil
	case shown != "" && !guard.Same(shown, token):
		return nil, false, release, nil
	case shown != "":
		body, release, err = h.readKnown(w, r)
		return body, true, release, err
	case signature == "":
		return nil, false, release, nil
	}
	body, err = h.readStranger(w, r)
	if err != nil {
		return nil, true, release, err
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(body)
	return body, guard.Same(signature, "sha256="+hex.EncodeToString(mac.Sum(nil))), release, nil
}

// readKnown reads the body of a sender who shows the token, when there is room for it. release makes the room free.
func (h *webhooks) readKnown(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), knownTime)
	defer cancel()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(knownTime)) // the guard's writer has one
	room := r.ContentLength
	if room < 0 || room > maxHook { // it is not told, or refused below
		room = maxHook
	}
	if h.held.Acquire(ctx, room) != nil {
		return nil, func() {}, backend.Refuse(http.StatusServiceUnavailable, "send it again", "too many bodies are read")
	}
	body, err = readBody(w, r)
	return body, func() { h.held.Release(room) }, err
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
}

// readStranger reads the body of a sender who shows no token, and may be anybody, and slow. It waits for a place among
// the peer's bodies, and for one among all.
func (h *webhooks) readStranger(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), strangerTime)
	defer cancel()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerTime)) // the guard's writer has one
	for _, places := range []*semaphore.Weighted{h.placesOf(guard.Peer(r)), h.places} {
		if places.Acquire(ctx, 1) != nil {
			return nil, backend.Refuse(http.StatusServiceUnavailable, "send it again, or show the token",
				"too many bodies are read of senders who show no token")
		}
		defer places.Release(1)
	}
	return readBody(w, r)
}

// placesOf returns the places for bodies of a peer. After mostPeers all begin anew; a body keeps its place.
func (h *webhooks) placesOf(peer netip.Prefix) *semaphore.Weighted {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.peers) >= mostPeers {
		clear(h.peers)
	}
	if h.peers[peer] == nil {
		h.peers[peer] = semaphore.NewWeighted(mostHooksOf)
	}
	return h.peers[peer]
}

var (
	plainID    = pattern.Lazy(`^[A-Za-z0-9_-]{1,64}$`)
	plainEvent = pattern.Lazy(`^[A-Za-z0-9_-]{1,40}$`)
)

// fileName names the file of a delivery: by the sender's id of it, the same whenever it comes again, and the event.
func fileName(hook string, header http.Header) string {
	given := cmp.Or(header.Get("Idempotency-Key"), header.Get("X-GitHub-Delivery"), header.Get("X-Gitlab-Event-UUID"))
	id := cmp.Or(given, rand.Text())
	if !plainID().MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:16])
	}
	name := hook + "-" + id
	event := cmp.Or(header.Get("X-GitHub-Event"), header.Get("X-Gitea-Event"))
	if plainEvent().MatchString(event) {
		name += "." + event
	}
	return name
}

// deliver puts a body where the trigger looks, once.
func (h *webhooks) deliver(hook, file string, body []byte) (delivery, error) {
	path, err := h.drop(h.hooks[hook])
	if err != nil {
		return delivery{}, err
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return delivery{}, err
	}
	defer dir.Close()
	h.one.Lock()
	defer h.one.Unlock()
	// In this order: the trigger moves a file, and never back.
	for _, there := range []string{file, "processed/" + file, "failed/" + file} {
		_, err := dir.Lstat(there)
		if err == nil {
			return delivery{file, true}, durable.SyncDir(path) // whoever put it there may have died before
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return delivery{}, err
		}
	}
	_, err = durable.SwapIn(dir, file, body, 0o600, func(there fs.FileInfo, _ string) bool { return there == nil })
	return delivery{File: file}, err
}

// drop returns the directory that a hook's trigger watches. An identity cannot choose it: no trigger of its own has an
// absolute path, and in its workspace a link may take the place of a directory.
func (h *webhooks) drop(hook Hook) (string, error) {
	id, err := h.Find(hook.Agent)
	if err != nil {
		return "", err
	}
	watched, err := h.watchedBy(id, hook.Trigger)
	if err != nil {
		return "", fmt.Errorf("trigger %s of %s: %w", hook.Trigger, id.Name, err)
	}
	return watched, nil
}

// watchedBy returns the directory that a trigger watches: outside of the home, and reached by no link.
func (h *webhooks) watchedBy(id home.Identity, name string) (string, error) {
	parsed, err := h.ReadTrigger(filepath.Join(report.TriggersDir(id), name+".toml"), name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", home.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(parsed.Mail) {
		return "", errors.New("a webhook needs mail = \"/…\", an absolute path")
	}
	within, err := filepath.Rel(h.Dir, parsed.Mail)
	if err != nil || filepath.IsLocal(within) {
		return "", fmt.Errorf("%s is in the home; a webhook needs a directory outside of it", parsed.Mail)
	}
	real, err := filepath.EvalSymlinks(parsed.Mail)
	if err != nil {
		return "", err
	}
	if real != filepath.Clean(parsed.Mail) {
		return "", fmt.Errorf("%s is reached by a link; write %s", parsed.Mail, real)
	}
	return real, nil
}
