package serve

import (
	"cmp"
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
	"regexp"
	"sync"
	"time"

	"lethe/agent/home"
	"lethe/agent/wake/trigger"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/internal/durable"
)

const (
	maxHook = 10 << 20 // bytes that a trigger takes as mail

	// Bodies of senders who show no token are read within bounds.
	mostHooks    = 16               // at once
	mostHooksOf  = 4                // of one peer
	strangerTime = 20 * time.Second // for all of a body, with the wait for its place
)

// webhooks puts what POST /hooks/NAME is sent into the directory of a trigger that waits for mail.
type webhooks struct {
	*backend.Backend
	guard  *guard.Guard
	hooks  map[string]Hook
	tokens map[string]string
	slots  chan struct{}
	one    sync.Mutex // held while a delivery is looked up and put there

	mu    sync.Mutex
	peers map[netip.Prefix]chan struct{} // the places of each
}

func (c Config) webhooks(mux *http.ServeMux, b *backend.Backend, g *guard.Guard) error {
	h := &webhooks{
		Backend: b, guard: g, hooks: c.Hooks, tokens: map[string]string{},
		slots: make(chan struct{}, mostHooks), peers: map[netip.Prefix]chan struct{}{},
	}
	for name := range c.Hooks {
		token, err := makeToken(HookTokenFile(c.Home.Dir, name), newToken)
		if err != nil {
			return err
		}
		h.tokens[name] = token
	}
	mux.HandleFunc("POST /hooks/{name}", h.take)
	return nil
}

type delivery struct {
	File     string `json:"file"` // that the trigger finds
	Repeated bool   `json:"repeated,omitempty"`
}

func (h *webhooks) take(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, known, err := h.read(w, r, h.tokens[name])
	switch {
	case !known:
		h.guard.Wrong(w, r, "each webhook has its own, in bridges/serve/hooks of the home")
		return
	case err == nil:
		var d delivery
		if d, err = h.deliver(name, fileName(name, r.Header), body); err == nil {
			h.Bridge.Exchanged()
			backend.WriteJSON(w, http.StatusAccepted, d)
			return
		}
		h.Log.Warn("a webhook is not taken", "hook", name, "error", err)
	}
	backend.WriteError(w, err)
}

// read reads the body, and says whether the sender knows the token: it shows it, or has signed the
// body with it.
func (h *webhooks) read(w http.ResponseWriter, r *http.Request, token string) (body []byte, known bool, err error) {
	shown, signed := cmp.Or(guard.Bearer(r), r.Header.Get("X-Gitlab-Token")), r.Header.Get("X-Hub-Signature-256")
	if token == "" || shown != "" && !guard.Same(shown, token) || shown == "" && signed == "" {
		return nil, false, nil
	}
	if shown == "" { // the sender may be anybody, and slow
		over := time.After(strangerTime)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerTime)) // which the guard's writer has
		for _, slots := range []chan struct{}{h.placesOf(guard.Peer(r)), h.slots} {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-over:
				return nil, true, backend.Refuse(http.StatusServiceUnavailable,
					"send it again, or show the token", "too many bodies are read of senders who show no token")
			}
		}
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
	if shown != "" || err != nil {
		return body, true, err
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(body)
	return body, guard.Same(signed, "sha256="+hex.EncodeToString(mac.Sum(nil))), nil
}

// placesOf returns the places for bodies of a peer. After many peers all begin anew; a body keeps its place.
func (h *webhooks) placesOf(peer netip.Prefix) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.peers) >= 10_000 {
		clear(h.peers)
	}
	if h.peers[peer] == nil {
		h.peers[peer] = make(chan struct{}, mostHooksOf)
	}
	return h.peers[peer]
}

var (
	plainID    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })
	plainEvent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`) })
)

// fileName names the file of a delivery: the same for the same one, whenever it comes again.
func fileName(hook string, h http.Header) string {
	id := cmp.Or(h.Get("Idempotency-Key"), h.Get("X-GitHub-Delivery"), h.Get("X-Gitlab-Event-UUID"), rand.Text())
	if !plainID().MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:16])
	}
	name := hook + "-" + id
	if what := cmp.Or(h.Get("X-GitHub-Event"), h.Get("X-Gitea-Event")); plainEvent().MatchString(what) {
		name += "." + what
	}
	return name
}

// deliver puts a body where the trigger looks, once.
func (h *webhooks) deliver(hook, file string, body []byte) (delivery, error) {
	d := delivery{File: file}
	path, err := h.drop(h.hooks[hook])
	if err != nil {
		return d, err
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return d, err
	}
	defer dir.Close()
	h.one.Lock()
	defer h.one.Unlock()
	// In this order: the trigger moves a file, and never back.
	for _, there := range []string{file, "processed/" + file, "failed/" + file} {
		_, err := dir.Lstat(there)
		if d.Repeated = err == nil; d.Repeated {
			return d, durable.SyncDir(path) // whoever put it there may have died before
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return d, err
		}
	}
	return d, durable.WriteFileIn(dir, file, body, 0o600)
}

// drop is the directory that a hook's trigger watches. An identity cannot choose it: no trigger of its
// own has an absolute path, and in its workspace a link may take the place of a directory.
func (h *webhooks) drop(hook Hook) (real string, err error) {
	id, err := h.Find(hook.Agent)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("trigger %s of %s: %w", hook.Trigger, id.Name, err)
		}
	}()
	data, err := durable.ReadWhole(filepath.Join(report.TriggersDir(id), hook.Trigger+".toml"), trigger.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", home.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	t, err := trigger.Parse(hook.Trigger, data, h.Zone)
	if err != nil {
		return "", err
	}
	within, err := filepath.Rel(h.Dir, t.Mail)
	switch {
	case !filepath.IsAbs(t.Mail):
		return "", errors.New("a webhook needs mail = \"/…\", an absolute path")
	case err != nil || filepath.IsLocal(within):
		return "", fmt.Errorf("%s is in the home; a webhook needs a directory outside of it", t.Mail)
	}
	real, err = filepath.EvalSymlinks(t.Mail)
	if err == nil && real != filepath.Clean(t.Mail) {
		err = fmt.Errorf("%s is reached by a link; write %s", t.Mail, real)
	}
	return real, err
}
