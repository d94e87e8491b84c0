package push_test

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/tools/web"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/push"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

var b64 = base64.RawURLEncoding

// phone is a browser that has subscribed.
type phone struct {
	name string
	key  *ecdh.PrivateKey
	auth []byte
}

func newPhone(name string) *phone {
	key, _ := ecdh.P256().GenerateKey(rand.Reader)
	p := &phone{name, key, make([]byte, 16)}
	rand.Read(p.auth)
	return p
}

// subscription is what the phone tells the page of itself.
func (p *phone) subscription(endpoint string) string {
	return fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`,
		endpoint, b64.EncodeToString(p.key.PublicKey().Bytes()), b64.EncodeToString(p.auth))
}

// read decrypts a message as RFC 8291 says.
func (p *phone) read(t testing.TB, body []byte) (shown map[string]string) {
	t.Helper()
	salt, size, n := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	from, sealed := body[21:21+n], body[21+n:]
	if len(sealed) > int(size) {
		t.Errorf("a record of %d bytes, and %d are said", len(sealed), size)
	}
	public, err := ecdh.P256().NewPublicKey(from)
	lethetest.Must(t, err)
	shared, err := p.key.ECDH(public)
	lethetest.Must(t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		key, err := hkdf.Key(sha256.New, secret, salt, info, n)
		lethetest.Must(t, err)
		return key
	}
	secret := derive(shared, p.auth, "WebPush: info\x00"+string(p.key.PublicKey().Bytes())+string(from), 32)
	block, err := aes.NewCipher(derive(secret, salt, "Content-Encoding: aes128gcm\x00", 16))
	lethetest.Must(t, err)
	gcm, err := cipher.NewGCM(block)
	lethetest.Must(t, err)
	plain, err := gcm.Open(nil, derive(secret, salt, "Content-Encoding: nonce\x00", 12), sealed, nil)
	lethetest.Must(t, err)
	text := strings.TrimRight(string(plain), "\x00")
	lethetest.Must(t, json.Unmarshal([]byte(strings.TrimSuffix(text, "\x02")), &shown))
	return shown
}

// service is a push service.
type service struct {
	*httptest.Server
	t      *testing.T
	key    string // public, of whom it takes messages
	phones map[string]*phone

	mu      sync.Mutex
	answers map[string][]string // by phone: what is answered in the place of 201, "429 1" with Retry-After
	got     map[string][]string // by phone: titles and texts that were taken
	asked   int
}

func serve(t *testing.T, key string, phones ...*phone) *service {
	s := &service{t: t, key: key, phones: map[string]*phone{}, answers: map[string][]string{}, got: map[string][]string{}}
	for _, p := range phones {
		s.phones[p.name] = p
	}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	name := strings.TrimPrefix(r.URL.Path, "/")
	if rest := s.answers[name]; len(rest) > 0 {
		s.answers[name] = rest[1:]
		status, after, _ := strings.Cut(rest[0], " ")
		code := map[string]int{"307": 307, "404": 404, "403": 403, "410": 410, "429": 429, "500": 500}[status]
		w.Header().Set("Retry-After", after)
		w.Header().Set("Location", s.URL+"/elsewhere")
		w.WriteHeader(code)
		return
	}
	token, key, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t="), ", k=")
	if claims := s.claims(token, key); claims["aud"] != s.URL || claims["sub"] != "https://lethe.example.org" {
		s.t.Errorf("the server shows itself as %v", claims)
	}
	for header, want := range map[string]string{"Content-Encoding": "aes128gcm", "TTL": "86400", "Urgency": "high"} {
		if got := r.Header.Get(header); got != want {
			s.t.Errorf("%s is %q", header, got)
		}
	}
	body, err := io.ReadAll(r.Body)
	if p := s.phones[name]; err != nil || p == nil {
		s.t.Errorf("a message for %q: %v", name, err)
	} else {
		shown := p.read(s.t, body)
		s.got[name] = append(s.got[name], fmt.Sprintf("%s: %s %s", shown["title"], shown["body"], shown["url"]))
		if len(shown) != 4 || len(shown["tag"]) != 16 {
			s.t.Errorf("the message has more or less than it needs: %v", shown)
		}
	}
	w.WriteHeader(http.StatusCreated)
}

// claims checks the signature of a token, and reads it.
func (s *service) claims(token, key string) (claims map[string]any) {
	signed, signature, _ := cutLast(token, ".")
	_, payload, _ := cutLast(signed, ".")
	point, _ := b64.DecodeString(key)
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	sig, _ := b64.DecodeString(signature)
	sum := sha256.Sum256([]byte(signed))
	if err != nil || key != s.key || len(sig) != 64 ||
		!ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		s.t.Errorf("the server's token is not signed with its key: %s", token)
		return nil
	}
	text, _ := b64.DecodeString(payload)
	_ = json.Unmarshal(text, &claims)
	return claims
}

func cutLast(s, sep string) (before, after string, ok bool) {
	at := strings.LastIndex(s, sep)
	return s[:max(at, 0)], s[at+1:], at >= 0
}

func (s *service) takes(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got[name])
}

// answer has the next messages to a phone answered so.
func (s *service) answer(name string, answers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[name] = answers
}

// transport trusts the service, and reaches what the settings allow.
func (s *service) transport(settings web.Settings) *http.Transport {
	to := settings.Transport()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	to.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	to.TLSClientConfig.RootCAs = pool
	return to
}

// world is a home whose server tells devices.
type world struct {
	t    *testing.T
	dir  string
	key  string
	to   http.RoundTripper
	stop func() // what run has started
}

func newWorld(t *testing.T) *world {
	dir := lethetest.Dir(t)
	lethetest.Must(t, durable.MkdirAll(filepath.Join(dir, "bridges", backend.Name), 0o700))
	return &world{t: t, dir: dir, key: push.NewKey(), stop: func() {}}
}

func (w *world) run() {
	w.t.Helper()
	watcher := chat.NewWatcher(0, nil)
	b, err := bridge.Open(bridge.Config{Home: w.dir, Name: backend.Name, Watcher: watcher})
	lethetest.Must(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = watcher.Run(ctx) })
	all.Go(func() { _ = b.Run(ctx) })
	all.Go(func() {
		lethetest.Must(w.t, push.Run(ctx, push.Config{
			Backend: &backend.Backend{Home: report.Home{Home: home.Home{Dir: w.dir}}, Bridge: b, Watcher: watcher},
			Room:    "notify-grace", Key: w.key, Contact: "https://lethe.example.org", Transport: w.to,
		}))
	})
	w.stop = sync.OnceFunc(func() { cancel(); all.Wait(); b.Close() })
	w.t.Cleanup(w.stop)
}

func (w *world) notice(at time.Time, text string) {
	w.t.Helper()
	line, err := chat.Format(true, "ada", at, text)
	lethetest.Must(w.t, err)
	_, _, err = chat.Append(chat.Path(w.dir, "notify-grace"), line)
	lethetest.Must(w.t, err)
}

func (w *world) devices() (names []string) {
	all, err := push.Devices(w.dir)
	lethetest.Must(w.t, err)
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// ready waits until every device is a peer of the bridge: from then on it gets what is said.
func (w *world) ready() {
	w.t.Helper()
	lethetest.Eventually(w.t, "each device is a peer", func() bool {
		peers, _ := filepath.Glob(filepath.Join(w.dir, "bridges", backend.Name, "peers", "push-*.json"))
		return len(peers) == len(w.devices())
	})
}

// Each notice reaches each device once and in order, whatever push services answer and over restarts; a device that is
// gone, and one that was removed, are forgotten.
func TestNotices(t *testing.T) {
	w := newWorld(t)
	_, public, _ := strings.Cut(w.key, ".")
	phones := []*phone{newPhone("phone"), newPhone("tablet"), newPhone("late")}
	s := serve(t, public, phones...)
	w.to = s.transport(web.Settings{Allow: []string{"127.0.0.1"}})
	for _, p := range phones[:2] {
		lethetest.Must(t, push.Add(w.dir, p.name, p.subscription(s.URL+"/"+p.name)))
	}
	lethetest.Must(t, push.Add(w.dir, "the phone\u202e", phones[0].subscription(s.URL+"/phone"))) // again, with another name
	if got := w.devices(); !slices.Equal(got, []string{"tablet", "the phone"}) {
		t.Fatalf("listed are %q", got)
	}
	w.run()
	w.ready()
	now := time.Now()
	want := []string{
		"ada asks: Deploy to production? · yes · after lunch /agents/ada/now?room=dev",
		"ada in ops: The budget of today is used up. /agents/ada/now?room=ops",
		"ada: " + strings.Repeat("é", 99) + "… /agents/ada/now",
	}
	s.answer("phone", "500", "429 1", "403", "307")
	w.notice(now, "(dev) ? q3fa9c1: Deploy\nto production?\n1) yes\n2) after lunch\nfor: grace")
	w.notice(now.Add(-25*time.Hour), "(dev) yesterday's news")
	w.notice(now, "(ops) The budget of today is used up.")
	got := func(name string, want ...string) {
		t.Helper()
		lethetest.Eventually(t, fmt.Sprintf("%s gets %q", name, want), func() bool { return len(s.takes(name)) >= len(want) })
		if got := s.takes(name); !slices.Equal(got, want) {
			t.Fatalf("%s has got %q, not %q", name, got, want)
		}
	}
	got("tablet", want[:2]...)
	lethetest.Eventually(t, "the phone's service refuses", func() bool {
		h := bridge.HealthOf(w.dir, backend.Name)
		return len(h.Unreachable) == 1 && (strings.Contains(h.Error, "403 Forbidden") || strings.Contains(h.Error, "307"))
	})
	w.stop()
	s.answer("phone")
	w.run() // after a restart it is tried at once, and what was sent is not sent again
	got("phone", want[:2]...)
	lethetest.Must(t, push.Add(w.dir, "", phones[2].subscription(s.URL+"/late")))
	w.ready()
	s.answer("tablet", "410")
	w.notice(now, strings.Repeat("é", 300))
	got("late", want[2])
	got("phone", want...)
	lethetest.Eventually(t, "the one that is gone is dropped",
		func() bool { return slices.Equal(w.devices(), []string{"the phone", "a device"}) })
	w.ready()
	all, err := push.Devices(w.dir)
	lethetest.Must(t, err)
	lethetest.Must(t, push.Remove(w.dir, all[0].ID))
	w.ready()
	w.notice(now, "(dev) one more")
	got("late", want[2], "ada in dev: one more /agents/ada/now?room=dev")
	w.stop()
	got("phone", want...)
	got("tablet", want[:2]...)
}

// What a page says of a device is checked, and no page has this program reach inside addresses: neither by a name of one,
// nor by a redirect to another place. The address of a subscription, which is a secret, is in no error.
func TestHostileSubscriptions(t *testing.T) {
	w := newWorld(t)
	p := newPhone("phone")
	for _, bad := range []string{
		"", "null", "[]", "{", p.subscription("http://push.example.org/x"), p.subscription("//push.example.org/x"),
		p.subscription("file:///etc/passwd"),
	} {
		if err := push.Add(w.dir, "x", bad); !errors.As(err, new(*report.InvalidError)) {
			t.Errorf("%.100q is taken: %v", bad, err)
		}
	}
	s := serve(t, "", p)
	for settings, words := range map[string]string{"": "address of this machine", "127.0.0.1": "307"} {
		var allow web.Settings
		if settings != "" {
			allow.Allow = []string{settings}
		}
		w.to = s.transport(allow)
		s.answer("secret", slices.Repeat([]string{"307"}, 100)...)
		lethetest.Must(t, push.Add(w.dir, "x", p.subscription(s.URL+"/secret")))
		w.run()
		w.ready()
		w.notice(time.Now(), "(dev) hello "+settings)
		var h bridge.Health
		lethetest.Eventually(t, words, func() bool { h = bridge.HealthOf(w.dir, backend.Name); return strings.Contains(h.Error, words) })
		if strings.Contains(h.Error, "secret") {
			t.Errorf("the address is told: %s", h.Error)
		}
		w.stop()
		s.mu.Lock()
		if (s.asked > 0) != (settings != "") || len(s.got) > 0 { // what stands elsewhere is no phone's, and would fail
			t.Errorf("allowed %q: it was asked %d times, and has got %q", settings, s.asked, s.got)
		}
		s.asked = 0
		s.mu.Unlock()
	}
}

// Each step of a change fails once before and once after it has happened: the list is that of before or after.
func TestBrokenList(t *testing.T) {
	for _, stage := range []durable.Stage{durable.Before, durable.After} {
		for n, failed := 1, true; failed; n++ {
			w, p, steps := newWorld(t), newPhone("phone"), 0
			lethetest.Must(t, push.Add(w.dir, "first", p.subscription("https://push.example.org/1")))
			failed = false
			mended := lethetest.Break(t, w.dir, func(s durable.Stage, _, _ string) error {
				if s == stage {
					if steps++; steps == n {
						failed = true
						return errors.New("broken")
					}
				}
				return nil
			})
			err := push.Add(w.dir, "second", p.subscription("https://push.example.org/2"))
			mended()
			got := w.devices()
			if (err != nil) != failed || !slices.Equal(got, []string{"first"}) && !slices.Equal(got, []string{"first", "second"}) ||
				err == nil && len(got) != 2 {
				t.Errorf("%s step %d: %v, and %q", stage, n, err, got)
			}
			lethetest.Must(t, push.Add(w.dir, "second", p.subscription("https://push.example.org/2")))
			if len(w.devices()) != 2 {
				t.Errorf("%s step %d, made again: %q", stage, n, w.devices())
			}
		}
	}
}

// The list is for its owner alone, and as docs/page.md has it. One that makes no sense is neither obeyed nor overwritten.
func TestFile(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "bridges", backend.Name, "devices.json")
	lethetest.Must(t, push.Add(w.dir, "x", newPhone("x").subscription("https://push.example.org/x")))
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	lethetest.Write(t, path, lethetest.Blocks(t, "page.md", "devices.json")[0])
	all, err := push.Devices(w.dir)
	if err != nil || len(all) != 1 || all[0].Name != "Grace's phone" || all[0].Keys.Auth == "" ||
		cmp.Or(all[0].Endpoint, all[0].ID) == "" || all[0].At.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	data, err := json.MarshalIndent(all, "", "  ")
	lethetest.Must(t, err)
	lethetest.Holds(t, path, string(data)+"\n")
	lethetest.Write(t, path, `[{"id"`)
	if err := push.Add(w.dir, "x", newPhone("x").subscription("https://push.example.org/x")); err == nil ||
		!strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	lethetest.Holds(t, path, `[{"id"`)
}
