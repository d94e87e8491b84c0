package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/agent/hook"
	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// hooks makes a directory of hooks of shell scripts, by "event/name".
func hooks(t *testing.T, scripts map[string]string) *hook.Set {
	t.Helper()
	s := &hook.Set{Dir: filepath.Join(lethetest.Dir(t), "hooks")}
	for name, script := range scripts {
		path := filepath.Join(s.Dir, name)
		lethetest.Write(t, path, "#!/bin/sh\n"+script+"\n")
		lethetest.Must(t, os.Chmod(path, 0o700))
	}
	return s
}

func want(t *testing.T, got, want hook.Answer) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// Each way to answer, as Claude Code, crush and this package have it, has its effect and no other.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event, script string
		want          hook.Answer
	}{
		{hook.Turn, `echo; echo " today is Monday "`, hook.Answer{Context: "today is Monday"}},
		{hook.Turn, `echo '{"context":"it rains"}'`, hook.Answer{Context: "it rains"}},
		{hook.Turn, `echo '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"it rains"}}'`,
			hook.Answer{Context: "it rains"}},
		{hook.Turn, `echo not today >&2; exit 2`, hook.Answer{Context: "hook turn/h: not today"}},
		{hook.Turn, `printf 'a\377b'`, hook.Answer{Context: "ab"}},

		{hook.Call, `true`, hook.Answer{}},
		{hook.Call, `echo looked at it`, hook.Answer{}},
		{hook.Call, `echo '{}'`, hook.Answer{}},
		{hook.Call, `echo '{"decision":null,"updated_input":null,"hookSpecificOutput":null}'`, hook.Answer{}},
		{hook.Call, `echo '{"decision":"allow"}'`, hook.Answer{}},
		{hook.Call, `echo '{"decision":"approve","reason":"fine","continue":true,"systemMessage":"x"}'`, hook.Answer{}},
		{hook.Call, `echo "no pushing" >&2; exit 2`, hook.Answer{Deny: true, Reason: "hook call/h: no pushing"}},
		{hook.Call, `exit 2`, hook.Answer{Deny: true, Reason: "hook call/h: it gives no reason"}},
		{hook.Call, `echo '{"decision":"allow"}'; exit 2`, hook.Answer{Deny: true, Reason: "hook call/h: it gives no reason"}},
		{hook.Call, `yes | head -c 100000; echo no >&2; exit 2`, hook.Answer{Deny: true, Reason: "hook call/h: no"}},
		{hook.Call, `echo '{"decision":"deny","reason":"no"}'`, hook.Answer{Deny: true, Reason: "hook call/h: no"}},
		{hook.Call, `echo '{"decision":"block","reason":"no"}'`, hook.Answer{Deny: true, Reason: "hook call/h: no"}},
		{hook.Call, `echo '{"decision":"denied","reason":"no"}'`, hook.Answer{Deny: true, Reason: "hook call/h: no"}},
		{hook.Call, `echo '{"decision":"ask","reason":"sure?"}'`, hook.Answer{Ask: true, Reason: "hook call/h: sure?"}},
		{hook.Call, `echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}'`,
			hook.Answer{Deny: true, Reason: "hook call/h: no"}},
		{hook.Call, `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}'`,
			hook.Answer{Ask: true, Reason: "hook call/h: sure?"}},
		{hook.Call, `echo '{"updated_input":{"command":"ls","n":12345678901234567890}}'`,
			hook.Answer{Input: json.RawMessage(`{"command":"ls","n":12345678901234567890}`)}},
		{hook.Call, `echo '{"updated_input":{}}'`, hook.Answer{Input: json.RawMessage(`{}`)}},
		{hook.Call, `echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}'`,
			hook.Answer{Input: json.RawMessage(`{"command":"ls"}`)}},

		{hook.Result, `echo '{"output":"***"}'`, hook.Answer{Output: "***"}},
		{hook.Result, `echo '{"hookSpecificOutput":{"updatedToolOutput":"***"}}'`, hook.Answer{Output: "***"}},
		{hook.Result, `echo '{"decision":"block","reason":"it does not build","hookSpecificOutput":{"additionalContext":"see make"}}'`,
			hook.Answer{Context: "hook result/h: it does not build\nsee make"}},
		{hook.Result, `echo "it does not build" >&2; exit 2`, hook.Answer{Context: "hook result/h: it does not build"}},

		{hook.Reply, `echo '{"decision":"block","reason":"run the tests"}'`, hook.Answer{Deny: true, Reason: "hook reply/h: run the tests"}},
		{hook.Reply, `echo "run the tests" >&2; exit 2`, hook.Answer{Deny: true, Reason: "hook reply/h: run the tests"}},
	} {
		t.Run(c.event+" "+c.script, func(t *testing.T) {
			t.Parallel()
			want(t, hooks(t, map[string]string{c.event + "/h": c.script}).Run(t.Context(), hook.Input{Event: c.event}), c.want)
		})
	}
}

