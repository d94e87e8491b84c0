package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

// A harness puts remarks behind what was said and behind results, more lines come
// in before there is a reply, and a question of its own may end it all.
func turns() []Message {
	call := func(ids ...string) Message {
		m := Message{Role: "assistant"}
		for _, id := range ids {
			m.Calls = append(m.Calls, ToolCall{ID: id, Name: "LIST"})
		}
		return m
	}
	return []Message{
		{Role: "system", Content: Text("soul")},
		{Role: "user", Content: Text("past")},
		{Role: "user", Content: Text("list them")},
		{Role: "user", Content: Text("hint"), Aside: true},
		call("a", "b"),
		{Role: "tool", CallID: "a", Content: Text("one")},
		{Role: "tool", CallID: "b", Content: Text("failed")},
		{Role: "user", Content: Text("hint"), Aside: true},
		{Role: "user", Content: Text("note"), Aside: true},
		call("c"),
		{Role: "tool", CallID: "c", Content: Text("two")},
		{Role: "user", Content: Text("note"), Aside: true},
		{Role: "user", Content: Text("and count them")},
		{Role: "user", Content: Text("hint"), Aside: true},
		{Role: "assistant", Content: Text("three")},
		{Role: "user", Content: Text("thanks")},
		call("d"),
		{Role: "tool", CallID: "d", Content: Text("asked"), Aside: true},
		{Role: "user", Content: Text("hint"), Aside: true},
		{Role: "user", Content: Text("yes")},
		{Role: "user", Content: Text("task")},
	}
}

