package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, dir string) *Host {
	t.Helper()
	h, err := Open(dir, Options{Offline: true})
	lethetest.Must(t, err)
	return h
}

func start(t *testing.T, h *Host, name string) *Identity {
	t.Helper()
	i, err := h.Start(t.Context(), home.BootOptions{Name: name})
	lethetest.Must(t, err)
	return i
}

// said is what a reply says, short.
func said(r Reply) string {
	if r.Question != nil {
		return "? " + r.Question.Text
	}
	return r.Text
}

func TestSay(t *testing.T) {
	h := open(t, t.TempDir())
	ada := start(t, h, "ada")
	for _, c := range []struct{ text, answer string }{
		{"what is 12*7?", "12*7 = 84"}, {"/jobs", "No jobs run."}, {"/jobs", "No jobs run."}, {"what is 12*7?", "12*7 = 84"},
		{"ask me before you run echo hello", "? Shall I run echo hello?"}, {"yes", "BASH `echo hello` "},
	} {
		r, err := ada.Say(t.Context(), "", c.text)
		if err != nil || !strings.HasPrefix(said(r), c.answer) || r.Name != "ada" || r.Room != "dev" {
			t.Fatalf("%q: %+v, %v", c.text, r, err)
		}
		if model := !strings.HasPrefix(c.text, "/"); model != (r.Turn > 0) || model && (r.Calls < 1 || r.In < 1000) || r.At.IsZero() {
			t.Errorf("%q: %+v", c.text, r)
		}
	}
	if _, err := ada.Say(t.Context(), "ops", "hello"); !errors.Is(err, ErrNotHeard) {
		t.Errorf("in a room that is not heard: %v", err)
	}
	if r, err := ada.Say(t.Context(), "", "say hi "+strings.Repeat("x", 3<<20)); err != nil || r.Text == "" {
		t.Errorf("a line of which only the beginning is heard: %+v, %v", r, err)
	}
	lethetest.Must(t, ada.Join("ops"))
	if r, err := ada.Say(t.Context(), "ops", "what is 2*3?"); err != nil || r.Text != "2*3 = 6" || r.Room != "ops" {
		t.Errorf("%+v, %v", r, err)
	}
	key := "gh" + "p_" + "q7Zr2mVx9Kt4Lw8Nb3Hd6Fs1Gj5Pc0YaTeUi"
	for _, text := range []string{"what is 2*3? " + key, "/jobs " + key} { // which is heard, and logged, with a mark
		ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
		if r, err := ada.Say(ctx, "", text); err != nil || r.Text == "" {
			t.Errorf("a line with a secret: %+v, %v", r, err)
		}
		end()
	}
	lethetest.Must(t, h.Close())
}

// TestSaidIsInTheRoom says that an answer that was waited for stands in the room, however long that takes
// behind the line that decides it.
func TestSaidIsInTheRoom(t *testing.T) {
	dir := t.TempDir()
	room := chat.Path(dir, "dev")
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if op == "append" && path == room && stage == durable.Before {
			time.Sleep(50 * time.Millisecond) // the disk is slow
		}
		return nil
	}
	defer func() { durable.Fault = nil }()
	inRoom := func(text string, r Reply) {
		t.Helper()
		if all, err := os.ReadFile(room); err != nil || r.Text == "" || !strings.Contains(string(all), r.Text) {
			t.Errorf("%q: %q is not in the room: %s, %v", text, r.Text, all, err)
		}
	}
	h := open(t, dir)
	ada := start(t, h, "ada")
	for _, text := range []string{"what is 12*7?", "/jobs"} {
		r, err := ada.Say(t.Context(), "", text)
		lethetest.Must(t, err)
		inRoom(text, r)
	}
	lethetest.Must(t, h.Close())

	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	t.Setenv("LETHE_API_KEY", "a key for a test")
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "config.toml"),
		[]byte("[model]\nbase_url = \""+refuses.URL+"\"\nname = \"m\"\n"), 0o600))
	h, err := Open(dir, Options{})
	lethetest.Must(t, err)
	ada = start(t, h, "eve")
	r, err := ada.Say(t.Context(), "", "hello")
	if paused := (*PausedError)(nil); !errors.As(err, &paused) {
		t.Errorf("the model refuses: %v", err)
	}
	inRoom("hello", r)
	lethetest.Must(t, h.Close())
}

// stuck is what an identity is busy with until it is stopped.
func stuck(t *testing.T, h *Host, i *Identity, busy func()) (Reply, error) {
	asked, err := i.Ask("dev")
	lethetest.Must(t, err)
	line, err := Post(h.home, "dev", "eve", "run sleep 60")
	lethetest.Must(t, err)
	return asked.Await(t.Context(), line, func(e events.Event) error {
		if e.Type == events.ToolRequest {
			busy()
		}
		return nil
	})
}

