//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// editor is a client of lethe acp: the SDK's, over the pipes of a real process.
type editor struct {
	*sdk.ClientSideConnection
	sdk.Client // nil: it offers neither files nor terminals

	t   *testing.T
	cmd *exec.Cmd
	raw bytes.Buffer // all that came on standard output

	mu     sync.Mutex
	shown  strings.Builder // what a person would see, a line each
	first  bool            // nothing of an answer has come yet
	usage  *sdk.SessionUsageUpdate
	knows  []sdk.AvailableCommand
	asked  chan sdk.RequestPermissionRequest
	choice chan sdk.RequestPermissionOutcome
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	put := func(kind string, b sdk.ContentBlock) {
		e.shown.WriteString(kind + strings.TrimSpace(b.Text.Text) + "\n")
	}
	switch u := n.Update; {
	case u.AvailableCommandsUpdate != nil:
		e.knows = u.AvailableCommandsUpdate.AvailableCommands
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Image != nil:
		i := u.AgentMessageChunk.Content.Image
		e.shown.WriteString("image: " + i.MimeType + " " + i.Data + "\n")
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Resource != nil:
		r := u.AgentMessageChunk.Content.Resource.Resource.BlobResourceContents
		e.shown.WriteString("file: " + r.Uri + " " + *r.MimeType + " " + r.Blob + "\n")
	case u.AgentMessageChunk != nil:
		if text := u.AgentMessageChunk.Content.Text.Text; e.first && strings.HasPrefix(text, "\n") {
			e.t.Errorf("an answer begins with %q", text)
		}
		e.first = false
		put("agent: ", u.AgentMessageChunk.Content)
	case u.AgentThoughtChunk != nil:
		put("thought: ", u.AgentThoughtChunk.Content)
	case u.UserMessageChunk != nil:
		put("user: ", u.UserMessageChunk.Content)
	case u.ToolCall != nil:
		e.shown.WriteString("call: " + u.ToolCall.Title + " " + string(u.ToolCall.Status) + "\n")
		for _, at := range u.ToolCall.Locations {
			e.shown.WriteString("at: " + at.Path + "\n")
		}
		for _, c := range u.ToolCall.Content {
			e.shown.WriteString("diff: " + c.Diff.Path + " +" + c.Diff.NewText)
			if old := c.Diff.OldText; old != nil {
				e.shown.WriteString(" -" + *old)
			}
			e.shown.WriteString("\n")
		}
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		e.shown.WriteString("result: " + string(*u.ToolCallUpdate.Status))
		for _, c := range u.ToolCallUpdate.Content {
			e.shown.WriteString(" " + c.Content.Content.Text.Text)
		}
		e.shown.WriteString("\n")
	case u.UsageUpdate != nil:
		e.usage = u.UsageUpdate
	}
	return nil
}

func (e *editor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.asked <- r
	select {
	case outcome := <-e.choice:
		return sdk.RequestPermissionResponse{Outcome: outcome}, nil
	case <-ctx.Done():
		return sdk.RequestPermissionResponse{}, ctx.Err()
	}
}

func newEditor(t *testing.T, home string) *editor {
	t.Helper()
	e := &editor{t: t, asked: make(chan sdk.RequestPermissionRequest, 8), choice: make(chan sdk.RequestPermissionOutcome)}
	e.cmd = exec.Command("lethe", "--home", home, "acp", "--offline")
	e.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	e.cmd.Stderr = os.Stderr
	in, err := e.cmd.StdinPipe()
	lethetest.Must(t, err)
	out, err := e.cmd.StdoutPipe()
	lethetest.Must(t, err)
	lethetest.Must(t, e.cmd.Start())
	e.ClientSideConnection = sdk.NewClientSideConnection(e, in, io.TeeReader(out, &e.raw))
	t.Cleanup(func() { e.close(in) })
	r, err := e.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	lethetest.Must(t, err)
	if c := r.AgentCapabilities; len(r.AuthMethods) > 0 || !c.LoadSession || c.SessionCapabilities.List == nil ||
		c.SessionCapabilities.Resume == nil || c.McpCapabilities.Http {
		t.Errorf("%+v", r)
	}
	return e
}

