package adopt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"lethe/agent/adopt"
)

const claudeName = "projects/-srv-demo/0a1b2c3d-0000-4000-8000-000000000001.jsonl"

// claudeRow is a row of Claude Code with a content.
func claudeRow(kind, uuid, message, content string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"timestamp":"2026-03-04T10:00:00Z","message":{"id":%q,"content":%s}}`,
		kind, uuid, message, content)
}

// One message that was streamed as several rows is one: with texts that grow or go on, with calls once, with results
// between its rows, and without a requestId.
func TestStreamedMessage(t *testing.T) {
	got, report := files(t, "claude-code", map[string]string{claudeName: strings.Join([]string{
		claudeRow("assistant", "u1", "m1", `[{"type":"text","text":"I lo"}]`),
		claudeRow("assistant", "u2", "m1", `[{"type":"text","text":"I look"},{"type":"tool_use","id":"c1","name":"Read","input":{}}]`),
		claudeRow("user", "u3", "", `[{"type":"tool_result","tool_use_id":"c1","content":"one"}]`),
		claudeRow("assistant", "u4", "m1", `[{"type":"text","text":"I look"},{"type":"text","text":"and go on"}]`),
		claudeRow("assistant", "u5", "m1", `[{"type":"tool_use","id":"c1","name":"Read","input":{"file":"a"}}]`),
		claudeRow("assistant", "u6", "m1", `[{"type":"tool_use","id":"c2","name":"Read","input":{"file":"b"}}]`),
		claudeRow("user", "u7", "", `[{"type":"tool_result","tool_use_id":"c2","content":"two"}]`),
		claudeRow("assistant", "u8", "m2", `"Done."`),
	}, "\n")})
	got.want(t, `
		0a1b2c3d assistant said: I look
		0a1b2c3d assistant call: {"file":"a"}
		0a1b2c3d tool result: one
		0a1b2c3d assistant said: and go on
		0a1b2c3d assistant call: {"file":"b"}
		0a1b2c3d tool result: two
		0a1b2c3d assistant said: Done.`)
	if report.Merged != 4 {
		t.Errorf("%d merged", report.Merged)
	}
}

// What a harness wrote as if a person had is the harness's; what a person typed meanwhile is a person's; a number is a
// time; an unknown kind of row is counted with its places.
func TestVoices(t *testing.T) {
	got, report := files(t, "claude-code", map[string]string{claudeName: strings.Join([]string{
		claudeRow("user", "u1", "", `"<system-reminder>\nBe good.\n</system-reminder>\nWhat is it?"`),
		claudeRow("user", "u1b", "", `"\n  indented\n"`),
		claudeRow("user", "u2", "", `[{"type":"text","text":"<command-name>/clear</command-name>"}]`),
		`{"type":"attachment","timestamp":1772618400000,"attachment":{"type":"queued_command","prompt":"And that?"}}`,
		`{"type":"summary","summary":"Two questions","leafUuid":"u2"}`,
		`{"type":"dream"}`, `{"type":"dream"}`, `{"type":"user"}`, `{"type":"dream"}`, `{"type":"dream"}`,
	}, "\n")})
	got.want(t, `
		0a1b2c3d harness said: <system-reminder>⏎Be good.⏎</system-reminder>
		0a1b2c3d person said: What is it?
		0a1b2c3d person said: ⏎  indented⏎
		0a1b2c3d harness said: <command-name>/clear</command-name>
		0a1b2c3d person said: And that?
		0a1b2c3d harness summary: Two questions`)
	if at := got.entries[4].At; at.Format("2006-01-02T15:04") != "2026-03-04T10:00" {
		t.Error(at)
	}
	wantUnknown(t, report,
		fmt.Sprintf("row dream ×4 at %[1]s:6 %[1]s:7 %[1]s:9", claudeName), "user without a message ×1 at "+claudeName+":8")
}

// The list of prompts tells what persons said in sessions whose files are gone, and doubles the others.
func TestPromptsOfLostSessions(t *testing.T) {
	got, report := files(t, "claude-code", map[string]string{
		claudeName: claudeRow("user", "u1", "", `"here"`),
		"history.jsonl": `{"display":"here","timestamp":1772618400000,"sessionId":"0a1b2c3d-0000-4000-8000-000000000001"}
{"display":"lost","timestamp":1772618401000,"project":"/srv","sessionId":"9"}
{"display":"lost too","timestamp":1772618402000,"sessionId":"9"}`,
		"CLAUDE.md":                      "Use tabs.",
		"projects/-srv/memory/MEMORY.md": "It uses tabs.",
		"projects/-srv/memory/empty.md":  "",
	})
	got.want(t, `
		projects assistant memory: It uses tabs.
		0a1b2c3d person said: here
		CLAUDE.m person memory: Use tabs.
		9 person said: lost
		9 person said: lost too`)
	if report.Doubled != 1 || report.Memories != 2 {
		t.Errorf("%+v", report)
	}
}

// A result in another file is read only from beside its session.
func TestPathsStayInTheStore(t *testing.T) {
	row := claudeRow("user", "u1", "",
		`[{"type":"tool_result","content":"<persisted-output>\nFull output saved to: /etc/../../secret.txt"}]`)
	got, report := files(t, "claude-code", map[string]string{claudeName: row, "secret.txt": "secret"})
	if strings.Contains(got.lines[0], "secret\n") || len(unknown(report)) != 1 {
		t.Error(got.lines, unknown(report))
	}
}

// The row tells where a long result stands when its text does not; of two results in a row each has its own.
func TestLongResultOfClaudeCode(t *testing.T) {
	beside := strings.TrimSuffix(claudeName, ".jsonl") + "/tool-results/"
	told := func(row, path string) string {
		return strings.TrimSuffix(row, "}") + fmt.Sprintf(`,"toolUseResult":{"stdout":"1","persistedOutputPath":"/home/x/tool-results/%s"}}`, path)
	}
	got, report := files(t, "claude-code", map[string]string{
		claudeName: strings.Join([]string{
			told(claudeRow("user", "u1", "", `[{"type":"tool_result","tool_use_id":"c1","content":"[cleared]"}]`), "a.txt"),
			told(claudeRow("user", "u2", "", `[{"type":"tool_result","tool_use_id":"c2","content":"short"},`+
				`{"type":"tool_result","tool_use_id":"c3","content":"<persisted-output>\nsaved to: /x/b.txt\n"}]`), "b.txt"),
		}, "\n"),
		beside + "a.txt": "all of a", beside + "b.txt": "all of b",
	})
	got.want(t, `
		0a1b2c3d tool result: all of a
		0a1b2c3d tool result: short
		0a1b2c3d tool result: all of b`)
	wantUnknown(t, report)
}

// The prompt of a side chain is its parent's, also in the parent's file.
func TestSideChainInItsParentsFile(t *testing.T) {
	row := strings.TrimSuffix(claudeRow("user", "u1", "", `"look there"`), "}") + `,"isSidechain":true,"agentId":"a7"}`
	got, _ := files(t, "claude-code", map[string]string{claudeName: row})
	got.want(t, "0a1b2c3d assistant said: look there")
}

func codexMeta(id, more string) string {
	return fmt.Sprintf(`{"timestamp":"2026-03-04T10:00:00Z","type":"session_meta","payload":{"id":%q%s}}`, id, more)
}

func codexSaid(role, text string) string {
	return fmt.Sprintf(`{"timestamp":"2026-03-04T10:00:01Z","type":"response_item","payload":`+
		`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}}`, role, text)
}

func turn(id string) string {
	return fmt.Sprintf(`{"type":"turn_context","payload":{"turn_id":%q}}`, id)
}

func rollout(day int, id string) string {
	return fmt.Sprintf("sessions/2026/03/%02d/rollout-2026-03-%02dT10-00-00-%s.jsonl", day, day, id)
}

// A fork of Codex repeats its parent, session_meta too, with new times: it begins with what is its own. That holds with
// turns and without; the same words in another session are no copy.
func TestCodexForks(t *testing.T) {
	for _, turns := range []bool{true, false} {
		at := func(id string) string {
			if turns {
				return turn(id)
			}
			return `{"type":"world_state","payload":{}}`
		}
		own := []string{at("t1"), codexSaid("user", "hello"), codexSaid("assistant", "hi"), at("t2"), codexSaid("user", "go on")}
		restamped := strings.ReplaceAll(strings.Join(own, "\n"), "10:00:01", "22:00:01")
		store := map[string]string{
			rollout(1, "1"): strings.Join(append([]string{codexMeta("1", "")}, own...), "\n"),
			rollout(2, "2"): strings.Join([]string{codexMeta("2", `,"forked_from_id":"1"`), codexMeta("1", ""), restamped,
				at("t3"), codexSaid("user", "a side path")}, "\n"),
			rollout(3, "3"): strings.Join([]string{codexMeta("3", ""), at("t4"), codexSaid("user", "hello")}, "\n"),
		}
		got, report := files(t, "codex", store)
		got.want(t, `
		1 person said: hello
		1 assistant said: hi
		1 person said: go on
		2 person said: a side path
		3 person said: hello`)
		if report.Doubled != 3 || got.sessions[1].Parent != "1" {
			t.Errorf("%d doubled, %+v", report.Doubled, got.sessions)
		}
		delete(store, rollout(1, "1"))
		if alone, _ := files(t, "codex", store); len(alone.entries) != 5 {
			t.Error(alone.lines)
		}
	}
}

// Older forks of Claude Code copied rows with their parent's sessionId. The parent comes first, by whatever name.
func TestOlderForkOfClaudeCode(t *testing.T) {
	row := func(session, uuid, text string) string {
		return strings.Replace(claudeRow("user", uuid, "", `"`+text+`"`), "{", fmt.Sprintf(`{"sessionId":%q,`, session), 1)
	}
	parent, fork := "b0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"
	copied := row(parent, "u1", "hello") + "\n" + row(parent, "u2", "go on") + "\n"
	got, report := files(t, "claude-code", map[string]string{
		"projects/-srv/" + parent + ".jsonl": copied + row(parent, "u3", "the main path"),
		"projects/-srv/" + fork + ".jsonl":   copied + row(fork, "u4", "a side path"),
	})
	got.want(t, `
		b0000000 person said: hello
		b0000000 person said: go on
		b0000000 person said: the main path
		a0000000 person said: a side path`)
	if report.Doubled != 2 {
		t.Errorf("%d doubled", report.Doubled)
	}
}

// A subagent's thread has the session's id too: the thread counts, and its prompts are its parent's.
func TestCodexSideChains(t *testing.T) {
	side := `,"session_id":"1","source":{"subagent":{"thread_spawn":{"parent_thread_id":"1"}}}`
	got, report := files(t, "codex", map[string]string{
		rollout(1, "1"): codexMeta("1", `,"session_id":"1","source":"cli"`) + "\n" + codexSaid("user", "look"),
		rollout(1, "2"): codexMeta("2", side) + "\n" + codexSaid("user", "look there"),
	})
	got.want(t, `
		1 person said: look
		2 assistant said: look there`)
	if report.Sessions != 2 || !got.sessions[1].Side || got.sessions[1].Parent != "1" {
		t.Errorf("%+v", got.sessions)
	}
	keys := map[uint64]bool{}
	for _, entry := range got.entries {
		keys[entry.Key] = true
	}
	grown := storeOf(map[string]string{rollout(1, "2"): codexMeta("2", side) + "\n" + codexSaid("user", "look there") + "\n" +
		codexSaid("assistant", "there")})
	again, _ := read(t, "codex", grown, adopt.Options{ // which has the parent of what an earlier run took
		Known: func(key uint64) bool { return keys[key] },
		Past:  func(id string) (string, string) { return "", map[string]string{"2": "1"}[id] },
	})
	again.want(t, `2 assistant said: there`)
}

// Events count only where no item has a role. A compaction's summary comes once.
func TestCodexEvents(t *testing.T) {
	const asked = `{"type":"event_msg","payload":{"type":"user_message","message":"hello"}}`
	const told = `{"type":"event_msg","payload":{"type":"agent_message","message":"hi"}}`
	const compacted = `{"type":"compacted","payload":{"message":"They greeted.","replacement_history":[{"type":"message"}]}}`
	got, report := files(t, "codex", map[string]string{
		rollout(1, "1"): strings.Join([]string{codexMeta("1", `,"history_mode":"legacy"`), asked, told, compacted}, "\n"),
		rollout(2, "2"): strings.Join([]string{codexMeta("2", `,"history_mode":"paginated"`), asked, codexSaid("user", "hello"),
			told, codexSaid("assistant", "hi")}, "\n"),
		rollout(3, "3"): strings.Join([]string{`{"id":"3","timestamp":"2025-05-01T10:00:00Z","instructions":null}`,
			`{"record_type":"state"}`, `{"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]}`}, "\n"),
		"history.jsonl": `{"session_id":"2","ts":1772618400,"text":"hello"}
{"session_id":"9","ts":1772618400,"text":"lost"}`,
		"memories/MEMORY.md": "They greet.",
	})
	got.want(t, `
		1 person said: hello
		1 assistant said: hi
		1 harness summary: They greeted.
		2 person said: hello
		2 assistant said: hi
		3 person said: old
		memories assistant memory: They greet.
		9 person said: lost`)
	wantUnknown(t, report)
}

