package adopt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/adopt"
)

// A talk is a session as its writer knows it. A fork begins with what it copied of its parent.
type talk struct {
	id, parent string
	isSide     bool
	copied     int
	all        []said
}

type said struct {
	who        adopt.Who
	kind       adopt.Kind
	id, text   string
	call, turn string
	at         time.Time
	asks       bool // a person, or the parent of a side chain
}

// talks makes sessions with what bit the readers of other programs: forks, forks of forks, side chains, compactions,
// words that are said twice, calls that are counted anew in each turn.
func talks(random *rand.Rand, sides bool) (all []talk) {
	at, n := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC), 0
	say := func(t *talk, who adopt.Who, kind adopt.Kind, call, turn string) {
		n++
		at = at.Add(time.Second)
		text := fmt.Sprintf("%s %d \"{[\\ü\n%s", kind, n, strings.Repeat("x", random.IntN(300)))
		if random.IntN(4) == 0 {
			text = "again " + string(kind)
		}
		t.all = append(t.all, said{who, kind, fmt.Sprintf("m%d", n), text, call, turn, at, false})
	}
	for i := range 1 + random.IntN(5) {
		t := talk{id: fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)}
		if i > 0 && random.IntN(2) == 0 {
			from := all[random.IntN(i)]
			t.parent = from.id
			if t.isSide = sides && random.IntN(2) == 0; !t.isSide && !from.isSide {
				t.copied = random.IntN(len(from.all) + 1)
				for t.copied > 0 && from.all[t.copied-1].kind == adopt.Call { // nobody forks within a call
					t.copied--
				}
				t.all = slices.Clone(from.all[:t.copied])
			} else if !t.isSide {
				t.parent = ""
			}
		}
		for turn := range 1 + random.IntN(4) {
			name := fmt.Sprintf("t%d-%d", i, turn)
			asks := adopt.Person
			if t.isSide {
				asks = adopt.Assistant
			}
			say(&t, asks, adopt.Said, "", name)
			t.all[len(t.all)-1].asks = true
			for call := range random.IntN(3) {
				say(&t, adopt.Assistant, adopt.Call, fmt.Sprintf("c%d", call), name)
				say(&t, adopt.Tool, adopt.Result, fmt.Sprintf("c%d", call), name)
			}
			if random.IntN(5) == 0 {
				say(&t, adopt.Harness, adopt.Summary, "", name)
			}
			say(&t, adopt.Assistant, adopt.Said, "", name)
		}
		all = append(all, t)
	}
	return all
}

