//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// asked keeps what a model is asked, but for the tasks of compactions.
type asked struct {
	*travel
	model  *rehearsal.Server
	bodies [][]byte
}

func newAsked(t *testing.T) *asked {
	a := &asked{travel: &travel{T: t}, model: rehearsal.New(rehearsal.Options{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		isTask := bytes.Contains(body, []byte(`<task name=`))
		if r.Method == http.MethodPost && !isTask {
			a.mu.Lock()
			a.bodies = append(a.bodies, body)
			a.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// rerun returns the report of lethe rerun, and what the model was asked for it.
func (a *asked) rerun(home string, args ...string) (r struct {
	Moments []struct {
		Entry string
		Same  bool `json:"same_calls"`
	}
	Differ int
	Ended  string
}, bodies [][]byte) {
	a.Helper()
	before := len(a.bodies)
	out := a.lethe(home, append([]string{"rerun", "ada", "--json", "--yes"}, args...)...)
	lethetest.Must(a, json.Unmarshal(out, &r))
	return r, a.bodies[before:]
}

// A past request that is asked again is the same to the byte, over a compaction, and the life is not touched. A turn
// ends at the first call that differs; a budget and a missing yes end it before anything is asked.
func TestRerun(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	home := a.newHome()
	var lines []string
	for n := range 13 {
		lines = append(lines, fmt.Sprintf("run echo number %d of the long list of numbers that are counted here", n))
	}
	a.lines(home, func() { a.lethe(home, "context", "ada", "--compact") }, lines...)
	a.lines(home, func() {}, lines...)
	then := a.bodies
	if len(then) < 50 {
		t.Fatalf("only %d requests", len(then))
	}
	life := a.life(home)
	r, now := a.rerun(home, "--from", "epoch 0", "--to", "now")
	if len(now) != len(then) || len(r.Moments) != len(then) || r.Differ != 0 {
		t.Fatalf("%d requests again, %d of then, %d differ", len(now), len(then), r.Differ)
	}
	for i := range then {
		if !bytes.Equal(then[i], now[i]) {
			t.Fatalf("request %d is not the same:\n%s\n%s", i, then[i], now[i])
		}
	}
	first := r.Moments[0].Entry
	if r, now = a.rerun(home, "--at", first); len(now) != 2 || r.Ended != "" {
		t.Errorf("a turn: %d requests, %+v", len(now), r)
	}
	call := rehearsal.Call{Name: "BASH", Arguments: `{"command":"true"}`}
	a.model.Push(rehearsal.Step{Answer: &rehearsal.Answer{Calls: []rehearsal.Call{call}}})
	if r, now = a.rerun(home, "--at", first); len(now) != 1 || r.Differ != 1 || r.Ended == "" {
		t.Errorf("another call: %d requests, %+v", len(now), r)
	}

	soul := filepath.Join(lethetest.Dir(t), "soul.md")
	lethetest.Write(t, soul, "You are a gull.\n")
	if _, now = a.rerun(home, "--at", first, "--soul", soul); !bytes.Contains(now[0], []byte(`"content":"You are a gull.\n\n`)) {
		t.Errorf("another soul: %.300s", now[0])
	}
	asked := len(a.bodies)
	a.refuses(2, home, "rerun", "ada", "--at", first, "--json")
	a.priced(home, 0.01)
	said := a.refuses(1, home, "rerun", "ada", "--at", first, "--yes")
	lethetest.Words(t, said, "at most", "of 0.01 USD")
	if len(a.bodies) != asked {
		t.Errorf("%d requests were sent without a yes, or beyond the budget", len(a.bodies)-asked)
	}
	if !bytes.Equal(life, a.life(home)) {
		t.Error("LIFE.md has changed")
	}
}

// priced gives a home a price, and a limit of a day.
func (a *asked) priced(home string, day float64) {
	a.Helper()
	lethetest.Write(a, filepath.Join(home, "config.toml"), fmt.Sprintf("[model]\nbase_url = %q\nname = \"rehearsal\"\n"+
		"[budget]\nday_usd = %v\n[prices.rehearsal]\nhit = 1\nmiss = 1\noutput = 1\n", a.url, day))
}

// What reruns cost is in the ledger, so repeated ones cannot pass a day's limit, wherever one is killed. No life tells.
func TestRerunIsPaid(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	home := a.newHome()
	a.lines(home, func() {}, "hello", "what is new?")
	a.priced(home, 1000)
	life := a.life(home)
	spent := func() (usd float64) {
		var told struct {
			Descendants struct{ Day float64 } `json:"descendants_usd"`
		}
		lethetest.Must(t, json.Unmarshal(a.lethe(home, "budget", "ada", "--json"), &told))
		return told.Descendants.Day
	}
	args := []string{"rerun", "ada", "--from", "epoch 0", "--json", "--yes"}
	var whole struct {
		Now     float64 `json:"now_usd"`
		Moments []struct{ Now struct{ USD float64 } }
	}
	trace := filepath.Join(lethetest.Dir(t), "trace")
	cmd := bare(t, home, []string{"LETHE_API_KEY=x", traceTo + "=" + trace}, args...)
	out, err := cmd.Output()
	lethetest.Must(t, err)
	lethetest.Must(t, json.Unmarshal(out, &whole))
	same := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	if !same(spent(), whole.Now) || whole.Now == 0 {
		t.Errorf("the report has %v USD, and the ledger %v", whole.Now, spent())
	}
	writes := strings.Count(lethetest.Read(t, trace), "\n")
	if writes < 4 {
		t.Fatalf("only %d steps are durable", writes)
	}
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			asked, before := len(a.bodies), spent()
			_ = a.command(home, fmt.Sprintf("%s:%d", when, n), args...).Run()
			billed := 0.0
			for i := range len(a.bodies) - asked {
				billed += whole.Moments[i].Now.USD
			}
			if spent()-before < billed-1e-9 {
				t.Errorf("killed %s %d: %v USD were billed, and %v are counted", when, n, billed, spent()-before)
			}
		}
	}
	limit := spent() + 0.1
	a.priced(home, limit)
	runs := 0
	for ; a.command(home, "", args...).Run() == nil; runs++ {
		if runs > 100 {
			t.Fatal("there is no end")
		}
	}
	asked := len(a.bodies)
	lethetest.Words(t, a.refuses(1, home, args...), "at most", "ada has spent")
	if runs == 0 || spent() > limit || len(a.bodies) > asked+1 {
		t.Errorf("%d reruns cost %v USD of %v; then %d requests", runs, spent(), limit, len(a.bodies)-asked)
	}
	if !bytes.Equal(life, a.life(home)) {
		t.Error("LIFE.md has changed")
	}
}

// With another limit a request has what a life with that limit would have asked: all, or less, never more than the
// limit; and the original of what is left out. The life and its texts are not touched.
func TestRerunWithinLimit(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	home := a.newHome()
	var lines []string
	for n := range 12 {
		lines = append(lines, fmt.Sprintf("the berth of boat %d is at pier %d, and %s", n, 90+n, strings.Repeat("the tide is low. ", 225)))
	}
	a.lines(home, func() { a.lethe(home, "context", "ada", "--compact") }, lines...)
	a.lines(home, func() {}, lines...)
	life, texts := a.life(home), count(t, home)
	size := func(bodies [][]byte) (most int) {
		for _, body := range bodies {
			most = max(most, len(body))
		}
		return most
	}
	r, then := a.rerun(home, "--from", "epoch 0")
	fewer, less := a.rerun(home, "--from", "epoch 0", "--limit", "20000")
	_, more := a.rerun(home, "--from", "epoch 0", "--limit", "100000")
	if len(less) != len(then) || len(more) != len(then) || len(fewer.Moments) != len(r.Moments) {
		t.Fatalf("%d, %d, %d requests", len(then), len(less), len(more))
	}
	if size(less) > 20000*4 || size(less) >= size(then) || size(more) <= size(then) {
		t.Errorf("the largest request has %d bytes, then %d, with more %d", size(less), size(then), size(more))
	}
	if !bytes.Equal(then[0], more[0]) || !bytes.Contains(less[len(less)-1], []byte("e1..e")) {
		t.Errorf("the first request with more room differs, or nothing has faded:\n%.900s", less[len(less)-1])
	}
	for n, line := range lines { // since a limit that is large lets nothing fade
		if !bytes.Contains(more[len(more)-1], []byte(line)) {
			t.Errorf("line %d has faded", n)
		}
	}
	stems := 0
	for i := 1; i < len(less); i++ {
		if prefix := less[i-1][:len(less[i-1])/2]; bytes.HasPrefix(less[i], prefix) {
			stems++
		}
	}
	if stems < len(less)/2 {
		t.Errorf("only %d of %d requests begin as the one before", stems, len(less))
	}
	lethetest.Words(t, a.refuses(1, home, "rerun", "ada", "--at", "now", "--limit", "3000", "--yes"), "--limit is too small")
	if !bytes.Equal(life, a.life(home)) || count(t, home) != texts {
		t.Error("the life has changed, or has other texts")
	}
}

func (a *asked) life(home string) []byte {
	a.Helper()
	logs, err := filepath.Glob(filepath.Join(home, "agents", "*", "LIFE.md"))
	lethetest.Must(a, err)
	life, err := os.ReadFile(logs[0])
	lethetest.Must(a, err)
	return life
}

// count counts the texts of a home.
func count(t *testing.T, home string) (n int) {
	lethetest.Must(t, filepath.WalkDir(filepath.Join(home, "blobs"), func(string, fs.DirEntry, error) error { n++; return nil }))
	return n
}

// The page tells the price, asks behind a yes, and shows what the command shows.
func TestRerunOnThePage(t *testing.T) {
	t.Parallel()
	a, s := newAsked(t), newServed(t)
	s.home = a.newHome()
	a.lines(s.home, func() {}, "hello")
	a.priced(s.home, 1)
	s.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(s.home, "bridges", "serve", "socket"))
	}
	s.server = bare(t, s.home, []string{"LETHE_API_KEY=x"}, "serve", "--addr", "127.0.0.1:0")
	s.gone = begin(t, s.server)
	post := func(form string) string {
		resp := s.do(t.Context(), new(sync.Mutex), "POST", "/agents/ada/rerun/ask", form,
			"Content-Type", "application/x-www-form-urlencoded")
		text, err := io.ReadAll(resp.Body)
		lethetest.Must(t, errors.Join(err, resp.Body.Close()))
		return string(text)
	}
	asked := len(a.bodies)
	lethetest.Words(t, post("from=epoch+0"), "1 requests to rehearsal", "at most 0.0", "not confirmed", `value="true">Ask`)
	lethetest.Words(t, post("at=e99"), "its newest entry is e")
	if len(a.bodies) != asked {
		t.Error("it was asked without a yes")
	}
	lethetest.Words(t, post("from=epoch+0&yes=true"), "e3 now, rehearsal", "1 answers, other calls in 0")
	if len(a.bodies) != asked+1 || !bytes.Equal(a.bodies[asked], a.bodies[0]) {
		t.Errorf("%d requests", len(a.bodies)-asked)
	}
}

var hashes = regexp.MustCompile(`[0-9a-f]{16,}`)

// What a life with a large limit is asked with a smaller one is what a life with the smaller one was asked, but for
// hashes, over compactions without a model. Each life weighs a token by what its own requests were told to cost: where a
// chunk ends within that difference, the two cut at other entries. Lines of this length leave none there.
func TestRerunIsTheOtherLife(t *testing.T) {
	t.Parallel()
	var lines []string
	for n := range 24 {
		lines = append(lines, fmt.Sprintf("the berth of boat %d is at pier %d, and %s", n, 90+n, strings.Repeat("the tide is low. ", 225)))
	}
	lived := func(limit int) (*asked, string) {
		a := newAsked(t)
		home := a.newHome()
		lethetest.Write(a, filepath.Join(home, "config.toml"), fmt.Sprintf("[model]\nbase_url = %q\nname = \"rehearsal\"\n"+
			"[context]\nlimit = %d\n[compactor]\nmode = \"mechanical\"\n[recall]\nhints = \"off\"\n", a.url, limit))
		a.lines(home, func() {}, lines...)
		return a, home
	}
	small, _ := lived(20_000)
	large, home := lived(100_000)
	_, now := large.rerun(home, "--from", "epoch 0", "--limit", "20000")
	faded := 0
	for i, then := range small.bodies {
		want, got := hashes.ReplaceAll(then, []byte("#")), hashes.ReplaceAll(now[i], []byte("#"))
		if !bytes.Equal(want, got) {
			at := 0
			for at < min(len(want), len(got)) && want[at] == got[at] {
				at++
			}
			t.Fatalf("request %d differs at %d: %.300s\n%.300s", i, at, want[at:], got[at:])
		}
		if bytes.Contains(then, []byte(" summary ◱hash=")) {
			faded++
		}
	}
	if faded < 10 {
		t.Errorf("in %d of %d requests something had faded", faded, len(now))
	}
}
