package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/tools/catalogue"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

func names(items []catalogue.Item) string {
	var all []string
	for _, i := range items {
		all = append(all, i.Name)
	}
	return strings.Join(all, " ")
}

const goodTools = "good/confirm good/crash good/echo good/fail good/figures good/files good/hang good/look good/more " +
	"good/offers good/rounds"

// Nothing runs before it is asked; what it said then is known to the next program, which starts nothing either.
func TestListing(t *testing.T) {
	confined(t)
	dir := t.TempDir()
	word := "listing" + filepath.Base(filepath.Dir(dir))
	all := map[string]Server{"good": actAs("good", word)}
	s := servers(t, dir, all)
	if got := names(s.Items()); got != "good" || running(word) > 0 {
		t.Fatal(got)
	}
	if _, err := os.Stat(dir + "/mcp"); err == nil {
		t.Error("a file was made before anything ran")
	}
	items := s.Ask(t.Context())
	if got := names(items); got != goodTools {
		t.Fatal(got, items[0].Text)
	}
	lethetest.Words(t, items[2].About+items[2].Text, "does echo", `args: {`, `"text":{"type":"string"}`)
	again := servers(t, dir, all)
	if got := names(again.Items()); got != goodTools {
		t.Error(got)
	}
	if got := use(again, "good/echo", `{"text":"hello"}`); got != "you said hello" {
		t.Error(got)
	}
	for _, path := range []string{"/mcp", "/mcp/good/home", "/mcp/good/tmp"} {
		if fi, err := os.Stat(dir + path); err != nil || fi.Mode().Perm() != 0o700 {
			t.Error(path, fi, err)
		}
	}
	other := all["good"]
	other.Command = append(other.Command, "v2")
	if got := names(servers(t, dir, map[string]Server{"good": other}).Items()); got != "good" {
		t.Error("the listing of another command is shown:", got)
	}
	file := lethetest.Read(t, dir+"/mcp/good.json")
	lethetest.Write(t, dir+"/mcp/good.json", strings.Replace(file, "does echo", "does evil", 1))
	if got := names(servers(t, dir, all).Items()); got != "good" {
		t.Error("a damaged listing is shown:", got)
	}
}

// Each kind of content comes as what it is, and a tool that says that it failed has failed.
func TestUse(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"good": actAs("good")})
	for call, want := range map[string]string{
		"good/fail":    "failed: it is closed",
		"good/figures": `{"n":7}`,
		"good/none":    "error: good has no none (any more): TOOLS finds what it has",
		"good":         "error: good is no tool: TOOLS finds those that there are",
		"bad/echo":     "error: bad/echo is no tool: TOOLS finds those that there are",
	} {
		if got := use(s, call, `{"text":""}`); got != want {
			t.Errorf("%s: %s", call, got)
		}
	}
	for _, args := range []string{"[1]", "null", "{", `"x"`} {
		if got := use(s, "good/echo", args); !strings.HasPrefix(got, "error: args have to be a JSON object") {
			t.Error(args, got)
		}
	}
	if got := use(s, "good/echo", `{"text":7}`); !strings.HasPrefix(got, "failed: ") && !strings.HasPrefix(got, "error: ") {
		t.Error(got)
	}
	a, err := s.Use(t.Context(), "good/files", json.RawMessage(`{"text":""}`), catalogue.Call{})
	lethetest.Must(t, err)
	var files []string
	for _, f := range a.Files {
		files = append(files, f.About()+"="+string(f.Data))
	}
	if got := strings.Join(files, " "); got != "image/png=png audio/wav=wav a.txt=a note" || string(a.Text) != "file:///b.txt b: another" {
		t.Error(got, string(a.Text))
	}
}