// A hook that fails decides nothing, says why, and does not keep the next one from running.
func TestFailures(t *testing.T) {
	t.Parallel()
	for script, why := range map[string]string{
		`echo "jq: not found" >&2; exit 1`:                                       "it ended with exit code 1: jq: not found",
		`echo '{"decision":"deny"}'; exit 3`:                                     "it ended with exit code 3: ",
		`kill -9 $$`:                                                             "it ended with exit code 137: ",
		`kill -9 $PPID; sleep 20`:                                                "",
		`echo '{"decision":"deny"'`:                                              "unexpected end of JSON input",
		`echo '{"decision":"deny"} {"decision":"allow"}'`:                        "invalid character '{' after top-level value",
		`echo '{"decision":"deny","reason":["no"]}'`:                             "cannot unmarshal array",
		`echo '{"updated_input":"ls"}'`:                                          "cannot unmarshal string",
		`echo '{"hookSpecificOutput":"no"}'`:                                     "cannot unmarshal string",
		`echo '{"hookSpecificOutput":{"updatedToolOutput":{"stdout":"x"}}}'`:     "cannot unmarshal object",
		`printf '{"decision":"deny","reason":"'; yes | head -c 70000; echo '"}'`: "it printed more than 64 KB",
		`yes | head -c 10000000`:                                                 "it printed more than 64 KB",
		`yes | head -c 10000000 >&2; exit 1`:                                     "it ended with exit code 1: y",
		`yes | head -c 10000000 >&2; while echo y >&2; do sleep 0.1; done`:       "it took longer than 5s",
		`sleep 1000`: "it took longer than 5s",
		`trap '' TERM INT; while :; do sleep 0.1; done`: "it took longer than 5s",
		`exec >&- 2>&- <&-; sleep 1000`:                 "it took longer than 5s",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := hooks(t, map[string]string{"call/10": script, "call/20": "echo no >&2; exit 2"})
			start := time.Now()
			got := s.Run(t.Context(), hook.Input{Event: hook.Call, ToolInput: json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)})
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "hook call/10 had no effect: ") ||
				!strings.Contains(got.Warnings[0], why) || len(got.Warnings[0]) > 500 {
				t.Errorf("warnings %.1000q, want %s", got.Warnings, why)
			}
			got.Warnings = nil
			want(t, got, hook.Answer{Deny: true, Reason: "hook call/20: no"})
		})
	}
}

// A hook that fails again and again is told of once, until it has worked; a stop is no failure of it.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	s := hooks(t, map[string]string{"call/h": `test -e works || { date +%N >&2; exit 1; }`, "call/typo~": ""})
	for _, c := range []struct {
		works    bool
		warnings int
	}{{false, 2}, {false, 0}, {true, 0}, {false, 1}, {false, 0}} {
		if works := filepath.Join(s.Dir, "works"); c.works {
			lethetest.Write(t, works, "")
		} else {
			_ = os.Remove(works)
		}
		if a := s.Run(t.Context(), hook.Input{Event: hook.Call}); len(a.Warnings) != c.warnings {
			t.Errorf("%+v: %q", c, a.Warnings)
		}
	}
	s = hooks(t, map[string]string{"call/h": `touch runs; sleep 1000`})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the hook
		lethetest.Eventually(t, "the hook runs", func() bool { _, err := os.Stat(filepath.Join(s.Dir, "runs")); return err == nil })
		cancel()
	}()
	want(t, s.Run(ctx, hook.Input{Event: hook.Call}), hook.Answer{})
}