// Where roles take turns nothing that was said is followed by a filler, as if it
// had been answered.
func TestJoin(t *testing.T) {
	strict := []string{"system soul", "user past|list them|hint", "assistant +2", "tool one", "tool failed|hint|note",
		"assistant +1", "tool two|note",
		"assistant " + fillUnit, "user and count them|hint", "assistant three", "user thanks",
		"assistant +1", "tool asked|hint|yes|task"}
	for _, name := range Presets() {
		if name == "anthropic" { // its golden body shows how
			continue
		}
		var got, want []string
		for _, m := range bodyOf(t, name, Request{Model: "m", Messages: turns()}).Messages {
			text := strings.ReplaceAll(m.Content, "\n\n", "|")
			if n := len(m.ToolCalls); n > 0 {
				text += fmt.Sprintf("+%d", n)
			}
			got = append(got, m.Role+" "+text)
		}
		if want = strict; !slices.Contains([]string{"mistral", "vllm", "llamacpp", "lmstudio", "custom"}, name) {
			want = nil
			for _, m := range turns() {
				text := m.Content.String()
				if n := len(m.Calls); n > 0 {
					text += fmt.Sprintf("+%d", n)
				}
				want = append(want, m.Role+" "+text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, want)
		}
	}
	for _, test := range []struct{ in, want string }{
		{"system assistant", "system user assistant"},
		{"system user assistant assistant", "system user assistant user assistant"},
	} {
		var in []Message
		for role := range strings.FieldsSeq(test.in) {
			in = append(in, Message{Role: role, Content: Text("x")})
		}
		if got := roles(bodyOf(t, "mistral", Request{Model: "m", Messages: in}).Messages); got != test.want {
			t.Errorf("%s: %s, want %s", test.in, got, test.want)
		}
	}
}

func roles(list []wireMessage) string {
	var out []string
	for _, m := range list {
		out = append(out, m.Role)
	}
	return strings.Join(out, " ")
}

// messagesOf cuts the messages array out of a body, without its last bracket.
func messagesOf(t *rapid.T, p PresetInfo, messages []Message) []byte {
	body, err := p.Body(Request{Model: "m", Messages: messages})
	lethetest.Must(t, err)
	var m map[string]json.RawMessage
	lethetest.Must(t, json.Unmarshal(body, &m))
	if !bytes.Contains(body, m["messages"]) {
		t.Fatal("messages are not in the body as one piece")
	}
	return bytes.TrimSuffix(bytes.ReplaceAll(m["messages"], []byte(`"cache_control":{"type":"ephemeral"},`), nil), []byte("]"))
}

// strict checks what the strictest provider wants of a request.
func strict(t *rapid.T, raw []byte) []wireMessage {
	var list []wireMessage
	lethetest.Must(t, json.Unmarshal(append(bytes.Clone(raw), ']'), &list))
	var open []string // calls without a result
	for i, m := range list {
		last := "system"
		if i > 0 {
			last = list[i-1].Role
		}
		ok := false
		switch m.Role {
		case "system":
			ok = i == 0
		case "user":
			ok = last == "system" || last == "assistant" && len(open) == 0
		case "assistant":
			ok = (last == "user" || last == "tool") && len(open) == 0 && (m.Content != "" || len(m.ToolCalls) > 0)
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		case "tool":
			ok = len(open) > 0 && open[0] == m.ToolCallID
			if ok {
				open = open[1:]
			}
		}
		if !ok {
			t.Fatalf("message %d is a %s after a %s: %s", i, m.Role, last, raw)
		}
	}
	if last := list[len(list)-1].Role; len(open) > 0 || last != "user" && last != "tool" {
		t.Fatalf("ends with %s: %s", last, raw)
	}
	return list
}

// conserved checks that all that was to be sent is there, in its order.
func conserved(t *rapid.T, in []Message, list []wireMessage) {
	var all strings.Builder
	for _, m := range list {
		all.WriteString(m.Role + " " + m.Content + "\n")
	}
	rest := all.String()
	for _, m := range in {
		_, after, ok := strings.Cut(rest, m.Content.String())
		if !ok {
			t.Fatalf("%q is missing in %q", m.Content.String(), all.String())
		}
		rest = after
	}
}

// A life in any order: each request begins with the bytes of the one that was
// answered before it, and is one that every provider takes. Requests that got no
// answer, and forks, come in between.
func TestPrefixOfBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := Preset(rapid.SampledFrom(Presets()).Draw(t, "preset"))
		messages := []Message{{Role: "system", Content: Text("soul")}, {Role: "user", Content: Text("past")}}
		number := 0
		text := func(what string) string {
			number++
			return fmt.Sprintf("%s%d %s", what, number, rapid.SampledFrom([]string{"", "\n", "<&>\u2028", "\"]"}).Draw(t, "text"))
		}
		var answered []byte
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			least := 0
			if last := messages[len(messages)-1]; last.Role == "assistant" {
				least = 1
			}
			for range rapid.IntRange(least, 3).Draw(t, "new") {
				messages = append(messages, Message{Role: "user", Content: Text(text("said")), Aside: rapid.Bool().Draw(t, "aside")})
			}
			raw := messagesOf(t, p, messages)
			if again := messagesOf(t, p, messages); !bytes.Equal(raw, again) {
				t.Fatal("the same request gave other bytes")
			}
			fork := append(slices.Clone(messages), Message{Role: "user", Content: Text(text("task"))})
			forked := messagesOf(t, p, fork)
			open := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("]}")), []byte(`"}`))
			if !bytes.HasPrefix(forked, open) { // it may go on in the last message
				t.Fatalf("a fork leaves the trunk\n%s\n%s", raw, forked)
			}
			if p.Alternate {
				conserved(t, messages, strict(t, raw))
				conserved(t, fork, strict(t, forked))
			}
			if !bytes.HasPrefix(raw, answered) {
				t.Fatalf("answered %s\nnext     %s", answered, raw)
			}
			if rapid.Bool().Draw(t, "failed") {
				continue
			}
			answered = append(raw, ',')
			reply := Message{Role: "assistant", Content: Text(text("reply"))}
			results := []Message{}
			for range rapid.IntRange(0, 2).Draw(t, "calls") {
				id := text("id")
				reply.Calls = append(reply.Calls, ToolCall{ID: id, Name: "LIST"})
				results = append(results, Message{Role: "tool", CallID: id, Content: Text(text("result"))})
			}
			messages = append(append(messages, reply), results...)
		}
	})
}
