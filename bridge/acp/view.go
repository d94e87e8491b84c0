package acp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/agent/events"
	"lethe/agent/status"
	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/screen"
)

// view makes updates of events. An editor appends chunks, so a text that grows is sent piece by
// piece, and what was sent cannot be taken back.
type view struct {
	*session
	own   string // the hash of the line that the editor shows already
	turn  int    // the newest turn that answers the room
	model string // that the editor was told last; "" before a call

	text, thinking events.Growing
	output         map[string]string // of calls that run, the newest of it
}

func newView(s *session) *view { return &view{session: s, output: map[string]string{}} }

// underWay has the view show the rest of a turn that has begun already.
func (v *view) underWay() {
	if now, _ := status.Read(v.self.Dir); slices.Contains(now.Answering, v.room) {
		v.turn = now.Turn + 1
	}
}

func (v *view) send(u sdk.SessionUpdate) {
	if err := v.conn.SessionUpdate(v.ctx, sdk.SessionNotification{SessionId: v.id, Update: u}); err != nil {
		v.Log.Debug("the editor takes no updates", "error", err)
	}
}

// Others wrote all that is shown: no control character gets through.

func (v *view) say(text string)   { v.send(sdk.UpdateAgentMessageText(screen.Sanitize(text))) }
func (v *view) think(text string) { v.send(sdk.UpdateAgentThoughtText(screen.Sanitize(text))) }
func (v *view) hear(text string)  { v.send(sdk.UpdateUserMessageText(screen.Sanitize(text))) }

// line shows an older line of the room.
func (v *view) line(l chat.Line) {
	if l.By(v.self.Name) {
		v.said(l.Text)
	} else {
		v.hear(v.signed(l.Name, l.Text))
	}
}

// signed names somebody who is not the editor's person.
func (v *view) signed(name, text string) string {
	if name == v.User {
		return text
	}
	return name + ": " + text
}

func (v *view) event(happened events.Event) {
	here := happened.InRoom(v.room)
	if here && happened.Type == events.UserMessage {
		if v.turn = max(v.turn, happened.Turn); happened.Line != v.own {
			v.hear(v.signed(happened.By, happened.Text))
		}
		return
	}
	ofTurn := happened.Turn == v.turn && happened.Turn > 0
	if !here && !ofTurn {
		return // another room's
	}
	switch happened.Type {
	case events.ThinkingDelta, events.ThinkingDone:
		if more := v.thinking.More(happened, happened.Type == events.ThinkingDone); more != "" {
			v.think(more)
		}
	case events.MessageDelta, events.MessageDone:
		v.message(happened, here)
	case events.Asked:
		if here && happened.Question != nil {
			v.say(happened.Question.String() + "\n")
		}
	case events.ToolRequest, events.ToolOutput, events.ToolResult:
		v.call(happened)
	case events.Usage:
		v.usage(happened.USD)
	case events.TurnEnd: // what follows is no paragraph of it
		v.thinking, v.text = events.Growing{}, events.Growing{}
	case events.Forgot:
		v.think(fmt.Sprintf("(forgot %s: %d → %d tokens)\n", happened.Entries, happened.Before, happened.After))
	}
}

// usage shows how full the context is, the model where it is another one, and the cost with that of a call whose status
// is not written yet.
func (v *view) usage(usd float64) {
	now, err := status.Read(v.self.Dir)
	if err != nil || now.ContextLimit <= 0 {
		return
	}
	v.send(sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{
		Used: now.Used(), Size: now.ContextLimit - now.ContextAnswer,
		Cost: &sdk.Cost{Amount: dollars(now.CostUSD + usd), Currency: "USD"},
	}})
	if before := v.model; before != "" && before != now.Model {
		v.sendOptions()
	}
	v.model = now.Model
}

// dollars rounds a cost to a millionth.
func dollars(usd float64) float64 { return math.Round(usd*1e6) / 1e6 }

// sendOptions shows the options of the identity as they are.
func (v *view) sendOptions() {
	list, err := v.options()
	if err != nil {
		v.Log.Warn("the editor is not told the options", "error", err)
		return
	}
	v.send(sdk.SessionUpdate{ConfigOptionUpdate: &sdk.SessionConfigOptionUpdate{ConfigOptions: list}})
}

func (v *view) message(event events.Event, here bool) {
	// Neither SAY's text nor the harness's.
	reply := strings.HasPrefix(event.Entry, "e") && !strings.Contains(event.Entry, ".")
	switch {
	case event.Type == events.MessageDone && !reply:
		if here {
			v.said(event.Text)
		}
	case event.Status == "" || event.Type == events.MessageDelta:
		if more := v.text.More(event, event.Type == events.MessageDone); more != "" {
			v.say(more)
		}
	default: // refused, stopped, cut: what was sent of it stays
		v.say("\n(" + event.Status + ")\n")
	}
}

// kinds lets editors choose icons for tools.
var kinds = map[string]sdk.ToolKind{
	"READ_FILE": sdk.ToolKindRead, "LIST": sdk.ToolKindRead, "UNCOMPACT": sdk.ToolKindRead,
	"GLOB": sdk.ToolKindSearch, "GREP": sdk.ToolKindSearch, "RECALL": sdk.ToolKindSearch,
	"WRITE_FILE": sdk.ToolKindEdit, "EDIT_FILE": sdk.ToolKindEdit, "BASH": sdk.ToolKindExecute,
	"COMPACT": sdk.ToolKindThink, "FETCH": sdk.ToolKindFetch, "SEARCH": sdk.ToolKindSearch,
}

func content(text string) []sdk.ToolCallContent {
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(screen.Sanitize(text)))}
}

func (v *view) call(event events.Event) {
	id := sdk.ToolCallId(v.room + "/" + event.Entry)
	switch event.Type {
	case events.ToolRequest:
		kind, known := kinds[event.Tool]
		if !known {
			kind = sdk.ToolKindOther
		}
		title := strings.TrimSpace(event.Tool + " " + bridge.Clip(screen.Sanitize(event.Brief()), 100))
		v.send(sdk.StartToolCall(id, title, append(v.touches(event), sdk.WithStartKind(kind),
			sdk.WithStartStatus(sdk.ToolCallStatusInProgress), sdk.WithStartRawInput(event.Args))...))
	case events.ToolOutput:
		text := event.Text
		if event.Offset > 0 {
			text = v.output[event.Entry] + event.Text
		}
		if more := len(text) - 16<<10; more > 0 { // the newest is shown
			text = strings.ToValidUTF8(text[more:], "")
		}
		v.output[event.Entry] = text
		v.send(sdk.UpdateToolCall(id, sdk.WithUpdateContent(content(text))))
	case events.ToolResult:
		delete(v.output, event.Entry)
		state, came := sdk.ToolCallStatusFailed, content(event.Text)
		if event.Status == "ok" {
			state = sdk.ToolCallStatusCompleted
			if kinds[event.Tool] == sdk.ToolKindEdit {
				came = nil // the diff stays
			}
		}
		v.send(sdk.UpdateToolCall(id, sdk.WithUpdateStatus(state), sdk.WithUpdateContent(came),
			sdk.WithUpdateRawOutput(map[string]any{"status": event.Status, "hash": event.Hash})))
	}
}
