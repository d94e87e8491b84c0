//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/internal/test/lethetest"
)

// agentOf connects the SDK's own client with lethe mcp.
func agentOf(t *testing.T, home string, flags ...string) (*sdk.ClientSession, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("lethe", append([]string{"--home", home, "mcp", "--offline"}, flags...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	lethetest.Must(t, err)
	return s, cmd
}

// toolText calls a tool and returns its text.
func toolText(t *testing.T, s *sdk.ClientSession, tool, args string) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	lethetest.Must(t, err)
	return r.Content[0].(*sdk.TextContent).Text
}

// What an agent of others only looks at runs nothing. Who is asked runs until the agent leaves, or where it runs
// already.
func TestAgentOfOthers(t *testing.T) {
	lethetest.Unraced(t)
	home := filepath.Join(t.TempDir(), "home")
	s, cmd := agentOf(t, home, "--as", "claude")
	nobody := func() {
		t.Helper()
		if text := toolText(t, s, "agents", `{}`); text != "[]" {
			t.Errorf("agents: %s", text)
		}
	}
	nobody()
	lethetest.Words(t, toolText(t, s, "recall", `{"query":"vault"}`), "find the default identity: not found")
	lethetest.Words(t, toolText(t, s, "ask", `{"question":"hello","identity":"eve"}`), `find identity "eve": not found`)
	nobody()
	lethetest.Words(t, toolText(t, s, "ask", `{"question":"what is 12*7?"}`), `"text": "12*7 = 84"`, `"name": "lethe"`)
	lethetest.Words(t, toolText(t, s, "read_room", `{"room":"dev"}`), `"name": "claude"`)
	lethetest.Words(t, toolText(t, s, "agents", `{}`), `"state": "idle"`)
	does(t, home, "ask", "are you there?") // it runs in there
	waits := toolText(t, s, "ask", `{"question":"run sleep 3; echo awake","seconds":1}`)
	_, handle, ok := strings.Cut(waits, "handle=")
	if !ok {
		t.Fatal(waits)
	}
	lethetest.Must(t, s.Close())
	if !cmd.ProcessState.Success() {
		t.Errorf("at the end of its input it ended with %v", cmd.ProcessState)
	}
	lethetest.Words(t, does(t, home, "agents"), "stopped")

	// Another one goes on waiting where the first has left, and takes the identity up.
	s, cmd = agentOf(t, home)
	lethetest.Words(t, toolText(t, s, "ask", `{"handle":"`+handle+`"}`), `"turn": 3`)
	lethetest.Must(t, cmd.Process.Kill())
	_ = s.Close()

	// Who waits is told when the agent beside it leaves, and takes the identity up when it goes on.
	first, _ := agentOf(t, home)
	toolText(t, first, "ask", `{"question":"hello"}`)
	s, _ = agentOf(t, home)
	left := time.AfterFunc(time.Second, func() { _ = first.Close() })
	defer left.Stop()
	text := toolText(t, s, "ask", `{"question":"run sleep 3; echo late"}`)
	_, later, ok := strings.Cut(text, "handle=")
	if text = toolText(t, s, "ask", `{"handle":"`+later+`"}`); !ok || !strings.Contains(text, "effect unknown") {
		t.Error(text)
	}
	lethetest.Must(t, s.Close())

	// Beside a daemon, which goes on.
	daemon := exec.Command("lethe", "--home", home, "run", "--offline")
	gone := begin(t, daemon)
	t.Cleanup(func() { end(daemon, gone) })
	lethetest.Eventually(t, "the daemon runs", func() bool { return strings.Contains(does(t, home, "agents"), "idle") })
	s, _ = agentOf(t, home, "--name", "lethe")
	lethetest.Words(t, toolText(t, s, "ask", `{"question":"what is 6*7?"}`), `"text": "6*7 = 42"`)
	// The handle holds over a stop that came after the answer, too.
	does(t, home, "stop")
	lethetest.Must(t, s.Close())
	s, _ = agentOf(t, home)
	lethetest.Words(t, toolText(t, s, "ask", `{"handle":"`+handle+`"}`), `"turn": 3`)
	lethetest.Must(t, s.Close())
}

// On standard output are messages alone, in every version of the protocol, and what makes no sense ends nothing.
func TestAgentFrames(t *testing.T) {
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	cmd := exec.CommandContext(ctx, "lethe", "--home", filepath.Join(t.TempDir(), "home"), "mcp", "--offline", "--verbose")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	lethetest.Must(t, err)
	var out bytes.Buffer
	more := make(chan string)
	r, w := io.Pipe()
	cmd.Stdout = io.MultiWriter(&out, w)
	go func() { // ends with w
		d := json.NewDecoder(r)
		for {
			var m json.RawMessage
			if d.Decode(&m) != nil {
				close(more)
				return
			}
			more <- string(m)
		}
	}()
	lethetest.Must(t, cmd.Start())
	for _, c := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`, `"protocolVersion":"2024-11-05"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"question":"hello"}}}`, `"id":2`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nothing","arguments":{}}}`, `"error"`},
		{`{"jsonrpc":"2.0","id":4,"method":"no/such","params":{}}`, `"error"`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"say","arguments":{"room":5}}}`, `"isError":true`},
	} {
		_, err := io.WriteString(in, c[0]+"\n")
		lethetest.Must(t, err)
		if got := <-more; !strings.Contains(got, c[1]) {
			t.Errorf("%s: %s", c[0], got)
		}
	}
	in.Close()
	lethetest.Must(t, cmd.Wait())
	w.Close()
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
			t.Errorf("no message: %q", line)
		}
	}
}

// What is no message ends it, and it says why.
func TestAgentOfGarbage(t *testing.T) {
	cmd := exec.Command("lethe", "--home", filepath.Join(t.TempDir(), "home"), "mcp", "--offline")
	cmd.Stdin = strings.NewReader("hello\n")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "lethe: read a message of the agent that has started this: invalid character") {
		t.Errorf("%v: %s", err, out)
	}
}
