package acp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/chat"
	"lethe/internal/screen"
)

func TestOptions(t *testing.T) {
	got := choices(chat.Question{Options: []string{"once", "always", "No", "\x1b[2J"}})
	if got[0].Kind != sdk.PermissionOptionKindAllowOnce || got[1].Kind != sdk.PermissionOptionKindAllowAlways ||
		got[2].Kind != sdk.PermissionOptionKindRejectOnce ||
		strings.Contains(got[3].Name, "\x1b") || got[3].OptionId != "\x1b[2J" {
		t.Errorf("%+v", got)
	}
}

// A cost has no more digits than it is known by.
func TestCost(t *testing.T) {
	if text, _ := json.Marshal(dollars(0.1 + 0.2)); string(text) != "0.3" {
		t.Errorf("0.1 + 0.2 = %s", text)
	}
}

// An editor is told which file a call is about, and what changes there.
func TestTouches(t *testing.T) {
	self := &host.Identity{Identity: home.Identity{Dir: "/home/agents/51c0"}}
	for _, c := range [][4]string{ // the folder of the editor and that of the configuration; what is told
		{"EDIT_FILE", `{"path":"a.go","old":"1\u001b","new":"2"}`, "/project", `/project/a.go: "1␛" becomes "2"`},
		{"WRITE_FILE", `{"Path":"/tmp/a","content":"new"}`, "/project", `/tmp/a: becomes "new"`},
		{"EDIT_FILE", `{"path":"self/MEMORY.md","old":"a","new":""}`, "", `/home/agents/51c0/MEMORY.md: "a" becomes ""`},
		{"READ_FILE", `{"path":"sub/../b","offset":7}`, "", "/home/agents/51c0/workspace/b:"},
		{"GREP", `{"pattern":"x","path":"sub"}`, "/project", "/project/sub:"},
		{"SAY", `{"room":"dev","message":"x"}`, "/project", ""},
		{"EDIT_FILE", `[1]`, "/project", ""},
	} {
		v := &view{session: &session{server: &server{folder: c[2]}, self: self}}
		call := sdk.StartToolCall("1", "", v.touches(events.Event{Call: events.Call{Tool: c[0], Args: json.RawMessage(c[1])}})...).ToolCall
		got := ""
		for _, at := range call.Locations {
			got += at.Path + ":"
		}
		for _, d := range call.Content {
			if d.Diff.Path+":" != got {
				t.Errorf("%s: the diff is of %s", c[1], d.Diff.Path)
			}
			if d.Diff.OldText != nil {
				got += " " + string(screen.JSON(*d.Diff.OldText))
			}
			got += " becomes " + string(screen.JSON(d.Diff.NewText))
		}
		if got = strings.TrimSpace(strings.ReplaceAll(got, "\n", "")); got != c[3] {
			t.Errorf("%s %s: %s, want %s", c[0], c[1], got, c[3])
		}
	}
}