// A rollout that was compressed is read once, plain before compressed and live before archived.
func TestCodexCompressed(t *testing.T) {
	var packed bytes.Buffer
	out, _ := zstd.NewWriter(&packed)
	fmt.Fprintln(out, codexMeta("1", "")+"\n"+codexSaid("user", "packed"))
	out.Close()
	store := storeOf(map[string]string{
		rollout(2, "2"): codexMeta("2", "") + "\n" + codexSaid("user", "plain"),
		"archived_sessions/" + filepath.Base(rollout(2, "2")): codexMeta("2", "") + "\n" + codexSaid("user", "archived"),
		"archived_sessions/" + filepath.Base(rollout(3, "3")): codexMeta("3", "") + "\n" + codexSaid("user", "only archived"),
	})
	store[rollout(1, "1")+".zst"] = &fstest.MapFile{Data: packed.Bytes()}
	store[rollout(2, "2")+".zst"] = &fstest.MapFile{Data: packed.Bytes()}
	got, _ := read(t, "codex", store, adopt.Options{})
	got.want(t, `
		1 person said: packed
		2 person said: plain
		3 person said: only archived`)
}

// A fork of pi copies entries; version 1 has no ids, so what is said twice comes twice; all branches come.
func TestPiForks(t *testing.T) {
	said := func(id, parent, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-03-04T10:00:00Z",`+
			`"message":{"role":"user","content":%q,"timestamp":1772618400000}}`, id, parent, text)
	}
	got, _ := files(t, "pi", map[string]string{
		"sessions/--srv--/1_a.jsonl": strings.Join([]string{`{"type":"session","version":3,"id":"a"}`,
			said("e1", "", "root"), said("e2", "e1", "left"), said("e3", "e1", "right")}, "\n"),
		"sessions/--srv--/2_b.jsonl": strings.Join([]string{
			`{"type":"session","version":3,"id":"b","parentSession":"/x/sessions/--srv--/1_a.jsonl"}`,
			said("e1", "", "root"), said("e4", "e1", "middle")}, "\n"),
		"sessions/--srv--/3_c.jsonl": `{"type":"session","id":"c"}
{"type":"message","message":{"role":"user","content":"again"}}
{"type":"message","message":{"role":"user","content":"again"}}`,
	})
	got.want(t, `
		a person said: root
		a person said: left
		a person said: right
		b person said: middle
		c person said: again
		c person said: again`)
	if got.sessions[1].Parent != "a" {
		t.Errorf("%+v", got.sessions)
	}
}