// A server has its own environment, HOME and paths, and nothing of ours; what it gets of our environment is struck out.
func TestConfined(t *testing.T) {
	confined(t)
	dir := t.TempDir()
	secrets := t.TempDir()
	t.Setenv("HIDDEN", "nobody sees this")
	t.Setenv("SOME_TOKEN", "tok-0123456789")
	server := actAs("good")
	server.Env = map[string]string{"TOKEN": "$SOME_TOKEN", "SECRET_DIR": secrets}
	look := func(s Server) string {
		return use(servers(t, t.TempDir(), map[string]Server{"good": s}), "good/look", `{"text":""}`)
	}
	lethetest.Words(t, look(server), "/mcp/good/home", `secret ""`, `token "tok-0123456789"`, "read false")
	if got := secret.Text("it is tok-0123456789"); strings.Contains(got, "tok-") {
		t.Error(got)
	}
	server.Read = append(server.Read, secrets)
	lethetest.Words(t, look(server), "read true")
	server.Env["TOKEN"] = "$NO_SUCH_TOKEN"
	if got, want := look(server), "error: mcp.good: TOKEN is to be $NO_SUCH_TOKEN, and the environment of lethe has no "+
		"NO_SUCH_TOKEN"; !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	own := actAs("good")
	own.Write = []string{dir}
	if got := use(servers(t, dir+"/home", map[string]Server{"good": own}), "good/look", "{}"); !strings.Contains(got,
		"overlaps with the home") {
		t.Error(got)
	}
}

// Whatever a server does wrong, it costs one error that says what it was.
func TestHostile(t *testing.T) {
	confined(t)
	for act, want := range map[string]string{
		"silent":  "it did not answer within 2s of its start",
		"garbage": "it did not answer within 2s of its start. The last that it wrote:\nWelcome to my server!",
		"endless": "invalid character 'x'",
		"huge":    "exceeded the configured maximum line length",
		"dies":    "it ended with exit code 3. The last that it wrote:\nno token, no tools",
		"pages":   "it lists more than 4000 tools",
	} {
		t.Run(act, func(t *testing.T) {
			dir := t.TempDir()
			word := "hostile" + act + filepath.Base(filepath.Dir(dir))
			s := servers(t, dir, map[string]Server{"bad": actAs(act, word)})
			if act == "silent" || act == "garbage" {
				s.handshake = 2 * time.Second
			}
			got := use(s, "bad/echo", "{}")
			if !strings.Contains(got, "the server bad does not work: ") || !strings.Contains(got, want) {
				t.Errorf("%s", got)
			}
			if n := running(word); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			if again := use(s, "bad/echo", "{}"); !strings.Contains(again, "It can be started again in") {
				t.Error(again)
			}
			items := s.Ask(t.Context())
			if len(items) != 1 || !strings.Contains(items[0].Text, want) {
				t.Error(items)
			}
		})
	}
}

