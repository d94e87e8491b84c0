package events

import (
	"encoding/json"
	"testing"

	"lethe/blobs"
)

func TestWords(t *testing.T) {
	for want, e := range map[string]Event{
		"ann in dev: hello": {Type: UserMessage, By: "ann", Room: "dev", Text: "hello"},
		"ann in dev: hel…\n… all of it: lethe cat 3fa9":      {Type: UserMessage, By: "ann", Room: "dev", Text: "hel", Cut: true, Hash: "3fa9"},
		"ada, said nowhere (stopped): half":                  {Type: MessageDone, By: "ada", Status: "stopped", Text: "half"},
		"↳ WRITE_FILE a.txt hello append=true":               {Type: ToolRequest, Tool: "WRITE_FILE", Args: json.RawMessage(`{"content":"hello","append":true,"path":"a.txt"}`)},
		`↳ WRITE_FILE {"content":"hel`:                       {Type: ToolRequest, Tool: "WRITE_FILE", Text: `{"content":"hel`, Cut: true},
		"↳ LIST":                                             {Type: ToolRequest, Tool: "LIST", Args: json.RawMessage(`{}`)},
		"forgot e1..e9 (full) → 1 summary":                   {Type: Forgot, Entries: "e1..e9", Why: "full", Summaries: 1},
		"forgot e1..e9 → 3 summaries, 41k → 9800 tokens":     {Type: Forgot, Entries: "e1..e9", Summaries: 3, Before: 41_000, After: 9_800},
		"reminded of ◱hash=3fa9c0d2e1b4a5f6 gist=the tests◲": {Type: Reminded, Refs: []blobs.Ref{{Hash: "3fa9c0d2e1b4a5f6", Gist: "the tests"}}},
	} {
		if got := e.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
