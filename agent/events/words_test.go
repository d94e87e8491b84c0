package events_test

import (
	"encoding/json"
	"testing"

	"lethe/agent/events"
	"lethe/blobs"
	"lethe/chat"
)

func ref(n string) *blobs.Ref { return &blobs.Ref{Hash: "3fa9c0d2e1b4a5f" + n, Gist: "ref " + n} }

func TestWords(t *testing.T) {
	for want, e := range map[string]events.Event{
		"ann in dev: hello": {Type: events.UserMessage, By: "ann", Room: "dev", Text: "hello"},
		"ann in dev: hel…\n… all of it: lethe cat 3fa9": {Type: events.UserMessage, By: "ann", Room: "dev", Text: "hel",
			Cut: true, Hash: "3fa9"},
		"ada, said nowhere (stopped): half": {Type: events.MessageDone, By: "ada",
			Outcome: events.Outcome{Status: "stopped"}, Text: "half"},
		"↳ WRITE_FILE a.txt hello append=true": {Type: events.ToolRequest, Call: events.Call{Tool: "WRITE_FILE",
			Args: json.RawMessage(`{"content":"hello","append":true,"path":"a.txt"}`)}},
		`↳ WRITE_FILE {"content":"hel`: {Type: events.ToolRequest, Call: events.Call{Tool: "WRITE_FILE"},
			Text: `{"content":"hel`, Cut: true},
		"↳ LIST": {Type: events.ToolRequest, Call: events.Call{Tool: "LIST", Args: json.RawMessage(`{}`)}},
		"let go 9 entries: ref 1; ref 2; ref 3; …": {Type: events.Forgot, Why: "full", Memory: events.Memory{Faded: []events.Fade{
			{First: 1, Last: 3, Was: "live", Original: ref("1")}, {First: 4, Last: 4, Was: "live", Original: ref("2")},
			{First: 5, Last: 9, Was: "live", Original: ref("3")}, {First: 10, Last: 12, Was: "summary", Original: ref("4")}}}},
		"let go 1 entry (somebody had it forget), 41k → 9800 tokens": {Type: events.Forgot, Why: "person", Memory: events.Memory{
			Before: 41_000, After: 9_800, Faded: []events.Fade{{First: 7, Last: 7, Was: "live"}}}},
		"let go more of what had faded": {Type: events.Forgot, Memory: events.Memory{
			Faded: []events.Fade{{First: 1, Last: 7, Was: "summary", Level: "gist"}}}},
		"was reminded of: ref 1": {Type: events.Reminded, Memory: events.Memory{Refs: []blobs.Ref{*ref("1")}}},
		"opened: the tests":      {Type: events.Opened, Hash: "3fa9c0d2e1b4a5f6", Text: "the tests"},
		"ann in dev: yes, do":    {Type: events.UserMessage, By: "ann", Room: "dev", Text: "q3fa9c1 yes, do"},
		"ada asks in dev: Deploy?": {Type: events.Asked, Agent: "ada", Room: "dev", Inquiry: events.Inquiry{
			Question: &chat.Question{ID: "q3fa9c1", Text: "Deploy?"}}},
		"ann answers “Deploy?”: yes": {Type: events.Answered, By: "ann", Inquiry: events.Inquiry{
			Choice: "yes", Question: &chat.Question{ID: "q3fa9c1", Text: "Deploy?"}}},
	} {
		if got := e.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
