package adopt_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"lethe/agent/adopt"
)

// testdata holds what the programs themselves wrote, offline, against a fake of their providers. Texts of their makers
// are cut to "…[cut: N characters]", paths are replaced, and a long result is shorter.

func TestClaudeCode(t *testing.T) {
	got, report := fixture(t, "claude-code")
	got.want(t, `
		38a561f6 person said: Remember that the spare key hangs behind the blue door.
		38a561f6 assistant thought: I think about 1.
		38a561f6 assistant said: Answer 1: I heard “Remember that the spare key hangs behind the blue d…
		38a561f6 person said: Please RUN: echo hello-from-tool
		38a561f6 assistant thought: I think about 2.
		38a561f6 assistant said: I run it.
		38a561f6 assistant call: {"command":"echo hello-from-tool","description":"run"}
		38a561f6 tool result: hello-from-tool
		38a561f6 assistant thought: I think about 3.
		38a561f6 assistant said: The command said: hello-from-tool⏎⏎<system-reminder>⏎<total_tokens>150…
		38a561f6 person said: Please RUN: seq 1 20000
		38a561f6 assistant thought: I think about 4.
		38a561f6 assistant said: I run it.
		38a561f6 assistant call: {"command":"seq 1 20000","description":"run"}
		38a561f6 tool result: 1⏎2⏎3⏎4⏎5⏎6⏎7⏎8⏎9⏎10⏎11⏎12⏎13⏎14⏎15⏎16⏎17⏎18⏎19⏎20⏎21⏎22⏎23⏎24⏎25⏎26⏎2…
		38a561f6 assistant thought: I think about 5.
		38a561f6 assistant said: The command said: <persisted-output>⏎Output too large (106.3KB). Full …
		38a561f6 person said: TASK: look around
		38a561f6 assistant thought: I think about 6.
		38a561f6 assistant call: {"description":"look around","prompt":"Please RUN: echo from-side","su…
		38a561f6 tool result: Async agent launched successfully. (This tool result is internal metad…
		38a561f6 assistant thought: I think about 7.
		38a561f6 assistant said: The command said: Async agent launched successfully. (This tool result…
		38a561f6 harness said: <task-notification>⏎<task-id>af55401f713e76a4e</task-id>⏎<tool-use-id>…
		38a561f6 assistant thought: I think about 10.
		38a561f6 assistant said: Answer 10: I heard “”.
		38a561f6 harness summary: This session is being continued from a previous conversation that ran …
		38a561f6 harness said: <local-command-caveat>The command below was run directly in Claude Cod…
		38a561f6 harness said: <command-name>/compact</command-name>⏎            <command-message>com…
		38a561f6 harness said: <local-command-stdout>Compacted (ctrl+o to see full summary)</local-co…
		38a561f6 person said: What did I say about the key?
		38a561f6 assistant thought: I think about 12.
		38a561f6 assistant said: Answer 12: I heard “What did I say about the key?”.
		af55401f assistant said: Please RUN: echo from-side
		af55401f assistant thought: I think about 8.
		af55401f assistant said: I run it.
		af55401f assistant call: {"command":"echo from-side","description":"run"}
		af55401f tool result: from-side
		af55401f assistant thought: I think about 9.
		af55401f assistant said: The command said: from-side⏎⏎<system-reminder>⏎Available agent types f…
		d7072100 person said: A side path.
		d7072100 assistant thought: I think about 13.
		d7072100 assistant said: Answer 13: I heard “A side path.”.`)
	wantUnknown(t, report)
	if !strings.HasSuffix(got.entries[14].Text, "\n3000\n") {
		t.Error("the long result is not whole")
	}
	if parent := got.sessions[0].ID; got.sessions[1].Parent != parent || got.sessions[2].Parent != parent {
		t.Errorf("%+v", got.sessions)
	}
	first := got.entries[0]
	if first.At.Year() != 2026 || first.Line != 3 || first.ID != "80dd4524-b0b2-47c1-a03d-78cdf69bb317" {
		t.Errorf("%+v", first)
	}
}

// A fork whose parent is gone keeps all.
func TestForkAlone(t *testing.T) {
	name := "projects/-srv-demo/d7072100-ce83-4307-b4e0-e1bc291fbbc1.jsonl"
	got, _ := files(t, "claude-code", map[string]string{name: readFile(t, "claude-code/"+name)})
	if len(got.entries) != 12 || len(got.sessions) != 1 {
		t.Errorf("%d entries in %d sessions", len(got.entries), len(got.sessions))
	}
}