// close ends the editor as it should, and looks at what it was sent: nothing but frames.
func (e *editor) close(in io.Closer) {
	in.Close()
	<-e.Done()
	_ = e.cmd.Wait()
	for line := range strings.Lines(e.raw.String()) {
		if strings.HasSuffix(line, "\n") && !(json.Valid([]byte(line)) && strings.HasPrefix(line, `{"jsonrpc":"2.0"`)) {
			e.t.Errorf("no frame: %q", line)
		}
	}
}

// opens opens a session in a folder.
func (e *editor) opens(dir string) (sdk.SessionId, error) {
	r, err := e.NewSession(e.t.Context(), sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	return r.SessionId, err
}

func (e *editor) session(dir string) sdk.SessionId {
	e.t.Helper()
	id, err := e.opens(dir)
	lethetest.Must(e.t, err)
	return id
}

// says says something, and returns how the turn ended.
func (e *editor) says(id sdk.SessionId, blocks ...sdk.ContentBlock) (sdk.StopReason, error) {
	e.mu.Lock()
	e.first = true
	e.mu.Unlock()
	r, err := e.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: id, Prompt: blocks})
	return r.StopReason, err
}

// begins says something, and returns a channel that tells how the turn ends.
func (e *editor) begins(id sdk.SessionId, words string) <-chan sdk.StopReason {
	done := make(chan sdk.StopReason, 1)
	go func() { // ends with the turn
		reason, err := e.says(id, text(words))
		if err != nil {
			e.t.Error(err)
		}
		done <- reason
	}()
	return done
}

func (e *editor) closes(id sdk.SessionId) {
	e.t.Helper()
	_, err := e.CloseSession(e.t.Context(), sdk.CloseSessionRequest{SessionId: id})
	lethetest.Must(e.t, err)
}

// prompt says something and returns how the turn ended and what was shown.
func (e *editor) prompt(id sdk.SessionId, blocks ...sdk.ContentBlock) (sdk.StopReason, string) {
	e.t.Helper()
	reason, err := e.says(id, blocks...)
	lethetest.Must(e.t, err)
	return reason, e.look()
}

// look returns what was shown since the last look.
func (e *editor) look() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.shown.Reset()
	return e.shown.String()
}

func (e *editor) shows(want string) {
	e.t.Helper()
	lethetest.Eventually(e.t, "the editor shows "+want, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(e.shown.String(), want)
	})
}

func text(s string) sdk.ContentBlock { return sdk.TextBlock(s) }

