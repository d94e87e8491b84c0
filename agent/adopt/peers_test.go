package adopt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"lethe/agent/adopt"
)

// opencode: rows and files tell the same once, a fork has other ids and the same times, a call and its result are two.
func TestOpenCode(t *testing.T) {
	row := func(session, id, message, part string) string {
		line, err := json.Marshal(map[string]string{"session_id": session, "id": id, "message": message, "part": part})
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	const asked, answered = `{"role":"user","time":{"created":1772618400000}}`, `{"role":"assistant","time":{"created":1772618401000}}`
	const tool = `{"type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a b"}}`
	rows := strings.Join([]string{
		row("s1", "m1", asked, `{"type":"text","text":"look"}`),
		row("s1", "m2", answered, `{"type":"step-start"}`),
		row("s1", "m2", answered, `{"type":"reasoning","text":"hm"}`),
		row("s1", "m2", answered, tool),
		row("s1", "m2", answered, `{"type":"dream"}`),
		row("s2", "m8", asked, `{"type":"text","text":"look"}`),
		row("s2", "m9", `{"role":"user","time":{"created":1772618409000}}`, `{"type":"text","text":"a side path"}`),
	}, "\n")
	options := adopt.Options{Rows: func(_ context.Context, _, query string) (io.ReadCloser, error) {
		if query == "select * from session" {
			return io.NopCloser(strings.NewReader(`{"id":"s1","title":"A look","directory":"/srv","time_created":1772618400000}`)), nil
		}
		return io.NopCloser(strings.NewReader(rows)), nil
	}}
	got, report := read(t, "opencode", storeOf(map[string]string{
		"opencode.db":                   "x",
		"storage/session/p/s3.json":     `{"id":"s3","directory":"/srv"}`,
		"storage/message/s3/m1.json":    `{"id":"m1","role":"user","time":{"created":1772618300000}}`,
		"storage/part/m1/p1.json":       `{"type":"text","text":"missed by the migration"}`,
		"storage/session/p/broken.json": `{"name":"x"}`,
	}), options)
	got.want(t, `
		s1 person said: look
		s1 assistant thought: hm
		s1 assistant call: {"command":"ls"}
		s1 tool result: a b
		s2 person said: a side path
		s3 person said: missed by the migration`)
	wantUnknown(t, report, "part dream ×1 at opencode.db:5",
		"unknown format: no session of opencode ×1 at storage/session/p/broken.json")
	if got.sessions[0].Title != "A look" || got.sessions[0].Dir != "/srv" {
		t.Errorf("%+v", got.sessions[0])
	}
}

// Copilot CLI: a prompt as it was typed, a call once, a result by its call.
func TestCopilotCLI(t *testing.T) {
	got, report := files(t, "copilot-cli", map[string]string{"session-state/x/events.jsonl": strings.Join([]string{
		`{"type":"session.start","data":{"sessionId":"s1","context":{"cwd":"/srv"}},"id":"1","timestamp":"2026-07-20T05:13:54Z"}`,
		`{"type":"user.message","data":{"content":"look","transformedContent":"<now>5</now>look"},"id":"2"}`,
		`{"type":"assistant.turn_start","data":{},"id":"3"}`,
		`{"type":"assistant.message","data":{"content":"I look.","reasoningText":"hm","toolRequests":[` +
			`{"toolCallId":"c1","name":"bash","arguments":{"command":"ls"}}]},"id":"4"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command": "ls"}},"id":"5"}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"a b"}},"id":"6"}`,
		`{"type":"dream.begin","data":{},"id":"7"}`,
	}, "\n")})
	got.want(t, `
		s1 person said: look
		s1 assistant thought: hm
		s1 assistant said: I look.
		s1 assistant call: {"command":"ls"}
		s1 tool result: a b`)
	wantUnknown(t, report, "event dream ×1 at session-state/x/events.jsonl:7")
}

// What Copilot CLI 1.0.102 wrote: two prompts, a call and its result, each once, none of the harness's records.
func TestCopilotCLIItself(t *testing.T) {
	got, report := fixture(t, "copilot-cli")
	got.want(t, `
		d25883e0 person said: Remember that the spare key hangs behind the blue door.
		d25883e0 assistant said: Noted: me>⏎⏎Remember that the spare key hangs behind the blue door.
		d25883e0 person said: Please RUN: echo hello-from-tool
		d25883e0 assistant call: {"command":"echo hello-from-tool","description":"run","is_background":…
		d25883e0 tool result: hello-from-tool⏎<shellId: 0 completed with exit code 0>
		d25883e0 assistant said: Noted: 7+00:00</current_datetime>⏎⏎Please RUN: echo hello-from-tool`)
	wantUnknown(t, report)
}

func FuzzOpenCode(f *testing.F) {
	fuzz(f, "opencode", "opencode.db", `{"id":"s1","session_id":"s1","message":"{\"role\":\"user\"}","part":"{\"type\":\"text\"}"}`)
}

func FuzzCopilotCLI(f *testing.F) {
	fuzz(f, "copilot-cli", "session-state/x/events.jsonl", `{"type":"assistant.message","data":{"content":"x","toolRequests":[{}]}}`)
}

// Qwen Code 0.24.4: a side chain lies beside the chats, with its parent's sessionId; what stands in a prompt of a file
// that the person named is not the person's.
func TestQwenSideChain(t *testing.T) {
	row := func(id, kind, more, parts string) string {
		return fmt.Sprintf(`{"uuid":%q,"sessionId":"3ca7","timestamp":"2026-11-29T14:30:28Z","type":%q%s,"message":{"parts":%s}}`,
			id, kind, more, parts) + "\n"
	}
	const side = `,"agentId":"general-call_7","isSidechain":true`
	got, report := files(t, "qwen-code", map[string]string{
		"projects/-srv/chats/3ca7.jsonl": row("u1", "user", `,"provenance":"real_user"`, `[{"text":"@a.txt what"},`+
			`{"text":"\n--- Content from referenced files ---"},{"text":"some\n"},{"text":"\n--- End of content ---"}]`),
		"projects/-srv/subagents/3ca7/agent-general-call_7.jsonl": row("u2", "user", side, `[{"text":"look there"}]`) +
			row("u3", "assistant", side, `[{"text":"I look.","thought":true},{"text":"There."}]`),
		"memories/MEMORY.md": "Tabs.",
	})
	got.want(t, `
		3ca7 person said: @a.txt what
		3ca7 harness said: ⏎--- Content from referenced files ---
		3ca7 harness said: some⏎
		3ca7 harness said: ⏎--- End of content ---
		3ca7/gen assistant said: look there
		3ca7/gen assistant thought: I look.
		3ca7/gen assistant said: There.
		memories assistant memory: Tabs.`)
	if last := got.sessions[1]; !last.Side || last.Parent != "3ca7" {
		t.Errorf("%+v", last)
	}
	wantUnknown(t, report)
}

// Copilot CLI 1.0.102: what a side chain is asked is the assistant's, and a compaction's summary is a harness's.
func TestCopilotSideChain(t *testing.T) {
	got, report := files(t, "copilot-cli", map[string]string{"session-state/x/events.jsonl": strings.Join([]string{
		`{"type":"session.start","data":{"sessionId":"s1"},"id":"1","timestamp":"2026-11-29T14:32:45Z"}`,
		`{"type":"session.model_change","data":{"source":"agent","newModel":"m"},"agentId":"d40e","id":"2"}`,
		`{"type":"user.message","data":{"content":"look there","source":"agent-bd58"},"agentId":"d40e","id":"3"}`,
		`{"type":"model.response","data":{"kind":"response","response":{"content":"They looked."}},"id":"4"}`,
		`{"type":"session.compaction_complete","data":{"success":true,"summaryContent":"They looked."},"id":"5"}`,
	}, "\n")})
	got.want(t, `
		s1 assistant said: look there
		s1 harness summary: They looked.`)
	wantUnknown(t, report)
}

// opencode 1.18.33: a long result stands in a file of the store; its path is of the machine that wrote it.
func TestOpenCodeLongResult(t *testing.T) {
	part := `{"type":"tool","callID":"c1","tool":"bash","state":{"input":{},"output":"...output truncated...",` +
		`"metadata":{"truncated":true,"outputPath":"/home/ada/.local/share/opencode/tool-output/tool_1"}}}`
	store := map[string]string{
		"storage/session/p/s1.json":  `{"id":"s1"}`,
		"storage/message/s1/m1.json": `{"id":"m1","role":"assistant","time":{"created":1772618300000}}`,
		"storage/part/m1/p1.json":    part,
		"tool-output/tool_1":         "1\n2\n3\n",
	}
	got, report := files(t, "opencode", store)
	got.want(t, `
		s1 assistant call: {}
		s1 tool result: 1⏎2⏎3⏎`)
	wantUnknown(t, report)
	delete(store, "tool-output/tool_1")
	got, report = files(t, "opencode", store)
	got.want(t, `
		s1 assistant call: {}
		s1 tool result: ...output truncated...`)
	wantUnknown(t, report, "result in a file that is gone ×1 at storage/session/p/s1.json")
}
