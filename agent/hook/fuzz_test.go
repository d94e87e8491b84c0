package hook

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// A hook may say anything. What it replaces the arguments by is an object, and the next hook reads one line.
func FuzzReply(f *testing.F) {
	for _, text := range []string{
		`{"decision":"deny","reason":"no"}`, `{"updated_input":{"command":"\ud800 <é>"},"context":"c","output":"o"}`, `{"updated_input":null}`,
		`{"hookSpecificOutput":{"permissionDecision":"ask","updatedInput":{},"additionalContext":"\n"}}`, `{"hookSpecificOutput":[]}`,
		`{"hookSpecificOutput":null,"updated_input":{"a":1e999}}`, `{"decision":1}`, "{", strings.Repeat(`{"hookSpecificOutput":`, 5000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReply(text)
		if err != nil {
			return
		}
		for _, event := range []string{Turn, Call, Result, Reply} {
			in := Input{Event: event, ToolInput: json.RawMessage(`{"command":"ls"}`)}
			var a Answer
			a.add("guard", r, &in)
			var object map[string]json.RawMessage
			if json.Unmarshal(in.ToolInput, &object) != nil || object == nil {
				t.Fatalf("%q replaces the arguments by %q", text, in.ToolInput)
			}
			line, err := io.ReadAll(in.encode())
			lethetest.Must(t, err)
			if strings.Count(string(line), "\n") != 1 || !json.Valid(line) {
				t.Fatalf("after %q the next hook reads %q", text, line)
			}
			if (a.Deny || a.Ask) && a.Reason == "" {
				t.Fatalf("%q refuses without a word", text)
			}
			a.Returned([]byte("out"), "", "")
		}
	})
}

// A model may write any schema, and any answer to it.
func FuzzSchema(f *testing.F) {
	for _, c := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`}, {`{"type":"object"}`, "```json\n{}\n```"},
		{`{"$ref":"#"}`, "1"}, {`{"\u0024ref":"#"}`, "1"}, {`true`, "null"}, {`{"pattern":"(a+)+$"}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"`},
		{`{"pattern":"("}`, `""`}, {`{"multipleOf":0}`, "1"}, {`{"enum":[[1e400]]}`, "1e400"}, {`{"minItems":-1,"uniqueItems":true}`, "[{},{}]"},
		{`{"properties":{"a":null}}`, `{"a":1}`}, {`{"items":[null]}`, "[1]"}, {`{"allOf":[null],"not":null}`, "1"},
		{strings.Repeat(`{"not":`, 2000), "1"},
		{`{"$defs":{"a":null},"dependentSchemas":{"a":null},"patternProperties":{"(":{}}}`, "{}"}, {`{"type":[]}`, "1"},
		{`{"const":null}`, "null"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, schema, answer string) {
		why := Gate{Schema: json.RawMessage(schema)}.Fits(answer)
		if schema == "" && why != "" {
			t.Fatalf("no schema refuses %q: %s", answer, why)
		}
		Verdict{Why: why}.Refuses(mind.New(), answer)
		Verdict{Why: why}.Caveat()
	})
}