func TestEditor(t *testing.T) {
	lethetest.Unraced(t) // one process for all that follows
	home, dir := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "My Project")
	lethetest.Must(t, os.Mkdir(dir, 0o700))
	e := newEditor(t, home)
	if list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{}); err != nil || len(list.Sessions) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := e.opens("project"); err == nil || !strings.Contains(err.Error(), "not absolute") {
		t.Errorf("a session without a folder: %v", err)
	}
	id := e.session(dir)
	if !strings.HasPrefix(string(id), "my-project-") {
		t.Errorf("session %q", id)
	}

	if list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &dir}); err != nil || len(list.Sessions) != 1 ||
		list.Sessions[0].SessionId != id {
		t.Errorf("the session of an identity that was booted for it: %+v, %v", list, err)
	}

	task := filepath.Join(dir, "task")
	if id := e.session(task); !strings.HasPrefix(string(id), "acp-task-") {
		t.Errorf("session %q", id)
	}

	// a turn with a call, that works in the editor's folder
	reason, shown := e.prompt(id, text("write hello to greeting.txt and then read greeting.txt"))
	at := filepath.Join(dir, "greeting.txt") + "\n"
	lethetest.Words(t, shown, "call: WRITE_FILE greeting.txt hello in_progress\nat: "+at,
		"diff: "+strings.TrimSpace(at)+" +hello\nresult: completed\n",
		"call: READ_FILE greeting.txt in_progress\nat: "+at+"result: completed [", "agent: ")
	if data, err := os.ReadFile(filepath.Join(dir, "greeting.txt")); err != nil || reason != sdk.StopReasonEndTurn ||
		!strings.HasPrefix(string(data), "hello") || strings.Contains(shown, "user: ") {
		t.Errorf("%s: %q, %v\n%s", reason, data, err, shown)
	}
	lethetest.Eventually(t, "usage", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.usage != nil && e.usage.Size < 100_000 && e.usage.Used > 1000 && e.usage.Used < 5000 // without the room for the answer
	})

	// a long answer streams, and is shown once
	_, shown = e.prompt(id, text("count to 50"))
	counted := strings.ReplaceAll(joined(shown), "agent:", "")
	ends := strings.Contains(counted, "4950") || strings.Contains(counted, "49,50")
	if strings.Count(counted, "50") != 1 || !ends {
		t.Errorf("shown:\n%s", shown)
	}

	// files that it sends along, and the commands that there are
	lethetest.Must(t, os.WriteFile(filepath.Join(dir, "plot.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600))
	_, shown = e.prompt(id, text("say look in "+string(id)+" with plot.png\ngreeting.txt"))
	lethetest.Words(t, shown, "agent: look\nimage: image/png iVBORw0KGgo=\nagent: greeting.txt: lethe cat ",
		" > greeting.txt\nfile: lethe:greeting.txt text/plain aGVsbG8=")
	lethetest.Eventually(t, "commands", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		c := e.knows
		return len(c) == 6 && c[0].Name == "stop" && c[0].Input == nil && c[2].Name == "model" && c[2].Input.Unstructured.Hint == "NAME"
	})

	// files: as blobs and as text
	resource := func(uri, text string) sdk.ContentBlock {
		contents := &sdk.TextResourceContents{Uri: uri, Text: text}
		return sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: contents})
	}
	e.prompt(id, text("what is 2*3?"), sdk.ImageBlock(base64.StdEncoding.EncodeToString([]byte("PNG")), "image/png"),
		resource("file:///a.go", "package a"), sdk.ResourceLinkBlock("b.go", "file:///b.go"),
		resource("c.go", "// hash=0123456789abcdef"))
	room := lethetest.Read(t, filepath.Join(home, "chats", string(id)+".md"))
	lethetest.Words(t, room, "[image image/png 3 B hash=", "[file c.go text/plain 24 B hash=",
		"[file file:///a.go]\u2028package a\u2028[file b.go: file:///b.go]")
	if strings.Contains(room, "hash=0123456789abcdef") {
		t.Errorf("the room has\n%s", room)
	}
	if _, err := e.says(id, text(" ")); err == nil {
		t.Error("an empty prompt was said")
	}

	// cancelled: the prompt answers so
	cancelled := func(done <-chan sdk.StopReason) {
		t.Helper()
		if reason := <-done; reason != sdk.StopReasonCancelled {
			t.Errorf("cancelled: %s", reason)
		}
	}
	e.look()
	done := e.begins(id, "run sleep 60")
	e.shows("call: BASH sleep 60")
	lethetest.Must(t, e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}))
	cancelled(done)

	// a question: answered in the editor, and elsewhere
	go func() { e.choice <- sdk.NewRequestPermissionOutcomeSelected("yes") }()
	_, shown = e.prompt(id, text("ask me before you run echo 6x6"))
	if !strings.Contains(joined(shown), "BASH`echo6x6`") {
		t.Errorf("shown:\n%s", shown)
	}
	if q := <-e.asked; len(q.Options) != 2 || q.Options[1].Kind != sdk.PermissionOptionKindRejectOnce ||
		*q.ToolCall.Title != "Shall I run echo 6x6?" {
		t.Errorf("%+v", q)
	}
	done = e.begins(id, "ask me before you run echo 7x7")
	q := <-e.asked
	does(t, home, "answer", string(q.ToolCall.ToolCallId), "yes")
	<-done
	if shown := e.look(); !strings.Contains(joined(shown), "BASH`echo7x7`") {
		t.Errorf("shown:\n%s", shown)
	}

	// cancelled while it asks: the question stays open
	done = e.begins(id, "ask me before you run echo 8x8")
	<-e.asked
	lethetest.Must(t, e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}))
	cancelled(done)
	lethetest.Words(t, does(t, home, "questions"), "Shall I run echo 8x8?")

	// a session that is closed in the middle answers, and what goes on goes on
	other := e.session(dir)
	if other == id || !strings.HasPrefix(string(other), "my-project-") {
		t.Errorf("a session of a folder that is open: %s", other)
	}
	e.look()
	done = e.begins(other, "run sleep 1")
	e.shows("call: BASH sleep 1")
	e.closes(other)
	cancelled(done)
	if _, err := e.says(other, text("hello")); err == nil {
		t.Error("a session that is closed was used")
	}
	if again := e.session(dir + "/"); again != other {
		t.Errorf("a new session of the folder is %s, not %s", again, other)
	}
	e.closes(other)

	// what others say in the room is shown between prompts
	does(t, home, "say", "--as", "bob", string(id), "what is 8*8?")
	e.shows("user: bob: what is 8*8?")
	e.shows("8*8 = 64") // with what the other room still waits for
	testSecondEditor(t, e, home, dir, id)
}

