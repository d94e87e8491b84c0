package mind

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

func TestAnswerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := answers().Draw(t, "answer")
		for i := range a.Calls {
			if rapid.Bool().Draw(t, "raw") { // as RepairCall would never leave it
				a.Calls[i] = AnswerCall{Tool: strings.ToValidUTF8(hostile().Draw(t, "tool"), "?"), Args: hostile().Draw(t, "args"),
					Original: hostile().Draw(t, "original")}
			}
			a.Calls[i].Opaque = hostile().Draw(t, "opaque of a call")
		}
		body := a.Encode()
		got, err := DecodeAnswer(body)
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Fatalf("%q decodes as %+v, %v", body, got, err)
		}
		if i := rapid.IntRange(0, len(body)-1).Draw(t, "cut"); i > 0 {
			if _, err := DecodeAnswer(body[:i]); err == nil {
				t.Fatalf("half a body passes: %q of %q", body[:i], body)
			}
		}
		if _, err := DecodeAnswer(append(bytes.Clone(body), 'x')); err == nil {
			t.Fatal("a longer body passes")
		}
	})
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add(Answer{Opaque: "{}", Reasoning: "r", Text: "t", Calls: []AnswerCall{{"BASH", "{}", "orig", "[1]"}}}.Encode())
	f.Add(Answer{Calls: []AnswerCall{{Tool: "B\xffSH", Args: "{}"}}}.Encode()) // such a name cannot stand in JSON
	f.Add([]byte(`{"reasoning":-1,"text":9223372036854775807}` + "\n"))
	f.Add([]byte(`{"calls":[{"tool":"x","args":-5}]}` + "\n<call x>\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := DecodeAnswer(body)
		if err != nil {
			return
		}
		if b, err := DecodeAnswer(a.Encode()); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%+v becomes %+v, %v", a, b, err)
		}
	})
}

func TestRepairCall(t *testing.T) {
	long := strings.Repeat("漢", 3000)
	tests := []struct {
		name, tool, args, fit, with, original string // what becomes of tool and args
	}{
		{"as it is", "BASH", `{"command":"ls"}`, "BASH", `{"command":"ls"}`, ""},
		{"white space around", "BASH", " {}\n", "BASH", "{}", ""},
		{"no arguments", "LIST", "", "LIST", "{}", ""},
		{"blank arguments", "LIST", " \n", "LIST", "{}", ""},
		{"order and spaces kept", "X", `{ "b": 1, "a": 2 }`, "X", `{ "b": 1, "a": 2 }`, ""},
		{"not JSON", "BASH", "ls -l", "BASH", `{"invalid_arguments":"ls -l"}`, "ls -l"},
		{"null", "COMPACT", " null\n", "COMPACT", "{}", ""},
		{"an array", "BASH", `["ls"]`, "BASH", `{"invalid_arguments":"[\"ls\"]"}`, `["ls"]`},
		{"two objects", "BASH", `{}{}`, "BASH", `{"invalid_arguments":"{}{}"}`, `{}{}`},
		{"cut off", "BASH", `{"command":"l`, "BASH", `{"invalid_arguments":"{\"command\":\"l"}`, `{"command":"l`},
		{"long", "BASH", long, "BASH", `{"invalid_arguments":"` + long[:3*2000] + `"}`, long},
		{"bad name", "my tool/◆\n", "{}", "my_tool___", "{}", ""},
		{"no name", "", "{}", "unnamed", "{}", ""},
		{"long name", strings.Repeat("a", 65), "{}", strings.Repeat("a", 64), "{}", ""},
	}
	for _, tt := range tests {
		if got := RepairCall(tt.tool, tt.args); got != (AnswerCall{tt.fit, tt.with, tt.original, ""}) {
			t.Errorf("%s: %.120q", tt.name, got)
		}
	}
}

func TestAnswerGist(t *testing.T) {
	tests := []struct {
		a    Answer
		want string
	}{
		{Answer{Text: "It ◰4 is\ndone."}, "turn 3: It ◆ is done."},
		{Answer{Text: " ", Calls: []AnswerCall{{Tool: "BASH", Args: "{}"}, {Tool: "LIST", Args: `{"path":"."}`}}},
			`turn 3: BASH {}; LIST {"path":"."}`},
		{Answer{}, "turn 3:"},
		{Answer{Text: strings.Repeat("x", 200)}, "turn 3: " + strings.Repeat("x", 91) + "…"},
	}
	for _, tt := range tests {
		if got := tt.a.Gist(3); got != tt.want {
			t.Errorf("gist of %.60q is %q", tt.a.Text, got)
		}
	}
}

// What a model says in its escaped form reaches a room as it was meant.
func TestSay(t *testing.T) {
	args, err := json.Marshal(map[string]string{"room": "dev", "message": "◰4 and ◆\n◰04"})
	lethetest.Must(t, err)
	c := &Call{Args: model(string(args))}
	if room, message := c.Say(); room != "dev" || message != "◆ and ◆\n◰4" {
		t.Errorf("says %q in %q", message, room)
	}
	for args, want := range map[string][2]string{
		`{"ROOM":"dev","Message":"hi"}`:                  {"dev", "hi"},
		`{"message":"hi","room":"dev","MESSAGE":" "}`:    {"dev", "hi"},
		`{"message":5,"room":null}`:                      {"", ""},
		`{"invalid_arguments":"room"}`:                   {"", ""},
		`{"message":"one","message":"two","room":"dev"}`: {"dev", "two"},
	} {
		if room, message := (&Call{Args: args}).Say(); room != want[0] || message != want[1] {
			t.Errorf("%s says %q in %q", args, message, room)
		}
	}
}