// A server that dies in a call, or never answers it, costs that call; then it is started again.
func TestRestart(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"good": actAs("good")})
	one := s.all[0]
	one.pause.InitialInterval, one.pause.MaxInterval = time.Microsecond, time.Microsecond
	if got := use(s, "good/crash", `{"text":""}`); !strings.Contains(got,
		"it ended with exit code 9. The last that it wrote:\npanic: out of luck") {
		t.Error(got)
	}
	if got := use(s, "good/echo", `{"text":"again"}`); got != "you said again" {
		t.Error(got)
	}
	s.call = 50 * time.Millisecond
	if got := use(s, "good/hang", `{"text":""}`); !strings.Contains(got,
		"it did not answer within 50ms, and was stopped. What it did is not known") {
		t.Error(got)
	}
	s.call = callTime
	lethetest.Eventually(t, "the server runs again", func() bool {
		return use(s, "good/echo", `{"text":"again"}`) == "you said again"
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := one.live
	if _, err := s.Use(ctx, "good/hang", json.RawMessage(`{"text":""}`), catalogue.Call{}); err == nil {
		t.Error("a call that was given up has an answer")
	}
	if use(s, "good/echo", `{"text":"x"}`); one.live != before {
		t.Error("a call that its caller gave up has ended the server")
	}
}

// A server on an older library is started again by its protocol, which is remembered. Prose between its messages is
// passed over, a page that comes again ends its list, and no digit of what it says is lost.
func TestOlder(t *testing.T) {
	confined(t)
	for _, unknown := range []string{"ends", "waits"} {
		dir := t.TempDir()
		s := servers(t, dir, map[string]Server{"old": actAs("older", unknown)})
		s.handshake = 6 * time.Second
		items, left, err := s.Test(t.Context(), "old", nil)
		if err != nil || names(items) != "old/count/all" || len(left) != 1 || !strings.Contains(left[0], `"bad name"`) {
			t.Fatal(names(items), left, err)
		}
		if got := use(s, "old/count/all", "{}"); got != "2 items\n"+`{"result":[9007199254740993,1.0]}` {
			t.Error(got)
		}
		s.Close()
		again := servers(t, dir, map[string]Server{"old": actAs("older", unknown)})
		again.handshake = time.Second // which leaves no time for a first attempt in vain
		if got := use(again, "old/count/all", "{}"); !strings.HasPrefix(got, "2 items") {
			t.Error(got)
		}
	}
}

// A program that starts slowly, but within the time of a start, is used.
func TestSlowStart(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"slow": actAs("slow")})
	s.handshake = 2800 * time.Millisecond // half of it is for the newest protocol, and too short
	if got := use(s, "slow/echo", `{"text":"x"}`); got != "you said x" {
		t.Error(got)
	}
}

// An error of the library is about a call, as long as the server answers a ping: it goes on in the same process.
func TestPing(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"good": actAs("good")})
	use(s, "good/echo", `{"text":"x"}`)
	before := s.all[0].live
	if got := use(s, "good/rounds", `{"text":""}`); !strings.HasPrefix(got, "error: ") {
		t.Fatal(got)
	}
	if got := use(s, "good/echo", `{"text":"y"}`); got != "you said y" || s.all[0].live != before {
		t.Errorf("a healthy server was stopped: %s", got)
	}
}

// An argument that a tool's schema does not list is refused, and its right name told; unless the schema leaves more open.
func TestUnknownArguments(t *testing.T) {
	const properties = `"type":"object","properties":{"path":{},"dryRun":{}}`
	for schema, refused := range map[string]bool{
		"{" + properties + "}":                                        true,
		"{" + properties + `,"additionalProperties":false}`:           true,
		"{" + properties + `,"additionalProperties":true}`:            false,
		"{" + properties + `,"additionalProperties":{"type":"x"}}`:    false,
		"{" + properties + `,"anyOf":[{"properties":{"dry_run":1}}]}`: false,
		`{"type":"object","properties":{}}`:                           false,
		`{"type":"object"}`:                                           false,
		`null`:                                                        false,
	} {
		item := catalogue.Item{Name: "files/rm", Text: "args: " + schema}
		err := unknown(item, map[string]json.RawMessage{"path": nil, "dry_run": nil})
		if (err != nil) != refused {
			t.Errorf("%s: %v", schema, err)
		}
		const want = `not called: files/rm takes no argument "dry_run"; its arguments are ["dryRun" "path"]`
		if refused && err.Error() != want {
			t.Error(err)
		}
		if err := unknown(item, map[string]json.RawMessage{"path": nil}); err != nil {
			t.Error(err)
		}
	}
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"good": actAs("good")})
	if got := use(s, "good/crash", `{"txt":"x"}`); got != `error: not called: good/crash takes no argument "txt"; its arguments are ["text"]` {
		t.Error(got)
	}
	if got := use(s, "good/echo", `{"text":"x"}`); got != "you said x" {
		t.Error(got)
	}
}

// Servers hear that people answer by a form and by opening an address.
func TestDeclared(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"good": actAs("good")})
	lethetest.Words(t, use(s, "good/offers", `{"text":""}`), `"form":{}`, `"url":{}`)
}

