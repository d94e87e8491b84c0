package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fixture is a served Server with a client.
type fixture struct {
	*Server
	t      *testing.T
	url    string
	client *http.Client
	stop   func() // ends Serve; called at the end of the test in any case
}

func start(t *testing.T, o Options) *fixture {
	t.Helper()
	f := &fixture{Server: New(o), t: t, client: &http.Client{Transport: &http.Transport{}}}
	f.serve("127.0.0.1:0")
	return f
}

func (f *fixture) serve(addr string) {
	f.t.Helper()
	url, err := f.Listen(addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.url = url
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.Serve(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				f.t.Errorf("serve: %v", err)
			}
		case <-time.After(30 * time.Second):
			f.t.Error("Serve does not end")
		}
		f.client.CloseIdleConnections()
	})
	f.t.Cleanup(f.stop)
}

// A reply is an answer of the server, read without the client's help.
type reply struct {
	HTTP        int
	Header      http.Header
	Body        string
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  parameters      `json:"parameters"`
}

func (f *fixture) do(r *http.Request) (reply, error) {
	resp, err := f.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	a := reply{HTTP: resp.StatusCode, Header: resp.Header, Body: string(body)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		_ = json.Unmarshal(body, &a) // a broken one leaves a as it is
	}
	return a, nil
}

func (f *fixture) try(ctx context.Context, method string, params any) (reply, error) {
	f.t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/bot"+f.Token()+"/"+method, bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return f.do(r)
}

// ask makes a call that has to be answered.
func (f *fixture) ask(method string, params any) reply {
	f.t.Helper()
	a, err := f.try(f.t.Context(), method, params)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

type object map[string]any

// updates is getUpdates, which has to succeed.
func (f *fixture) updates(params object) []models.Update {
	f.t.Helper()
	a := f.ask("getUpdates", params)
	var list []models.Update
	if err := json.Unmarshal(a.Result, &list); err != nil || !a.OK {
		f.t.Fatalf("getUpdates: %v: %s", err, a.Body)
	}
	return list
}

func ids(list []models.Update) []int64 {
	got := []int64{}
	for _, u := range list {
		got = append(got, u.ID)
	}
	return got
}

// refused checks an answer that is an error, in its three places.
func (f *fixture) refused(a reply, code int, description string) {
	f.t.Helper()
	if a.OK || a.HTTP != code || a.Code != code || a.Description != description {
		f.t.Errorf("got %d %s, want %d %q", a.HTTP, a.Body, code, description)
	}
}

// well checks that the bot did nothing that it must not do.
func (f *fixture) well() {
	f.t.Helper()
	for _, v := range f.Violations() {
		f.t.Errorf("violation: %s", v)
	}
}

// blamed checks that there is exactly one violation, with this in it.
func (f *fixture) blamed(text string) {
	f.t.Helper()
	if v := f.Violations(); len(v) != 1 || !strings.Contains(v[0], text) {
		f.t.Errorf("violations %q, want one with %q", v, text)
	}
}

// until waits for a state of the server.
func (f *fixture) until(ok func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := f.Wait(ctx, ok); err != nil {
		f.t.Fatalf("waited in vain: %v", err)
	}
}