// testSecondEditor attaches a second editor, kills the first, and goes on.
func testSecondEditor(t *testing.T, first *editor, home, dir string, id sdk.SessionId) {
	second := newEditor(t, home)
	cwd := dir
	list, err := second.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &cwd})
	if err != nil || len(list.Sessions) != 2 || list.Sessions[0].Cwd != dir {
		t.Errorf("%+v, %v", list, err)
	}
	loads := func(id sdk.SessionId) error {
		_, err := second.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: dir, McpServers: []sdk.McpServer{}})
		return err
	}
	if loads("../agents/x") == nil {
		t.Error("a path was loaded as a session")
	}
	lethetest.Must(t, loads(id))
	second.shows("image: image/png iVBORw0KGgo=")
	second.shows("user: what is 2*3?")
	second.shows("user: bob: what is 8*8?\nagent: ")
	second.look()
	done := second.begins(id, "run sleep 3; echo over")
	second.shows("call: BASH sleep 3")
	first.shows("call: BASH sleep 3") // the other editor sees it, too
	lethetest.Must(t, first.cmd.Process.Kill())
	// the second takes the identity up, and the turn ends; the call is not repeated
	select {
	case reason := <-done:
		if reason != sdk.StopReasonEndTurn {
			t.Errorf("ended with %s", reason)
		}
	case <-time.After(patience):
		t.Fatal("the turn did not go on")
	}
	second.shows("result: failed ")
	if _, err := second.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: id, Cwd: dir}); err != nil {
		t.Error(err)
	}
	if reason, shown := second.prompt(id, text("what is 9*9?")); reason != sdk.StopReasonEndTurn ||
		!strings.Contains(joined(shown), "9*9=81") {
		t.Errorf("%s: %s", reason, shown)
	}
	second.closes(id)
}