// A turn that somebody stops ends the wait, and so does the end of the context, which leaves the turn alone.
func TestSayCutOff(t *testing.T) {
	h := open(t, t.TempDir())
	ada := start(t, h, "ada")
	busy := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		r, err := stuck(t, h, ada, func() { close(busy) })
		if r.Ended != "stop" {
			err = errors.Join(err, errors.New("it ended with "+r.Ended+": "+r.Text))
		}
		done <- err
	}()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ada.Say(ctx, "", "what is 2*3?"); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
	if r, err := ada.Say(t.Context(), "dev", "/stop"); err != nil || r.Text != "Stopped." {
		t.Errorf("%+v, %v", r, err)
	}
	lethetest.Must(t, <-done)
	lethetest.Must(t, h.Close())
}

// What the harness remarks in a room is no part of an answer.
func TestNotice(t *testing.T) {
	asked := turn{Reply: Reply{Room: "dev"}, line: "mine"}
	for _, e := range []events.Event{
		{Type: events.UserMessage, Room: "dev", Heard: events.Heard{Line: "mine"}, Entry: "e2", Turn: 1},
		{Type: events.Error, Entry: "k1", Turn: 1}, {Type: events.MessageDone, Room: "dev", Entry: "k1", Turn: 1,
			Text: "I cannot reach the model."},
		{Type: events.MessageDone, Room: "dev", Entry: "e3", Turn: 1, Text: "4"},
	} {
		asked.take(e)
	}
	if asked.Text != "4" {
		t.Errorf("%q", asked.Text)
	}
}

// An identity that is started twice is one; who is told that it has stopped can have it run again at once; and
// a program may close twice.
func TestTwice(t *testing.T) {
	h := open(t, t.TempDir())
	ada, same := start(t, h, "ada"), start(t, h, "ada")
	if !ada.Inside() || !same.Inside() {
		t.Error("it runs in another program")
	}
	stopped := make(chan error, 1)
	for range 5 {
		if _, err := stuck(t, h, ada, func() {
			go func() {
				stopped <- home.Ask(same.Identity,
					home.WishStop)
			}()
		}); !errors.Is(err, ErrDismissed) {
			t.Errorf("it was stopped: %v", err)
		}
		lethetest.Must(t, <-stopped)
		lethetest.Must(t, ada.Resume(t.Context()))
		if r, err := same.Say(t.Context(), "", "what is 2*3?"); err != nil || !strings.Contains(r.Text, "2*3 = 6") {
			t.Errorf("%+v, %v", r, err)
		}
	}
	lethetest.Must(t, same.Stop())
	if ada.Inside() {
		t.Error("Stop does not wait")
	}
	lethetest.Must(t, h.Close())
	lethetest.Must(t, h.Close())
}

// Two programs share an identity: one runs it, the other talks with it, and takes it up when it has stopped.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	ada, same := start(t, first, "ada"), start(t, second, "ada")
	if !ada.Inside() || same.Inside() {
		t.Fatal("it runs in the wrong program")
	}
	if r, err := same.Say(t.Context(), "", "remember that the sky is green"); err != nil || r.Turn != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	closed := make(chan error, 1)
	if _, err := stuck(t, second, same, func() { go func() { closed <- first.Close() }() }); !errors.Is(err, ErrStopped) {
		t.Errorf("it was stopped: %v", err)
	}
	lethetest.Must(t, <-closed)
	lethetest.Must(t, same.Resume(t.Context()))
	if r, err := same.Say(t.Context(), "", "what did I say about the sky?"); err != nil ||
		!strings.Contains(r.Text, "the sky is green") || !same.Inside() {
		t.Errorf("%+v, %v", r, err)
	}
	lethetest.Must(t, same.Stop())
	lethetest.Must(t, second.Close())
	var types []string
	third := open(t, dir)
	found, err := third.Find("")
	lethetest.Must(t, err)
	stops := 0
	for e, err := range found.Events(t.Context(), "") {
		lethetest.Must(t, err)
		types = append(types, e.Type)
		if e.Type == events.Stopped {
			stops++
		}
		if stops == 2 {
			break
		}
	}
	if types[0] != events.Booted || len(types) < 10 {
		t.Errorf("%q", types)
	}
	lethetest.Must(t, third.Close())
}

// What makes no sense is refused: settings, a name that is none, an identity that is not there.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[modle]\nname = 1"), 0o600))
	var wrong *config.Error
	if _, err := Open(dir, Options{Offline: true}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "modle") {
		t.Errorf("%v", err)
	}
	lethetest.Must(t, os.Remove(filepath.Join(dir, "config.toml")))
	h := open(t, dir)
	if _, err := h.Start(t.Context(), home.BootOptions{Name: "No Name"}); err == nil {
		t.Error("a name that is none was booted")
	}
	if _, err := h.Find("nobody"); !errors.Is(err, home.ErrNotFound) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Start(ctx, home.BootOptions{Name: "ada"}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	lethetest.Must(t, h.Close())
}