// Programs that cannot be started are failures, too.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	s := hooks(t, map[string]string{"call/10": "", "call/20": "", "call/30": "echo no >&2; exit 2"})
	lethetest.Write(t, filepath.Join(s.Dir, "call/10"), "#!/no/such/interpreter\n")
	lethetest.Write(t, filepath.Join(s.Dir, "call/20"), "\x00\x01")
	got := s.Run(t.Context(), hook.Input{Event: hook.Call})
	if len(got.Warnings) != 2 || !got.Deny {
		t.Fatalf("%+v", got)
	}
	lethetest.Words(t, got.Warnings[0], "hook call/10 had no effect", "no such file")
	lethetest.Words(t, got.Warnings[1], "hook call/20 had no effect", "exec format error")
	lethetest.Write(t, filepath.Join(s.Dir, "call/20"), "exit 2\n")
	names, warnings := hook.Check(s.Dir)
	if len(names) != 3 || len(warnings) != 2 {
		t.Fatalf("%q %q", names, warnings)
	}
	lethetest.Words(t, warnings[0], "hook call/10 cannot be started: stat /no/such/interpreter: no such file")
	lethetest.Words(t, warnings[1], "hook call/20 cannot be started: its first line is not #!")
}

// What a hook reads is one line, with the names that Claude Code has. No escape of the model hides a word from it, and
// it has neither the keys of this process nor the workspace of the identity around it.
func TestInput(t *testing.T) {
	t.Setenv("LETHE_TEST_KEY", "secret")
	s := hooks(t, map[string]string{"call/h": `cat > got; env > env; pwd > pwd; mktemp > tmp; ls /proc/self/fd > fds`})
	in := hook.Input{
		Event: hook.Call, SessionID: "81c68b", Identity: "ada", CWD: "/home/ada/workspace", ToolName: "BASH",
		ToolInput: json.RawMessage(`{ "command": "\u0072m -rf \"<b>\" \u0026\u0026 ls ◰\n", "seconds": 3, "id": 9007199254740993 }`),
	}
	want(t, s.Run(t.Context(), in), hook.Answer{})
	lethetest.Holds(t, filepath.Join(s.Dir, "got"), `{"hook_event_name":"PreToolUse","event":"call","session_id":"81c68b",`+
		`"identity":"ada","cwd":"/home/ada/workspace","tool_name":"BASH",`+
		`"tool_input":{"command":"rm -rf \"<b>\" && ls ◰\n","id":9007199254740993,"seconds":3}}`+"\n")
	lethetest.Holds(t, filepath.Join(s.Dir, "pwd"), s.Dir+"\n")
	lethetest.Words(t, lethetest.Read(t, filepath.Join(s.Dir, "tmp")), os.TempDir())
	home, _ := os.UserHomeDir()
	env := lethetest.Read(t, filepath.Join(s.Dir, "env"))
	lethetest.Words(t, env, "HOME="+home+"\n", "PATH=")
	if strings.Contains(env, "secret") {
		t.Error(env)
	}
}

// The other events say what they are about.
func TestInputOfEvents(t *testing.T) {
	t.Parallel()
	for line, in := range map[string]hook.Input{
		`{"hook_event_name":"UserPromptSubmit","event":"turn","session_id":"","identity":"","cwd":"","prompt":"hello"}`: {
			Event: hook.Turn, Prompt: "hello"},
		`{"hook_event_name":"PostToolUse","event":"result","session_id":"","identity":"","cwd":"","tool_name":"LIST",` +
			`"tool_response":"a.txt","tool_input":{}}`: {Event: hook.Result, ToolName: "LIST", ToolInput: []byte("{}"), ToolOutput: "a.txt"},
		`{"hook_event_name":"Stop","event":"reply","session_id":"","identity":"","cwd":"","last_assistant_message":"done",` +
			`"stop_hook_active":true}`: {Event: hook.Reply, Reply: "done", Again: true},
	} {
		s := hooks(t, map[string]string{in.Event + "/h": "cat > got"})
		want(t, s.Run(t.Context(), in), hook.Answer{})
		lethetest.Holds(t, filepath.Join(s.Dir, "got"), line+"\n")
	}
}