// Calls in the pause after a failure neither lengthen it nor are told within each other.
func TestPause(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"bad": actAs("dies")})
	use(s, "bad/echo", "{}")
	until := s.all[0].resume
	first := use(s, "bad/echo", "{}")
	for range 5 {
		if got := use(s, "bad/echo", "{}"); len(got) > len(first)+10 || strings.Count(got, "does not work") != 1 {
			t.Error(got)
		}
	}
	if !s.all[0].resume.Equal(until) {
		t.Error("a call in the pause has lengthened it")
	}
}

func TestRepeats(t *testing.T) {
	for _, test := range []struct {
		texts   []string
		content string
		want    bool
	}{
		{[]string{`{ "a": 1 }`}, `{"a":1}`, true}, {[]string{"two"}, `{"result":"two"}`, true}, {[]string{"7"}, `{"result":7}`, true},
		{[]string{`{"a":1}`, `{"a":2}`}, `{"result":[{"a":1},{"a":2}]}`, true}, {[]string{"one", "two"}, `{"result":["one","two"]}`, true},
		{[]string{"2 items"}, `{"result":[1,2]}`, false}, {nil, `{"a":1}`, false}, {[]string{`{"a":1}`}, `{"a":1,"b":2}`, false},
		{[]string{"9007199254740992"}, `{"result":9007199254740993}`, false},
	} {
		if got := repeats(test.texts, test.content); got != test.want {
			t.Errorf("%q, %s: %v", test.texts, test.content, got)
		}
	}
}

// The addresses that people have to open stand in an error's data alone.
func TestAddressed(t *testing.T) {
	err := addressed(&jsonrpc.Error{Code: sdk.CodeURLElicitationRequired, Message: "log in first",
		Data: json.RawMessage(`{"elicitations":[{"mode":"url","url":"https://far.example/login","message":"Log in"}]}`)})
	if !strings.Contains(err.Error(), "log in first\nHave people open this address, then call again: https://far.example/login Log in") {
		t.Error(err)
	}
}