// A limit above a model's window is refused; of a model that nobody knows, the endpoint is asked once, and one that does
// not tell keeps nobody from starting.
func TestWindow(t *testing.T) {
	t.Setenv("LETHE_API_KEY", "sk-0123456789abcdef")
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"own","max_model_len":30000},{"id":"other","context_length":20000},{"id":"mute"}]}`)
		}
	}))
	defer server.Close()
	prepare := func(model string, limit int, path string) (llm.Known, error) {
		var s config.Settings
		s.Model.BaseURL, s.Model.Name, s.Context.Limit = server.URL+path, model, limit
		h, err := New(home.Home{Dir: t.TempDir()}, s, Options{})
		return h.known, err
	}
	for _, test := range []struct {
		model  string
		limit  int
		path   string
		window int
		says   string
		asked  int
	}{
		{"own", 30000, "/v1", 30000, "", 1},
		{"own", 30001, "/v1", 30000, "context.limit = 30001 is above the window of own, 30000 tokens (20", 1},
		{"mute", 5_000_000, "/v1", 0, "", 1},
		{"own", 5_000_000, "/nothing", 0, "", 1},
		{"deepseek-v4-pro", 1_000_000, "/v1", 1_000_000, "", 0},
		{"deepseek-v4-pro", 1_000_001, "/v1", 1_000_000, "is above the window of deepseek-v4-pro, 1000000 tokens (2026-11-23", 0},
	} {
		asked = 0
		known, err := prepare(test.model, test.limit, test.path)
		if info, _ := known.Of(test.model); info.Window != test.window || asked != test.asked {
			t.Errorf("%+v: %+v, asked %d times", test, info, asked)
		}
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// A model of the server in use may be called as a preset is: it is asked, and no other provider.
func TestModelLikeAPreset(t *testing.T) {
	t.Setenv("MISTRAL_API_KEY", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"qwen3:8b"},{"id":"mistral:7b"}]}`)
		}
	}))
	defer server.Close()
	for _, test := range []struct {
		toml string
		o    Options
		want string
	}{
		{"preset = \"ollama\"\nname = \"mistral:7b\"", Options{}, "ollama:mistral:7b"},
		{"preset = \"ollama\"\nname = \"mistral:unlisted\"", Options{}, "ollama:mistral:unlisted"},
		{"name = \"gpt-5.1\"", Options{Preset: "ollama", Model: "mistral:unlisted"}, "ollama:mistral:unlisted"},
		{"preset = \"ollama\"", Options{Model: "mistral:7b"}, "ollama:mistral:7b"},
		{"preset = \"ollama\"", Options{Model: "mistral:unlisted"}, "mistral:unlisted"},
		{"preset = \"ollama\"\nfallback = [\"mistral:7b\"]", Options{Model: "qwen3:8b"}, "qwen3:8b ollama:mistral:7b"},
	} {
		var s config.Settings
		toml := fmt.Sprintf("[model]\nbase_url = %q\n%s", server.URL+"/v1", test.toml)
		lethetest.Must(t, config.Parse("config.toml", []byte(toml), &s))
		h, err := New(home.Home{Dir: t.TempDir()}, s, test.o)
		lethetest.Must(t, err)
		thinking := h.thinking()
		if got := strings.Join(append([]string{thinking.Params.Model}, thinking.Fallback...), " "); got != test.want {
			t.Errorf("%+v asks %s", test, got)
		}
	}
}

// The program of docs/embed.md compiles, and the JSON there is a Reply.
func TestDocumented(t *testing.T) {
	lethetest.Unraced(t)
	var r Reply
	dec := json.NewDecoder(strings.NewReader(lethetest.Blocks(t, "embed.md", "json")[0]))
	dec.DisallowUnknownFields()
	lethetest.Must(t, dec.Decode(&r))
	if r.Name != "ada" || r.Calls != 1 || r.USD == 0 {
		t.Errorf("%+v", r)
	}
	file := filepath.Join("testdata", "embed", "main.go")
	lethetest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	defer os.RemoveAll("testdata")
	lethetest.Must(t, os.WriteFile(file, []byte(lethetest.Blocks(t, "embed.md", "go")[0]), 0o600))
	if out, err := exec.Command("go", "vet", "./"+filepath.Dir(file)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A host that only looks runs nothing, and says what it lacks.
func TestLookRunsNothing(t *testing.T) {
	t.Parallel()
	place, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	h, err := New(place, config.Settings{}, Options{Offline: true})
	lethetest.Must(t, err)
	id, err := h.Boot(home.BootOptions{Name: "ada"})
	lethetest.Must(t, errors.Join(err, h.Close()))
	h, err = Look(place, config.Settings{}, Options{})
	lethetest.Must(t, err)
	if err := h.Of(id).Resume(t.Context()); !errors.Is(err, llm.ErrNoKey) {
		t.Error(err)
	}
	lethetest.Must(t, h.Close())
}