// Hooks run in order of their names, and each sees what those before it have replaced. None runs behind a refusal.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := hooks(t, map[string]string{
		"call/10-first":  `cat > 10; echo '{"updated_input":{"command":"ls -l"},"decision":"ask","reason":"first"}'`,
		"call/20-second": `cat > 20; echo '{"updated_input":{"command":"ls -la"}}'`,
		"call/30-third":  `cat > 30; echo '{"decision":"allow"}'`,
	})
	in := hook.Input{Event: hook.Call, ToolInput: json.RawMessage(`{"command":"ls"}`)}
	want(t, s.Run(t.Context(), in), hook.Answer{Ask: true, Reason: "hook call/10-first: first",
		Input: json.RawMessage(`{"command":"ls -la"}`)})
	for name, command := range map[string]string{"10": "ls", "20": "ls -l", "30": "ls -la"} {
		lethetest.Words(t, lethetest.Read(t, filepath.Join(s.Dir, name)), `"tool_input":{"command":"`+command+`"}`)
	}
	s = hooks(t, map[string]string{
		"call/1": `echo '{"decision":"ask","reason":"sure?"}'`, "call/2": `echo no >&2; exit 2`, "call/3": `touch ran`,
	})
	want(t, s.Run(t.Context(), in), hook.Answer{Deny: true, Reason: "hook call/2: no"})
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		t.Error("a hook ran behind a refusal")
	}
	s = hooks(t, map[string]string{
		"result/1": `echo '{"output":"one","context":"first"}'`, "result/2": `cat > got; echo '{"context":"second"}'`,
	})
	want(t, s.Run(t.Context(), hook.Input{Event: hook.Result, ToolOutput: "nil"}), hook.Answer{Output: "one", Context: "first\nsecond"})
	lethetest.Words(t, lethetest.Read(t, filepath.Join(s.Dir, "got")), `"tool_response":"one"`)
}

// Nothing that a hook starts outlives it, and one that deletes itself has answered all the same.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	s := hooks(t, map[string]string{
		"turn/10-daemon": `(setsid sh -c 'exec 9>alive; touch up; sleep 1000' >/dev/null 2>&1 &)
			while ! [ -e up ]; do sleep 0.01; done; echo started`,
		"turn/20-gone": `rm -f "$0" turn/30-next; echo gone`, "turn/30-next": `echo never`,
	})
	pipe := filepath.Join(s.Dir, "alive") // whose end is seen when nobody holds it any more
	lethetest.Must(t, syscall.Mkfifo(pipe, 0o600))
	end, err := syscall.Open(pipe, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	lethetest.Must(t, err)
	defer syscall.Close(end)
	got := s.Run(t.Context(), hook.Input{Event: hook.Turn})
	if got.Context != "started\ngone" || len(got.Warnings) != 1 {
		t.Errorf("%+v", got)
	}
	if n, err := syscall.Read(end, make([]byte, 1)); n != 0 || err != nil {
		t.Error("what a hook started goes on:", n, err)
	}
}