func j(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type object = map[string]any

// A writer writes a talk as a program does: the paths of its files with their lines.
type writer func(t talk, files map[string][]string)

var writers = map[string]writer{
	"claude-code": func(t talk, files map[string][]string) {
		name := "projects/-srv/" + t.id + ".jsonl"
		if t.isSide {
			name = "projects/-srv/" + t.parent + "/subagents/agent-" + t.id + ".jsonl"
		}
		for i, s := range t.all {
			row := object{"uuid": s.id, "sessionId": t.id, "timestamp": s.at, "type": "user"}
			message := object{"role": "user", "content": s.text}
			if t.isSide {
				row["sessionId"], row["agentId"], row["isSidechain"] = t.parent, t.id, true
			}
			if i < t.copied {
				row["requestSessionId"] = t.parent
			}
			switch {
			case s.kind == adopt.Summary:
				row["isCompactSummary"] = true
			case s.kind == adopt.Result:
				message["content"] = []object{{"type": "tool_result", "tool_use_id": s.call, "content": s.text}}
			case s.kind == adopt.Call:
				message["content"] = []object{{"type": "tool_use", "id": s.call, "name": "Bash", "input": object{"command": s.text}}}
				row["type"], message["id"] = "assistant", "msg-"+s.turn
			case s.who == adopt.Assistant && !s.asks:
				row["type"], message["id"] = "assistant", "msg-"+s.id
				message["content"] = []object{{"type": "text", "text": s.text[:2]}} // it is streamed
				row["message"], row["uuid"] = message, s.id+"-"
				files[name] = append(files[name], j(row))
				row["uuid"], message["content"] = s.id, []object{{"type": "text", "text": s.text}}
			}
			row["message"] = message
			files[name] = append(files[name], j(row))
		}
	},
	"codex": func(t talk, files map[string][]string) {
		day := 1 + len(files)
		meta := object{"id": t.id, "timestamp": t.all[0].at}
		if t.isSide {
			meta["source"] = object{"subagent": object{"thread_spawn": object{"parent_thread_id": t.parent}}}
		} else if t.parent != "" {
			meta["forked_from_id"] = t.parent
		}
		lines := []string{j(object{"type": "session_meta", "payload": meta})}
		if t.copied > 0 {
			lines = append(lines, j(object{"type": "session_meta", "payload": object{"id": t.parent}}))
		}
		turn := ""
		for i, s := range t.all {
			if s.turn != turn {
				turn = s.turn
				lines = append(lines, j(object{"type": "turn_context", "payload": object{"turn_id": turn}}))
			}
			at := s.at
			if i < t.copied {
				at = at.Add(time.Hour)
			}
			payload := object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": s.text}}}
			row := object{"timestamp": at, "type": "response_item", "payload": payload}
			switch {
			case s.kind == adopt.Summary:
				row["type"], row["payload"] = "compacted", object{"message": s.text}
			case s.kind == adopt.Call:
				row["payload"] = object{"type": "function_call", "call_id": s.call, "name": "exec", "arguments": j(object{"command": s.text})}
			case s.kind == adopt.Result:
				row["payload"] = object{"type": "function_call_output", "call_id": s.call, "output": s.text}
			case s.who == adopt.Assistant && !s.asks:
				payload["role"] = "assistant"
			}
			lines = append(lines, j(row))
			if s.kind == adopt.Said { // and again
				event := object{"type": map[any]string{"user": "user_message"}[payload["role"]], "message": s.text}
				lines = append(lines, j(object{"type": "event_msg", "payload": event}))
			}
		}
		files[rollout(day, t.id)] = lines
	},
	"pi": func(t talk, files map[string][]string) {
		header := object{"type": "session", "version": 3, "id": t.id}
		if t.parent != "" {
			header["parentSession"] = "/x/1_" + t.parent + ".jsonl"
		}
		files[fmt.Sprintf("sessions/--srv--/%d_%s.jsonl", len(files), t.id)] = append([]string{j(header)}, piLines(t)...)
	},
	"qwen-code": func(t talk, files map[string][]string) {
		name := "projects/-srv/chats/" + t.id + ".jsonl"
		if t.isSide {
			name = "projects/-srv/subagents/" + t.parent + "/agent-" + t.id + ".jsonl"
		}
		for _, s := range t.all {
			row := object{"uuid": s.id, "sessionId": t.id, "timestamp": s.at, "type": "user"}
			part := object{"text": s.text}
			if t.isSide {
				row["sessionId"], row["agentId"] = t.parent, t.id
			}
			switch {
			case s.kind == adopt.Summary:
				row["type"], row["subtype"] = "system", "chat_compression"
				row["systemPayload"] = object{"compressedHistory": []object{{"parts": []object{part}}}}
			case s.kind == adopt.Call:
				row["type"], part = "assistant", object{"functionCall": object{"id": s.call, "name": "sh", "args": object{"command": s.text}}}
			case s.kind == adopt.Result:
				row["type"] = "tool_result"
				part = object{"functionResponse": object{"id": s.call, "name": "sh", "response": object{"output": s.text}}}
			case s.who == adopt.Assistant && !s.asks:
				row["type"] = "assistant"
			}
			row["message"] = object{"parts": []object{part}}
			files[name] = append(files[name], j(row))
		}
	},
	"gemini-cli": func(t talk, files map[string][]string) {
		lines := []string{j(object{"sessionId": t.id, "kind": "main"})}
		var all []object
		for i, s := range t.all {
			message := object{"id": s.id, "timestamp": s.at, "type": "user", "content": []object{{"text": s.text}}}
			switch {
			case s.kind == adopt.Call:
				message["type"], message["content"] = "gemini", ""
				message["toolCalls"] = []object{{"id": s.call, "name": "sh", "args": object{"command": s.text}}}
			case s.kind == adopt.Result:
				message["content"] = []object{{"functionResponse": object{"id": s.call, "name": "sh", "response": object{"output": s.text}}}}
			case s.who == adopt.Assistant:
				message["type"] = "gemini"
				half := object{"id": s.id, "timestamp": s.at, "type": "gemini", "content": s.text[:1]}
				lines = append(lines, j(half))
			}
			all = append(all, message)
			lines = append(lines, j(message), j(object{"$set": object{"lastUpdated": s.at}}))
			if i%5 == 4 { // a resume
				lines = append(lines, lines[0], j(object{"$set": object{"messages": all[:1]}}), j(object{"$set": object{"messages": all}}))
			}
		}
		files["tmp/p/chats/session-"+t.id+".jsonl"] = lines
	},
	"copilot-cli": func(t talk, files map[string][]string) {
		name := "session-state/" + t.id + "/events.jsonl"
		event := func(s said, kind string, data object) {
			row := object{"type": kind, "id": fmt.Sprintf("%s-%d", s.id, len(files[name])), "timestamp": s.at, "data": data}
			files[name] = append(files[name], j(row))
		}
		event(t.all[0], "session.start", object{"sessionId": t.id})
		for _, s := range t.all {
			call := object{"toolCallId": s.call, "name": "sh", "toolName": "sh", "arguments": object{"command": s.text}}
			switch {
			case s.kind == adopt.Summary:
				event(s, "session.compaction_complete", object{"summaryContent": s.text})
			case s.kind == adopt.Call:
				event(s, "assistant.message", object{"content": "", "toolRequests": []object{call}})
				event(s, "tool.execution_start", call)
			case s.kind == adopt.Result:
				event(s, "tool.execution_complete", object{"toolCallId": s.call, "result": object{"content": s.text}})
			case s.who == adopt.Person:
				event(s, "user.message", object{"content": s.text, "transformedContent": "<now>" + s.text, "source": "user"})
			default:
				event(s, "assistant.message", object{"content": s.text})
			}
		}
	},
	"hermes": func(t talk, files map[string][]string) {
		var all []object
		for _, s := range t.all {
			message := object{"id": 1 + len(all), "role": "user", "content": s.text, "timestamp": float64(s.at.Unix())}
			switch {
			case s.kind == adopt.Summary:
				message["content"] = "[CONTEXT SUMMARY] " + s.text
			case s.kind == adopt.Call:
				message["role"], message["content"] = "assistant", ""
				message["tool_calls"] = []object{{"id": s.call, "type": "function", "function": object{
					"name": "sh", "arguments": j(object{"command": s.text})}}}
			case s.kind == adopt.Result:
				message["role"], message["tool_call_id"] = "tool", s.call
			case s.who == adopt.Assistant:
				message["role"] = "assistant"
			}
			all = append(all, message)
		}
		files["h.jsonl"] = append(files["h.jsonl"], j(object{"id": t.id, "messages": all}))
	},
	"openclaw": func(t talk, files map[string][]string) {
		const name = "agents/main/agent/openclaw-agent.sqlite"
		for i, line := range append([]string{j(object{"type": "session", "version": 4, "id": t.id})}, piLines(t)...) {
			files[name] = append(files[name], j(object{"session_id": t.id, "seq": i, "event_json": line}))
		}
	},
	"opencode": func(t talk, files map[string][]string) {
		for i, s := range t.all {
			message := object{"role": "user", "time": object{"created": s.at.UnixMilli()}}
			part := object{"type": "text", "text": s.text}
			if !s.asks {
				message["role"] = "assistant"
			}
			switch s.kind {
			case adopt.Summary:
				message["summary"] = true
			case adopt.Result:
				continue
			case adopt.Call:
				state := object{"input": object{"command": s.text}, "output": t.all[i+1].text}
				part = object{"type": "tool", "callID": s.call, "tool": "sh", "state": state}
			}
			files["opencode.db"] = append(files["opencode.db"], j(object{
				"session_id": t.id, "id": t.id + s.id, "message": j(message), "part": j(part)}))
		}
	},
}

// piLines are the rows of pi.
func piLines(t talk) (lines []string) {
	for _, s := range t.all {
		row := object{"type": "message", "id": s.id, "timestamp": s.at}
		message := object{"role": "user", "content": s.text, "timestamp": s.at.UnixMilli()}
		switch {
		case s.kind == adopt.Summary:
			row["type"], row["summary"] = "compaction", s.text
			message = nil
		case s.kind == adopt.Call:
			message["role"] = "assistant"
			message["content"] = []object{{"type": "toolCall", "id": s.call, "name": "sh", "arguments": object{"command": s.text}}}
		case s.kind == adopt.Result:
			message["role"], message["toolCallId"] = "toolResult", s.call
			message["content"] = []object{{"type": "text", "text": s.text}}
		case s.who == adopt.Assistant:
			message["role"], message["content"] = "assistant", []object{{"type": "text", "text": s.text}}
		}
		if message != nil {
			row["message"] = message
		}
		lines = append(lines, j(row))
	}
	return lines
}

// harm does to lines what happens to files: a torn line here, two glued ones there.
func harm(random *rand.Rand, lines []string) string {
	var text strings.Builder
	for i, line := range lines {
		if i > 1 && random.IntN(8) == 0 { // a write that was cut short, and tried again
			text.WriteString(line[:1+random.IntN(len(line)-1)] + "\n")
		}
		text.WriteString(line)
		if i == 0 || random.IntN(8) > 0 {
			text.WriteString("\n")
		}
	}
	return text.String()
}

var (
	withSides = []string{"claude-code", "codex", "qwen-code", "opencode"}
	withForks = []string{"claude-code", "codex", "pi", "qwen-code", "opencode"}
)

// of makes the talks such as an agent has.
func of(agent string, random *rand.Rand) (all []talk) {
	for _, t := range talks(random, slices.Contains(withSides, agent)) {
		if t.copied > 0 && !slices.Contains(withForks, agent) {
			t.parent, t.copied, t.all = "", 0, t.all[t.copied:]
		}
		if agent == "gemini-cli" { // its summaries take the place of what they are about
			t.all = slices.DeleteFunc(slices.Clone(t.all), func(s said) bool { return s.kind == adopt.Summary })
		}
		all = append(all, t)
	}
	return all
}

// wanted are the lines that a reader should make of a talk.
func wanted(agent string, t talk) (id string, lines []string) {
	id = t.id
	if t.isSide && agent == "qwen-code" {
		id = t.parent + "/" + id
	}
	for _, s := range t.all[t.copied:] {
		text := s.text
		switch {
		case s.kind == adopt.Call:
			text = j(object{"command": text})
		case s.kind == adopt.Summary && agent == "hermes":
			text = "[CONTEXT SUMMARY] " + text
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %q", id, s.who, s.kind, text))
	}
	return id, lines
}

// readTalks writes talks, harms the files, and reads them. It adds the lines to those of each session.
func readTalks(t *testing.T, agent string, made []talk, random *rand.Rand, options adopt.Options, into map[string][]string) *collected {
	t.Helper()
	lines, store, headers := map[string][]string{}, map[string]string{}, []string{}
	for _, talk := range made {
		writers[agent](talk, lines)
		header := object{"id": talk.id, "time_created": talk.all[0].at.UnixMilli()}
		if talk.isSide {
			header["parent_id"] = talk.parent
		}
		headers = append(headers, j(header))
	}
	for name, all := range lines {
		store[name] = harm(random, all)
	}
	options.Rows = func(_ context.Context, file, query string) (io.ReadCloser, error) {
		all := lines[file]
		if query == "select * from session" {
			all = headers
		}
		return io.NopCloser(strings.NewReader(strings.Join(all, "\n"))), nil
	}
	got, _ := read(t, agent, storeOf(store), options)
	for _, line := range got.whole {
		id, _, _ := strings.Cut(line, " ")
		into[id] = append(into[id], line)
	}
	return got
}

// What a generator of talks has said is adopted once each, in its order, by its own session, whoever wrote it down: also
// when a first run came while all of them were shorter.
func TestTalks(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for agent := range writers {
		t.Run(agent, func(t *testing.T) {
			for seed := range seeds {
				random := rand.New(rand.NewPCG(seed, 1))
				made := of(agent, random)
				got, options := map[string][]string{}, adopt.Options{}
				if seed%2 == 1 {
					first := readTalks(t, agent, shorter(made, random), random, options, got)
					keys, past := new(adopt.Keys), map[string]adopt.Session{}
					for _, entry := range first.entries {
						keys.Add(entry.Key)
					}
					for _, session := range slices.Backward(first.sessions) {
						past[session.ID] = session
					}
					options.Known = keys.Has
					options.Past = func(id string) (string, string) { return past[id].File, past[id].Parent }
				}
				readTalks(t, agent, made, random, options, got)
				for _, talk := range made {
					id, want := wanted(agent, talk)
					for i := range max(len(want), len(got[id])) {
						if is, should := append(got[id], "")[min(i, len(got[id]))], append(want, "")[min(i, len(want))]; is != should {
							t.Fatalf("seed %d, %d of %d: %.300q, not %.300q", seed, i, len(want), is, should)
						}
					}
					delete(got, id)
				}
				if len(got) > 0 {
					t.Fatalf("seed %d: more: %.300q", seed, got)
				}
			}
		})
	}
}

// shorter cuts talks as they were a while ago. What a fork copied was there.
func shorter(made []talk, random *rand.Rand) (all []talk) {
	least := map[string]int{}
	for _, t := range slices.Backward(made) {
		from := max(t.copied, least[t.id])
		n := from + random.IntN(len(t.all)-from+1)
		if n > 0 && t.all[n-1].kind == adopt.Call {
			n++ // with its result
		}
		if n == 0 {
			continue
		}
		least[t.parent] = max(least[t.parent], t.copied)
		t.all = t.all[:n]
		all = append(all, t)
	}
	slices.Reverse(all)
	return all
}