func TestCodex(t *testing.T) {
	got, report := fixture(t, "codex")
	got.want(t, `
		01a21fb4 harness said: <skills_instructions>⏎## Skills⏎A skill is a set of local in…[cut: 212…
		01a21fb4 harness said: <permissions instructions>⏎Filesystem sandboxing defines whi…[cut: 362…
		01a21fb4 harness said: <environment_context>⏎  <cwd>/srv/demo</cwd>⏎  <shell>bash</shell>⏎  <…
		01a21fb4 person said: Remember that the spare key hangs behind the blue door.
		01a21fb4 assistant thought: **Thinking** about 1
		01a21fb4 assistant said: Answer 1: I heard “Remember that the spare key hangs behind the blue d…
		01a21fb4 person said: Please RUN: echo hello-from-tool
		01a21fb4 assistant thought: **Thinking** about 2
		01a21fb4 assistant call: {"cmd": "echo hello-from-tool"}
		01a21fb4 tool result: Chunk ID: 0865fd⏎Wall time: 0.0000 seconds⏎Process exited with code 0⏎…
		01a21fb4 assistant thought: **Thinking** about 3
		01a21fb4 assistant said: The command said: Chunk ID: 0865fd⏎Wall time: 0.0000 seconds⏎Process e…
		01a21fb4 person said: What did I say about the key?
		01a21fb4 assistant thought: **Thinking** about 4
		01a21fb4 assistant said: Answer 4: I heard “What did I say about the key?”.
		01a21fb4 assistant thought: **Thinking** about 5
		01a21fb4 harness summary: <summary>⏎The user asked for two small things; the answer to the secon…
		01a21fb4 person said: And now RUN: echo second-tool
		01a21fb4 assistant thought: **Thinking** about 6
		01a21fb4 assistant call: {"cmd": "echo second-tool"}
		01a21fb4 tool result: Chunk ID: 929119⏎Wall time: 0.0000 seconds⏎Process exited with code 0⏎…
		01a21fb4 assistant thought: **Thinking** about 7
		01a21fb4 harness summary: <summary>⏎The user asked for two small things; the answer to the secon…
		01a21fb4 assistant thought: **Thinking** about 8
		01a21fb4 assistant said: <summary>⏎The user asked for two small things; the answer to the secon…`)
	wantUnknown(t, report)
}

func TestPi(t *testing.T) {
	got, report := fixture(t, "pi")
	if len(got.entries) != 22 || got.sessions[0].Dir != "/srv/demo/my project.d" {
		t.Fatal(got.lines)
	}
	long := got.entries[12]
	if long.Kind != adopt.Result || !strings.HasPrefix(long.Text, "18001\n") {
		t.Errorf("%+v", long)
	}
	wantUnknown(t, report, "long result whose file is gone: its end is read ×1 at "+got.sessions[0].File+":13")
	summary := got.entries[18]
	if summary.Kind != adopt.Summary || !strings.Contains(summary.Text, "\n---\n") {
		t.Errorf("%+v", summary)
	}
}

// While the temporary file is there, the result is whole. A file that pi does not name so is not read.
func TestPiLongResult(t *testing.T) {
	temp := fstest.MapFS{"pi-bash-aa86c7a0d5bd6bfb.log": &fstest.MapFile{Data: []byte("1\n…\n18001\n…\n20000\n")}}
	got, report := read(t, "pi", os.DirFS("testdata/pi"), adopt.Options{Temp: temp})
	if !strings.HasPrefix(got.entries[12].Text, "1\n") {
		t.Errorf("%.20q", got.entries[12].Text)
	}
	wantUnknown(t, report)
	const name = "sessions/a.jsonl"
	const row = `{"type":"session","version":3,"id":"s"}
{"type":"message","id":"a","message":{"role":"toolResult","content":"x","details":{"fullOutputPath":"/etc/shadow"}}}`
	temp["shadow"] = &fstest.MapFile{Data: []byte("x secret")}
	got, _ = read(t, "pi", storeOf(map[string]string{name: row}), adopt.Options{Temp: temp})
	got.want(t, `s tool result: x`)
}

// The rows are as the program wrote them, by the query that is asked. The fork, whose id comes first, has only its own.
func TestOpenCodeRows(t *testing.T) {
	options := adopt.Options{Rows: func(_ context.Context, _, query string) (io.ReadCloser, error) {
		name := "opencode/session.jsonl"
		if strings.HasPrefix(query, "select m.session_id, ") && strings.Contains(query, "order by s.time_created") {
			name = "opencode/rows.jsonl"
		}
		return io.NopCloser(strings.NewReader(readFile(t, name))), nil
	}}
	got, report := read(t, "opencode", storeOf(map[string]string{"opencode.db": "x"}), options)
	for i := range got.lines {
		got.lines[i] = got.sessions[0].Dir + got.lines[i][len("ses_ddd4"):]
	}
	got.want(t, `
		/srv/demo person said: "Remember that the spare key hangs behind the blue door."
		/srv/demo assistant thought: I think about 2.
		/srv/demo assistant said: Answer 2: I heard “"Remember that the spare key hangs behind the blue …
		/srv/demo person said: "Please RUN: echo hello-from-tool"
		/srv/demo assistant thought: I think about 3.
		/srv/demo assistant said: I run it.
		/srv/demo assistant call: {"command":"echo hello-from-tool\"","description":"run"}
		/srv/demo tool result: /bin/bash: -c: line 1: unexpected EOF while looking for matching `+"`\"'⏎"+`
		/srv/demo assistant thought: I think about 4.
		/srv/demo assistant said: The command said: /bin/bash: -c: line 1: unexpected EOF while looking …
		/srv/demo person said: "A side path."
		/srv/demo assistant thought: I think about 5.
		/srv/demo assistant said: Answer 5: I heard “"A side path."”.`)
	wantUnknown(t, report)
	if report.Sessions != 2 || report.Doubled != 10 || !strings.HasSuffix(got.sessions[1].Title, "(fork #1)") {
		t.Errorf("%+v %+v", report, got.sessions)
	}
}