// Torn lines are counted, glued records are told apart, a mark of the byte order is no text, and an endless line is passed.
func TestTornLines(t *testing.T) {
	one, two := claudeRow("user", "u1", "", `"one"`), claudeRow("user", "u2", "", `"two"`)
	three := claudeRow("user", "u3", "", `"three"`)
	got, report := files(t, "claude-code", map[string]string{
		claudeName: "\ufeff" + one + "\r\n" + two[:40] + three + two + "\n" + strings.Repeat("x", 65<<20) + "\n\n" + one[:60],
	})
	got.want(t, `
		0a1b2c3d person said: one
		0a1b2c3d person said: three
		0a1b2c3d person said: two`)
	wantUnknown(t, report, fmt.Sprintf("torn line ×2 at %[1]s:2 %[1]s:5", claudeName), "line over 64 MB ×1 at "+claudeName+":3")
}

// A torn record is not read by what is nested in it, though that begins as it does; a record glued to it is.
func TestTornAroundAnother(t *testing.T) {
	one, two := claudeRow("user", "u1", "", `"one"`), claudeRow("user", "u2", "", `"two"`)
	torn := strings.TrimSuffix(claudeRow("user", "u3", "", `[`+one+`,{"type":"text","text":"outer"}]`), "}")
	got, report := files(t, "claude-code", map[string]string{
		claudeName: torn + "\n" + torn[:len(torn)-20] + two + "\n" + torn + two + "\n" +
			strings.Replace(torn, "u3", "u\x00", 1) + "}\n",
	})
	got.want(t, `
		0a1b2c3d person said: two`)
	wantUnknown(t, report, fmt.Sprintf("torn line ×4 at %[1]s:1 %[1]s:2 %[1]s:3", claudeName))
	if report.Doubled != 1 {
		t.Errorf("%d doubled", report.Doubled)
	}
}