// The protocol's own library, on which most editors are built.
func TestEditorInJavaScript(t *testing.T) {
	lethetest.Unraced(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: install it, and run npm ci in internal/test/js")
	}
	js := filepath.Join(lethetest.Root(t), "internal/test/js")
	if _, err := os.Stat(filepath.Join(js, "node_modules/@agentclientprotocol/sdk")); err != nil {
		t.Skip("the package @agentclientprotocol/sdk is missing: run npm ci in internal/test/js")
	}
	lethe, err := exec.LookPath("lethe")
	lethetest.Must(t, err)
	asks := rehearsal.Call{Name: "WAIT", Arguments: `{"question":"Which colour do you like?"}`}
	model := rehearsal.New(rehearsal.Options{Script: []rehearsal.Step{
		{Contains: "ask me which colour", Answer: &rehearsal.Answer{Calls: []rehearsal.Call{asks}}},
	}})
	server := httptest.NewServer(model)
	defer server.Close()
	home, dir := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "My Project")
	lethetest.Must(t, os.Mkdir(dir, 0o700))
	config := fmt.Sprintf("[model]\nbase_url = %q\nname = \"deepseek-v4-pro\"\n", server.URL)
	if !canConfine() {
		config += "[tools]\nbash = \"trusted\"\n"
	}
	lethetest.Write(t, filepath.Join(home, "config.toml"), config)
	cmd := exec.CommandContext(t.Context(), node, lethetest.Given(t, "internal/test/js", "acp.mjs"))
	cmd.Env = append(os.Environ(), "LETHE="+lethe, "LETHE_HOME="+home, "DIR="+dir, "HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	lethetest.Must(t, err)
	var got struct {
		Session, Login, Wrong, Unknown, Big, Kind, Dev, End, First, Again, Cancelled, Stderr string
		Can, Has, Limited, Modelled, Ran, Loaded, Left                                       []string
		Asked                                                                                []any
		Exit, ExitOfFirst                                                                    int
	}
	lethetest.Must(t, json.Unmarshal(out, &got))
	for _, check := range []struct {
		what string
		got  any
		want string
	}{
		{"what the agent can", got.Can, "[close delete list resume]"},
		{"a method of login", got.Login, `-32602 there is no method "nothing": no login is needed`},
		{"the options", got.Has, "[model model deepseek-v4-pro limit undefined 100000]"},
		{"another limit", got.Limited, "[deepseek-v4-pro 64000]"},
		{"another model", got.Modelled, "[deepseek-v4-flash 64000]"},
		{"a limit of words", got.Wrong, `-32602 a limit is a number of tokens, and not "many"`},
		{"an unknown option", got.Unknown, `-32602 there is no option "colour"; there are model and limit`},
		{"a question", got.Asked, "[Which colour do you like? true [answer]]"},
		{"a prompt with a question", got.End, "end_turn"},
		{"a request that is cancelled", got.Cancelled, "cancelled"},
		{"calls", got.Ran, "[BASH echo hello WAIT Which colour do you like? BASH sleep 60]"},
		{"calls of a session that is loaded", got.Loaded, fmt.Sprint(got.Ran)},
		{"sessions without the deleted one", got.Left, "[dev]"},
		{"a room that no editor has opened", got.Dev,
			`-32602 no editor has opened the room "dev"; lethe rm --room removes a room`},
		{"the end", got.ExitOfFirst, "0"},
		{"the end by a message above all bounds", got.Exit, "1"},
	} {
		if text := fmt.Sprint(check.got); text != check.want {
			t.Errorf("%s: %s, want %s", check.what, text, check.want)
		}
	}
	lethetest.Words(t, got.Big, "-32602 the message has 11.5 MB, and may have 10.5 MB")
	lethetest.Words(t, got.Kind, `-32602 a block of the prompt is of the kind "smell"`)
	lethetest.Words(t, got.First, "servers of tools are not used: files, roof")
	lethetest.Words(t, got.Again, "run echo hello", "gave: hello", "ask me which colour I like", "Which colour do you like?", "green")
	lethetest.Words(t, got.Stderr, "the editor sent a message above 67.1 MB")
	room := lethetest.Read(t, filepath.Join(home, "chats", got.Session+".md"))
	lethetest.Words(t, room, " green")
}

// joined is what was shown without white space, and without the places where a text came in two pieces.
func joined(shown string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(shown, "\nagent: ", "")), "")
}