// A server that reads nothing once it has started holds neither a test of it nor a call that is longer than its pipe.
func TestDeaf(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"deaf": actAs("deaf")})
	if items, _, err := s.Test(t.Context(), "deaf", nil); err != nil || names(items) != "deaf/echo" {
		t.Error(names(items), err)
	}
	s.call = 50 * time.Millisecond
	if got := use(s, "deaf/echo", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`); !strings.Contains(got, "it did not answer within 50ms") {
		t.Error(got)
	}
}

// A list that changes while the server runs is known soon after, without a call.
func TestChangedList(t *testing.T) {
	confined(t)
	s := servers(t, t.TempDir(), map[string]Server{"good": actAs("good")})
	if got := use(s, "good/more", `{"text":"newer"}`); got != "added" {
		t.Fatal(got)
	}
	lethetest.Eventually(t, "the new tool is listed", func() bool { return strings.Contains(names(s.Items()), "good/newer") })
	if got := use(s, "good/newer", `{"text":""}`); got != "new" {
		t.Error(got)
	}
}

// An idle server is closed, and starts again when it is called.
func TestIdle(t *testing.T) {
	confined(t)
	dir := t.TempDir()
	word := "idle" + filepath.Base(filepath.Dir(dir))
	s := servers(t, dir, map[string]Server{"good": actAs("good", word)})
	s.idle = time.Millisecond
	for range 2 {
		if got := use(s, "good/echo", `{"text":"x"}`); got != "you said x" {
			t.Error(got)
		}
		lethetest.Eventually(t, "nothing of it runs", func() bool { return running(word) == 0 })
	}
}

// Nothing of five servers is left when their host is killed: neither they nor what they started.
func TestKilled(t *testing.T) {
	confined(t)
	for range lethetest.Sample(1, 3, 100) {
		dir := t.TempDir()
		word := "killed" + strings.ReplaceAll(dir, "/", "-")
		host := exec.Command(os.Args[0], "act-as", "host", dir, word)
		out, err := host.StdoutPipe()
		lethetest.Must(t, err)
		lethetest.Must(t, host.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		if line != fmt.Sprintln(55) {
			t.Error(line, err)
		}
		if n := running(word); n < 11 { // the host, five servers, their children
			t.Errorf("%d processes run", n)
		}
		lethetest.Must(t, host.Process.Kill())
		_ = host.Wait()
		lethetest.Eventually(t, "nothing is left", func() bool { return running(word) == 0 })
	}
}

// Over HTTP, with both protocols: headers go to the server, and to no other host.
func TestHTTP(t *testing.T) {
	for _, stateless := range []bool{true, false} { // with a session the newest protocol is refused
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() },
			&sdk.StreamableHTTPOptions{Stateless: stateless})
		var stranger string
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stranger = r.Header.Get("Authorization") }))
		own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Authorization") != "Bearer 0123456789":
				http.Error(w, "who are you?", http.StatusUnauthorized)
			case r.URL.Path == "/away":
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			case r.URL.Path == "/big":
				w.Header().Set("Content-Type", "application/json")
				for range 200 {
					fmt.Fprint(w, strings.Repeat(" ", 1<<16))
				}
			default:
				handler.ServeHTTP(w, r)
			}
		}))
		t.Setenv("FAR_TOKEN", "0123456789")
		headers := map[string]string{"Authorization": "Bearer $FAR_TOKEN"}
		s := servers(t, t.TempDir(), map[string]Server{
			"good": {URL: own.URL, Headers: headers}, "away": {URL: own.URL + "/away", Headers: headers},
			"big": {URL: own.URL + "/big", Headers: headers}, "stranger": {URL: own.URL},
		})
		if got := use(s, "good/echo", `{"text":"hello"}`); got != "you said hello" {
			t.Error(stateless, got)
		}
		for name, want := range map[string]string{
			"away": "refuse its redirect to 127.0.0.1", "big": "too large", "stranger": "Unauthorized",
		} {
			if got := use(s, name+"/echo", "{}"); !strings.Contains(got, want) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if stranger != "" {
			t.Error("another host was told", stranger)
		}
		s.Close()
		own.Close()
		other.Close()
	}
}

// A server elsewhere that was started anew knows no session of before: the call is made once more, in a new one.
func TestForgottenSession(t *testing.T) {
	var handler atomic.Pointer[sdk.StreamableHTTPHandler]
	restart := func() {
		soon := &sdk.StreamableHTTPOptions{SessionTimeout: 100 * time.Millisecond} // which ends the forgotten ones
		handler.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, soon))
	}
	restart()
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	defer own.Close()
	s := servers(t, t.TempDir(), map[string]Server{"good": {URL: own.URL}})
	for range 2 {
		if got := use(s, "good/echo", `{"text":"hello"}`); got != "you said hello" {
			t.Error(got)
		}
		restart()
	}
	s.Close()
}

func TestCheck(t *testing.T) {
	for want, s := range map[string]Server{
		"":                             {Command: []string{"x"}, Read: []string{"/a", "~/b"}},
		"either a command":             {},
		"either a command, such":       {Command: []string{"x"}, URL: "https://example.org/mcp"},
		"is neither https nor":         {URL: "http://example.org/mcp"},
		`"https://ada:pw@example.org"`: {URL: "https://ada:pw@example.org"},
		"headers are for a url":        {Command: []string{"x"}, Headers: map[string]string{"A": "b"}},
		"are for a command":            {URL: "https://example.org", Network: true},
		"take absolute paths":          {Command: []string{"x"}, Write: []string{"notes"}},
	} {
		if err := s.Check("github", false); err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, s := range []Server{{Command: []string{"x"}, Network: true}, {URL: "http://[::1]:80/mcp"}} {
		if s.Check("a", false) != nil || s.Check("a", true) == nil || s.Check("A b", false) == nil {
			t.Error(s)
		}
	}
}

// What a server asks in the middle of a call waits for people, longer than it may idle; then the call goes on. By the
// newest protocol the server returns the question, by older ones it calls.
func TestQuestion(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	web := httptest.NewServer(handler)
	defer web.Close()
	defer web.CloseClientConnections()
	s := servers(t, t.TempDir(), map[string]Server{"new": actAs("good"), "old": {URL: web.URL}})
	defer s.Close() // before the server at the address
	s.idle = time.Millisecond
	for _, name := range []string{"new", "old"} {
		got := use(s, name+"/confirm", `{"text":"all"}`)
		lethetest.Words(t, got, name+" asks people before it goes on", "Really delete all?", `"why"`, "name "+name+"/answer")
		const wrong = `{"question":"Really delete it?","action":"accept"}`
		if got := use(s, name+"/answer", wrong); !strings.Contains(got, "word for word: Really delete all?") {
			t.Error(name, got)
		}
		if got := use(s, name+"/confirm", `{"text":"more"}`); got != "cancel, since <nil>" { // one at a time
			t.Error(name, got)
		}
		other := catalogue.Call{Life: "of another identity"}
		const yes = `{"question":"Really delete all?","action":"accept","content":{"why":"spring"}}`
		if a, err := s.Use(t.Context(), name+"/answer", json.RawMessage(yes), other); err == nil {
			t.Errorf("%s: another identity answers, and gets %s", name, a.Text)
		}
		if got := use(s, name+"/answer", yes); got != "accept, since spring" {
			t.Error(name, got)
		}
		if got := use(s, name+"/answer", yes); !strings.Contains(got, "asks you nothing (any more)") {
			t.Error(name, got)
		}
	}
	s.asked = time.Millisecond
	for _, name := range []string{"new", "old"} { // a question that nobody answers
		use(s, name+"/confirm", `{"text":"all"}`)
		lethetest.Eventually(t, "it is dismissed", func() bool {
			one := s.called(name)
			one.mu.Lock()
			defer one.mu.Unlock()
			return len(one.waiting)+len(one.open) == 0 && (one.live == nil || one.live.calls == 0)
		})
	}
	s.asked = time.Hour
	use(s, "new/confirm", `{"text":"all"}`)
	use(s, "new/crash", `{"text":""}`)
	s.all[0].mu.Lock()
	s.all[0].resume = time.Time{} // no pause
	s.all[0].mu.Unlock()
	if got := use(s, "new/answer", `{"question":"Really delete all?","action":"accept"}`); !strings.Contains(got,
		"asks you nothing (any more)") {
		t.Error(got)
	}
}

// What a server asks reaches the identity whose call it is. Where the protocol does not tell, and two identities call,
// nobody is asked.
func TestQuestionOfTwo(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	web := httptest.NewServer(handler)
	defer web.Close()
	defer web.CloseClientConnections()
	s := servers(t, t.TempDir(), map[string]Server{"new": actAs("good"), "old": {URL: web.URL}})
	defer s.Close() // before the server at the address
	as := func(life, name, args string) string {
		a, err := s.Use(t.Context(), name, json.RawMessage(args), catalogue.Call{Life: life})
		return fmt.Sprint(string(a.Text), err)
	}
	for _, name := range []string{"new", "old"} {
		other := &pending{life: "ann"} // is under way
		one := s.called(name)
		one.mu.Lock()
		one.open[other] = true
		one.mu.Unlock()
		got := as("bob", name+"/confirm", `{"text":"his"}`)
		if name == "new" {
			lethetest.Words(t, got, "Really delete his?")
			lethetest.Words(t, as("ann", name+"/confirm", `{"text":"hers"}`), "Really delete hers?")
			lethetest.Words(t, as("bob", name+"/answer", `{"question":"Really delete his?","action":"decline"}`), "decline")
			lethetest.Words(t, as("ann", name+"/answer", `{"question":"Really delete hers?","action":"accept"}`), "accept")
		} else if got != "cancel, since <nil><nil>" {
			t.Error(got)
		}
	}
}