// What is not understood counts once a line, however often the line has it.
func TestCountedByLine(t *testing.T) {
	nested := strings.Repeat(`{"a":`, 200)
	got, report := files(t, "claude-code", map[string]string{claudeName: strings.Join([]string{
		claudeRow("user", "u1", "", `[{"type":"dream"},{"type":"dream"},{"type":"text","text":"one"}]`),
		nested, `[1]`, `"x"`, `{"timestamp":"2026-03-04T10:00:00Z","type":["user"]}`, nested,
	}, "\n")})
	got.want(t, `0a1b2c3d person said: one`)
	wantUnknown(t, report, fmt.Sprintf("record of another shape ×3 at %[1]s:3 %[1]s:4 %[1]s:5", claudeName),
		fmt.Sprintf("torn line ×2 at %[1]s:2 %[1]s:6", claudeName), "block dream ×1 at "+claudeName+":1")
}

// A FIFO would hang, a link may lead anywhere: both are left alone.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "projects", "-srv")
	outside := filepath.Join(t.TempDir(), "secret.jsonl")
	for _, err := range []error{
		os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "a.jsonl"), []byte(claudeRow("user", "u1", "", `"one"`)), 0o600),
		os.WriteFile(outside, []byte(claudeRow("user", "u2", "", `"secret"`)), 0o600),
		os.Symlink(outside, filepath.Join(folder, "b.jsonl")),
		syscall.Mkfifo(filepath.Join(folder, "c.jsonl"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := adopt.Source{Place: dir}.Open(&adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	got, _ := read(t, "claude-code", store, adopt.Options{})
	got.want(t, `a person said: one`)
}

// A format that is not known yields nothing, and says so.
func TestUnknownFormats(t *testing.T) {
	for agent, test := range map[string]struct{ name, text, want string }{
		"claude-code": {claudeName, `{"kind":"speech","words":"hello"}`, "row without a type"},
		"codex":       {rollout(1, "1"), codexMeta("1", `,"history_mode":"tree"`) + "\n" + codexSaid("user", "x"), "history_mode tree"},
		"pi": {"sessions/a/b.jsonl", `{"type":"session","version":4,"id":"a"}` + "\n" +
			`{"type":"message","message":{"role":"user","content":"x"}}`, "version 4"},
		"chatgpt":     {"conversations.json", `[{"id":"a","messages":[]}]`, "without a mapping"},
		"claude-ai":   {"conversations.json", `[{"uuid":"a","messages":[]}]`, "without chat_messages"},
		"hermes":      {"h.jsonl", `{"role":"user","content":"x"}`, "no session with messages"},
		"openclaw":    {"agents/main/sessions/a.jsonl", `{"type":"session","version":5,"id":"a"}`, "version 5"},
		"gemini-cli":  {"tmp/a/chats/b.jsonl", `{"speech":1}`, "no session of Gemini CLI"},
		"qwen-code":   {"projects/a/chats/b.jsonl", `{"kind":"speech"}`, "role without a type"},
		"copilot-cli": {"session-state/a/events.jsonl", `{"kind":"speech","data":{"content":"x"}}`, "event without a type"},
		"opencode":    {"storage/session/a/b.json", `{"key":"a"}`, "no session of opencode"},
	} {
		got, report := files(t, agent, map[string]string{test.name: test.text})
		if all := strings.Join(unknown(report), "\n"); len(got.entries) > 0 || !strings.Contains(all, test.want) {
			t.Errorf("%s: %d entries, %s", agent, len(got.entries), all)
		}
	}
}

// A picture comes as bytes; long base64 that is a text stays one.
func TestPictures(t *testing.T) {
	png := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{1, 2, 3}, 2000)...)
	coded := base64.StdEncoding.EncodeToString(png)
	got, report := files(t, "claude-code", map[string]string{claudeName: strings.Join([]string{
		claudeRow("user", "u1", "", `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+coded+`"}}]`),
		claudeRow("user", "u2", "", `"`+coded+`"`),
		claudeRow("assistant", "u3", "m1", `[{"type":"tool_use","id":"c","name":"Write","input":{"text":"`+coded+`"}}]`),
	}, "\n")})
	if report.Pictures != 1 || !bytes.Equal(got.entries[0].Media[0].Data, png) || got.entries[0].Media[0].Type != "image/png" {
		t.Errorf("%d pictures", report.Pictures)
	}
	if got.entries[1].Text != coded || got.entries[2].Text != `{"text":"`+coded+`"}` {
		t.Errorf("%.60q %.60q", got.entries[1].Text, got.entries[2].Text)
	}
	got, _ = files(t, "codex", map[string]string{rollout(1, "1"): codexMeta("1", "") + "\n" +
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_image","image_url":` +
		`"data:image/png;base64,` + coded + `"},{"type":"input_text","text":"what is it?"}]}}`})
	if len(got.entries) != 2 || len(got.entries[0].Media) != 1 || !bytes.Equal(got.entries[0].Media[0].Data, png) {
		t.Error(got.lines)
	}
}

// ChatGPT: the branch of the current node, without what was hidden; calls and results apart; files of the export.
func TestChatGPT(t *testing.T) {
	node := func(id, parent, role, recipient, content, more string) string {
		return fmt.Sprintf(`%[1]q:{"id":%[1]q,"parent":%[2]q,"message":{"id":%[1]q,"author":{"role":%[3]q,"name":"python"},`+
			`"create_time":1772618400.5,"recipient":%[4]q,"content":%[5]s%[6]s}}`, id, parent, role, recipient, content, more)
	}
	text := func(text string) string { return fmt.Sprintf(`{"content_type":"text","parts":[%q]}`, text) }
	nodes := strings.Join([]string{
		`"root":{"id":"root","parent":null,"message":null}`,
		node("s", "root", "system", "all", text("be good"), ""),
		node("h", "s", "user", "all", text("hidden"), `,"metadata":{"is_visually_hidden_from_conversation":true}`),
		node("u", "h", "user", "all", `{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer",`+
			`"asset_pointer":"file-service://file-Ab1"},"add it"]}`, ""),
		node("old", "u", "assistant", "all", text("another answer"), ""),
		node("t", "u", "assistant", "all", `{"content_type":"thoughts","thoughts":[{"summary":"Adding","content":"1+1"}]}`, ""),
		node("c", "t", "assistant", "python", `{"content_type":"code","text":"1+1"}`, ""),
		node("r", "c", "tool", "all", `{"content_type":"execution_output","text":"2"}`, ""),
		node("a", "r", "assistant", "all", text("It is 2."), ""),
	}, ",")
	export := map[string]string{
		"conversations-000.json": `[{"id":"c1","title":"Sum","create_time":1772618400,"current_node":"a","mapping":{` + nodes + `}}]`,
		"conversations-001.json": `[{"id":"c2","title":"Loose","mapping":{` + node("x", "gone", "user", "all", text("hello"), "") + `}}]`,
		"file-Ab1-sum.png":       "\x89PNG\r\n\x1a\n",
	}
	want := `
		c1 person said: add it[image/png 8]
		c1 assistant thought: Adding⏎1+1
		c1 assistant call: 1+1
		c1 tool result: 2
		c1 assistant said: It is 2.
		c2 person said: hello`
	got, report := files(t, "chatgpt", export)
	got.want(t, want)
	wantUnknown(t, report)
	if got.sessions[0].Title != "Sum" || got.entries[0].At.UnixMilli() != 1772618400500 {
		t.Errorf("%+v %v", got.sessions[0], got.entries[0].At)
	}
	lost := strings.Replace(export["conversations-000.json"], `"current_node":"a",`, `"current_node":null,`, 1)
	old := strings.Index(lost, `"id":"old"`) // the other leaf is the newer one, or, without times, the last one
	export["conversations-000.json"] = lost[:old] + strings.Replace(lost[old:], "1772618400.5", "null", 1)
	got, _ = files(t, "chatgpt", export)
	got.want(t, want)
	export["conversations-000.json"] = strings.ReplaceAll(strings.ReplaceAll(lost, "1772618400.5", "null"), `"old"`, `"0"`)
	got, _ = files(t, "chatgpt", export)
	got.want(t, want)
}

// A circle of nodes ends, also where nobody speaks in it.
func TestCircleOfChatGPT(t *testing.T) {
	got, _ := files(t, "chatgpt", map[string]string{"conversations.json": `[{"id":"a","current_node":"n","mapping":{` +
		`"n":{"parent":"m"},"m":{"parent":"n","message":{"id":"1","author":{"role":"user"},` +
		`"content":{"content_type":"text","parts":["x"]}}}}},{"id":"b","current_node":"n","mapping":{"n":{"parent":"n"}}}]`})
	got.want(t, "a person said: x")
}

// Claude.ai: blocks before their text, what attachments hold, projects and memories as memories of their own.
func TestClaudeAI(t *testing.T) {
	got, report := files(t, "claude-ai", map[string]string{
		"conversations.json": `[{"uuid":"c1","name":"Tabs","created_at":"2026-03-04T10:00:00.5Z","chat_messages":[
			{"uuid":"m1","sender":"human","text":"tabs?","content":[],"created_at":"2026-03-04T10:00:01Z",
			 "attachments":[{"file_name":"a.txt","extracted_content":"a file"}]},
			{"uuid":"m2","sender":"assistant","text":"Yes.","content":[{"type":"thinking","thinking":"hm"},
			 {"type":"tool_use","name":"repl","input":{"code":"1"}},{"type":"tool_result","name":"repl","content":[{"type":"text","text":"2"}]},
			 {"type":"text","text":"Yes."}]}]}]`,
		"projects/p1.json": `{"uuid":"p1","name":"Style","prompt_template":"Use tabs.","docs":[{"filename":"b.md","content":"a doc"}]}`,
		"memories.json":    `[{"conversations_memory":"Likes tabs.","project_memories":{"p1":"About style."}}]`,
	})
	got.want(t, `
		c1 person said: tabs?
		c1 person said: a file
		c1 assistant thought: hm
		c1 assistant call: {"code":"1"}
		c1 tool result: 2
		c1 assistant said: Yes.
		memories assistant memory: Likes tabs.
		memories assistant memory: About style.
		p1 person memory: Use tabs.
		p1 person memory: a doc`)
	wantUnknown(t, report)
}

// What a project of Claude.ai keeps has the keys that it always had: the next export brings none of it again.
func TestKeysOfProjects(t *testing.T) {
	got, _ := files(t, "claude-ai", map[string]string{"projects.json": `[{"uuid":"p1","description":"a","prompt_template":"b",` +
		`"docs":[{"filename":"c.md","content":"c"}]}]`})
	keys := ""
	for _, entry := range got.entries {
		keys += fmt.Sprintf("%016x ", entry.Key)
	}
	if keys != "0f1c7dca0c4d01b9 1694bdb57d89cf1a f28a5247d5798b27 " {
		t.Error(keys)
	}
}

// OpenClaw: rows of SQLite and lines of files are joined by session and event; large events are compressed.
func TestOpenClaw(t *testing.T) {
	message := func(id, role, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":%q,"content":%q}}`, id, role, text)
	}
	packer, _ := zstd.NewWriter(nil)
	var rows strings.Builder
	row := func(session, column, event string) {
		line, _ := json.Marshal(map[string]any{"session_id": session, column: event})
		fmt.Fprintf(&rows, "%s\n", line)
	}
	row("s1", "event_json", `{"type":"session","version":4,"id":"s1"}`)
	row("s1", "event_json", message("e1", "user", "hello"))
	row("s1", "event_zstd", base64.StdEncoding.EncodeToString(packer.EncodeAll([]byte(message("e2", "assistant", "hi")), nil)))
	row("s2", "event_json", `{"type":"session","version":3,"id":"s2"}`)
	row("s2", "event_json", message("e1", "user", "hello"))
	row("s4", "event_json", `{"type":"session","version":5,"id":"s4"}`)
	row("s4", "event_json", message("e1", "user", "of another time"))
	row("s5", "event_json", message("e1", "user", "without a header"))
	asked := ""
	options := adopt.Options{Rows: func(_ context.Context, file, query string) (io.ReadCloser, error) {
		asked = file + ": " + query
		return io.NopCloser(strings.NewReader(rows.String())), nil
	}}
	texts := map[string]string{
		"agents/main/agent/openclaw-agent.sqlite": "SQLite format 3",
		"agents/main/sessions/s1.jsonl": strings.Join([]string{`{"type":"session","version":3,"id":"s1"}`,
			message("e1", "user", "hello"), message("e9", "user", "lost by the migration")}, "\n"),
		"agents/main/sessions/s3.jsonl.deleted.2026":         `{"type":"session","id":"s3"}` + "\n" + message("e1", "user", "deleted"),
		"agents/main/session-sqlite-import-archive/s6.jsonl": `{"type":"session","id":"s6"}` + "\n" + message("e1", "user", "archived"),
		"agents/main/sessions/s1.checkpoint.1.jsonl":         `{"type":"session","id":"s1"}` + "\n" + message("e8", "user", "a copy"),
		"workspace/MEMORY.md":                                "Says hello.",
	}
	got, report := read(t, "openclaw", storeOf(texts), options)
	got.want(t, `
		s1 person said: hello
		s1 assistant said: hi
		s2 person said: hello
		s5 person said: without a header
		s6 person said: archived
		s1 person said: lost by the migration
		s3 person said: deleted
		workspac assistant memory: Says hello.`)
	if report.Sessions != 5 || len(unknown(report)) != 1 || !strings.HasPrefix(asked, "agents/main/agent/openclaw-agent.sqlite: select ") {
		t.Errorf("%d sessions, %s", report.Sessions, asked)
	}
	_, report = files(t, "openclaw", texts)
	wantUnknown(t, report, "SQLite file: there is no reader of it here ×1 at agents/main/agent/openclaw-agent.sqlite")
}

// Hermes: its own export and its rows tell the same; what was rewound is left out, a compaction's copies come once.
func TestHermes(t *testing.T) {
	messages := []string{
		`{"id":1,"session_id":"h1","role":"user","content":"hello","timestamp":1772618400.25,"active":0,"compacted":1}`,
		`{"id":2,"session_id":"h1","role":"user","content":"no, wait","timestamp":1772618401,"active":0,"compacted":0}`,
		`{"id":3,"session_id":"h1","role":"assistant","content":"","reasoning":"hm","timestamp":1772618402,` +
			`"tool_calls":[{"id":"c1","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}]}`,
		`{"id":4,"session_id":"h1","role":"tool","tool_call_id":"c1","content":"a b","timestamp":1772618403}`,
		`{"id":5,"session_id":"h1","role":"user","content":"[CONTEXT COMPACTION] They greeted.","timestamp":1772618404}`,
		`{"id":6,"session_id":"h1","role":"user","content":"hello","timestamp":1772618400.25,"active":1,"compacted":0}`,
		`{"id":7,"session_id":"h1","role":"assistant","content":"done","timestamp":1772618405}`,
	}
	const want = `
		h1 person said: hello
		h1 assistant thought: hm
		h1 assistant call: {"command":"ls"}
		h1 tool result: a b
		h1 harness summary: [CONTEXT COMPACTION] They greeted.
		h1 assistant said: done`
	export := `{"id":"h1","source":"cli","parent_session_id":"h0","started_at":1772618400.1,"messages":[` + strings.Join(messages, ",") + `]}`
	got, report := files(t, "hermes", map[string]string{"h.jsonl": export})
	got.want(t, want)
	wantUnknown(t, report)
	if got.sessions[0].Parent != "h0" || got.entries[0].At.UnixMilli() != 1772618400250 {
		t.Errorf("%+v", got.sessions[0])
	}
	rows := func(_ context.Context, _, query string) (io.ReadCloser, error) {
		if strings.Contains(query, "from sessions") {
			return io.NopCloser(strings.NewReader(`{"id":"h1","parent_session_id":"h0"}`)), nil
		}
		return io.NopCloser(strings.NewReader(strings.Join(messages, "\n"))), nil
	}
	got, _ = read(t, "hermes", storeOf(map[string]string{"profiles/a/state.db": "x"}), adopt.Options{Rows: rows})
	got.want(t, want)
	side := strings.NewReplacer(`"source":"cli"`, `"source":"subagent"`).Replace(export)
	got, _ = files(t, "hermes", map[string]string{"h.jsonl": side})
	got.want(t, strings.ReplaceAll(want, "person", "assistant")) // its parent's
}

// Gemini CLI: the last version of a message counts, $set replaces the list, $rewindTo drops a message and what follows.
func TestGeminiEdits(t *testing.T) {
	said := func(id, kind, text string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-03-04T10:00:00Z","type":%q,"content":%q}`, id, kind, text)
	}
	got, _ := files(t, "gemini-cli", map[string]string{
		"tmp/a/chats/s.jsonl": strings.Join([]string{`{"sessionId":"g1","kind":"main"}`,
			`{"$set":{"messages":[` + said("0", "user", "<session_context>\nLinux") + `]}}`,
			said("1", "user", "hello"), said("2", "gemini", "h"), said("2", "gemini", "hi"), said("3", "user", "wrong"),
			said("4", "gemini", "wrong too"), `{"$rewindTo":"3"}`, said("5", "user", "right")}, "\n"),
		"tmp/a/chats/old.json": `{"sessionId":"g0","messages":[` + said("1", "user", "older") + `]}`,
	})
	got.want(t, `
		g0 person said: older
		g1 harness said: <session_context>⏎Linux
		g1 person said: hello
		g1 assistant said: hi
		g1 person said: right`)
}

func TestGeminiCLI(t *testing.T) {
	got, report := fixture(t, "gemini-cli")
	if len(got.entries) != 16 || report.Sessions != 1 || got.entries[0].Who != adopt.Harness {
		t.Error(got.lines)
	}
	wantUnknown(t, report)
}

func TestQwenCode(t *testing.T) {
	got, report := fixture(t, "qwen-code")
	if len(got.entries) != 13 || got.entries[6].Who != adopt.Tool || got.entries[9].Kind != adopt.Summary {
		t.Error(got.lines)
	}
	wantUnknown(t, report)
}

// A second run over an unchanged store brings nothing: neither with the keys of the first, nor with its pieces.
func TestAgain(t *testing.T) {
	store := os.DirFS("testdata/claude-code")
	first, _ := read(t, "claude-code", store, adopt.Options{})
	keys := map[uint64]bool{}
	for _, entry := range first.entries {
		keys[entry.Key] = true
	}
	again, _ := read(t, "claude-code", store, adopt.Options{Known: func(key uint64) bool { return keys[key] }})
	skipped, report := read(t, "claude-code", store, adopt.Options{Skip: func(adopt.Piece) bool { return true }})
	if len(again.entries)+len(again.sessions)+len(skipped.entries) > 0 || report.Unchanged != 3 {
		t.Error(again.lines, skipped.lines, report.Unchanged)
	}
}