// A stop of the identity stops its hooks.
func TestCanceled(t *testing.T) {
	t.Parallel()
	s := hooks(t, map[string]string{"turn/1": "touch runs; sleep 1000", "turn/2": "touch ran"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan time.Time, 1)
	go func() { s.Run(ctx, hook.Input{Event: hook.Turn}); ended <- time.Now() }()
	lethetest.Eventually(t, "the hook runs", func() bool { _, err := os.Stat(filepath.Join(s.Dir, "runs")); return err == nil })
	start := time.Now()
	cancel()
	if took := (<-ended).Sub(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		t.Error("the next hook ran")
	}
}

// A file runs only where it is the user's own, and nobody else can change it.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := hooks(t, map[string]string{
		"call/good": "echo no >&2; exit 2", "call/copy~": "touch ran", "call/closed": "touch ran", "call/group": "touch ran",
		"call/others": "touch ran", "call/sub/inner": "touch ran", "elsewhere": "touch ran", "calls/typo": "touch ran",
	})
	for name, mode := range map[string]os.FileMode{"closed": 0o600, "group": 0o720, "others": 0o702} {
		lethetest.Must(t, os.Chmod(filepath.Join(s.Dir, "call", name), mode))
	}
	lethetest.Must(t, os.Symlink("../elsewhere", filepath.Join(s.Dir, "call", "link")))
	lethetest.Must(t, os.Symlink("/no/such/file", filepath.Join(s.Dir, "call", "dangling")))
	ignored := []string{"closed", "copy~", "dangling", "group", "link", "others", "sub"}
	if os.Geteuid() == 0 {
		lethetest.Write(t, filepath.Join(s.Dir, "call", "stranger"), "#!/bin/sh\ntouch ran\n")
		lethetest.Must(t, os.Chmod(filepath.Join(s.Dir, "call", "stranger"), 0o755))
		lethetest.Must(t, os.Chown(filepath.Join(s.Dir, "call", "stranger"), 1234, 1234))
		ignored = append(ignored[:6], "stranger", "sub")
	}
	got := s.Run(t.Context(), hook.Input{Event: hook.Call})
	if !got.Deny || len(got.Warnings) != len(ignored) {
		t.Errorf("%+v", got)
	}
	for i, name := range ignored {
		lethetest.Words(t, got.Warnings[i], filepath.Join(s.Dir, "call", name)+" is ignored: a hook is a regular file")
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		t.Error("an ignored hook ran")
	}
	names, all := hook.Check(s.Dir)
	if fmt.Sprint(names) != "[call/good]" || len(all) != len(ignored)+2 {
		t.Errorf("%q %q", names, all)
	}
	lethetest.Words(t, fmt.Sprint(all), "/calls is ignored: hooks belong into turn", "/elsewhere is ignored")
}

// Where there are no hooks, nothing happens and nothing is said; a file in the place of a directory is told.
func TestNone(t *testing.T) {
	t.Parallel()
	s := hook.Set{Dir: filepath.Join(t.TempDir(), "hooks")}
	if names, warnings := hook.Check(s.Dir); s.Has(hook.Call) || len(names)+len(warnings) > 0 {
		t.Error("there are hooks")
	}
	want(t, s.Run(t.Context(), hook.Input{Event: hook.Call}), hook.Answer{})
	lethetest.Write(t, filepath.Join(s.Dir, hook.Call), "#!/bin/sh\nexit 2\n")
	_, found := hook.Check(s.Dir)
	anew := hook.Set{Dir: s.Dir} // s looks again in a second
	for _, warnings := range [][]string{anew.Run(t.Context(), hook.Input{Event: hook.Call}).Warnings, found} {
		if !anew.Has(hook.Call) || len(warnings) != 1 || !strings.Contains(warnings[0], "not a directory") {
			t.Errorf("%q", warnings)
		}
	}
}

// The example of the page does what the page says, however the model escapes it.
func TestPage(t *testing.T) {
	t.Parallel()
	script := lethetest.Blocks(t, "hooks.md", "sh")[0]
	s := hooks(t, map[string]string{"call/no-push": script})
	for args, deny := range map[string]bool{
		`{"command":"git push --force"}`: true, `{"command":"make && git \u0070ush"}`: true, `{"command":"git pull"}`: false,
	} {
		a := s.Run(t.Context(), hook.Input{Event: hook.Call, ToolName: "BASH", ToolInput: json.RawMessage(args)})
		if a.Deny != deny || len(a.Warnings) > 0 {
			t.Errorf("%s: %+v", args, a)
		}
	}
	guard := lethetest.Blocks(t, "hooks.md", "sh")[1]
	for check, deny := range map[string]bool{"true": false, "false": true, "sleep 20": true, "cat no-such-file": true} {
		s := hooks(t, map[string]string{"call/guard": strings.Replace(guard, "/usr/local/bin/my-check", check, 1)})
		if a := s.Run(t.Context(), hook.Input{Event: hook.Call}); a.Deny != deny || len(a.Warnings) > 0 {
			t.Errorf("%s: %+v", check, a)
		}
	}
	var in hook.Input
	lethetest.Must(t, json.Unmarshal([]byte(lethetest.Blocks(t, "hooks.md", "json")[0]), &in))
	if in.Event != hook.Call || len(in.ToolInput) == 0 {
		t.Errorf("%+v", in)
	}
}
