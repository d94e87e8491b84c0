package llm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"lethe/mind/message"
)

// Fillers are fixed: they are part of the bytes of a life. They stand where a
// provider wants another role to speak and nothing can be joined, and where a
// reply had neither text nor calls.
const (
	fillUser  = "(continue)"
	fillUnit  = "(not finished yet)" // after results: the turn goes on
	fillEmpty = "(no text)"
)

// Filler reports whether a text of a model is nothing but a filler, which models imitate:
// one of these, or "(noted)" of earlier versions.
func Filler(text string) bool {
	return slices.Contains([]string{fillUser, fillUnit, fillEmpty, "(noted)"}, strings.TrimSpace(text))
}

type wireMessage struct {
	Role             string          `json:"role"`
	Content          string          `json:"content"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	Reasoning        string          `json:"reasoning,omitempty"`
	Thinking         string          `json:"thinking,omitempty"`
	Details          json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []wireCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
	ToolName         string          `json:"tool_name,omitempty"` // for Ollama, with the next
	Images           []string        `json:"images,omitempty"`
	said             Content         // of which Content is the text
}

type wireCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function wireFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments any    `json:"arguments"` // a text, or for Ollama an object
}

// Body returns the exact bytes that a Complete of r sends under p. It is a pure
// function. When r goes on from another request with the reply to that one, its
// messages begin with that one's bytes; without Alternate they do so however r
// goes on.
func (p PresetInfo) Body(r Request) ([]byte, error) {
	parts, err := p.parts(r)
	return bytes.Join(parts, nil), err
}

// parts returns the body in parts, which nobody may change: it shares them with other bodies. Its keys are in order.
func (p PresetInfo) parts(r Request) (parts net.Buffers, err error) {
	p.ReasoningAlways = p.ReasoningAlways && !r.Spare
	if p.Dialect == Anthropic {
		text, err := p.anthropic(r)
		return net.Buffers{text}, err
	}
	body := object{"model": r.Model, "stream": true, "messages": p.encode(r)}
	if !p.NoUsageFlag && p.Dialect == "" {
		body["stream_options"] = object{"include_usage": true}
	}
	tools := toolsOf(r.Tools)
	if tools.err != nil {
		return nil, tools.err
	}
	if len(tools.compact) > len("[]") { // an empty array is refused by several providers
		body["tools"] = [][]byte{tools.compact}
	}
	if r.MaxTokens > 0 && p.Dialect == "" {
		body[cmp.Or(p.MaxField, "max_tokens")] = r.MaxTokens
	}
	if r.UserID != "" && p.UserField != "" {
		body[p.UserField] = r.UserID
	}
	p.setThinking(body, r)
	if p.Dialect == Ollama {
		setOllama(body, r)
	}
	text, open := []byte(nil), byte('{')
	for _, key := range slices.Sorted(maps.Keys(body)) {
		text = fmt.Appendf(text, "%c%q:", open, key)
		open = ','
		if encoded, ok := body[key].([][]byte); ok {
			parts, text = append(append(parts, text), encoded...), nil
			continue
		}
		value, err := encode(body[key])
		if err != nil {
			return nil, err
		}
		text = append(text, value...)
	}
	return append(parts, append(text, '}')), nil
}

// lastTools are the tools that were asked for last: nearly all requests of a process have the same.
var lastTools atomic.Pointer[toolList]

// toolList is a list of tools as a Request has it, and as it is sent.
type toolList struct {
	text    json.RawMessage
	weight  int
	compact []byte // nobody may change it
	err     error  // it is no list
}

func toolsOf(text json.RawMessage) *toolList {
	if last := lastTools.Load(); last != nil && bytes.Equal(last.text, text) {
		return last
	}
	tools := &toolList{text: text, weight: Weight(string(text))}
	if len(text) > 0 {
		var compact bytes.Buffer
		err := json.Compact(&compact, text)
		if err == nil && compact.Bytes()[0] != '[' {
			err = errors.New("they are no list")
		}
		if err != nil {
			tools.err = fmt.Errorf("encode tools: %w", err)
		}
		tools.compact = compact.Bytes()
	}
	lastTools.Store(tools)
	return tools
}

// encode is json.Marshal without the HTML escapes, which cost tokens of nobody
// but bytes of everybody.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (p PresetInfo) setThinking(body object, r Request) {
	set := func(field string, value any) {
		field, inner, nested := strings.Cut(field, ".")
		if !nested {
			body[field] = value
			return
		}
		nest, _ := body[field].(object)
		if nest == nil {
			nest = object{}
			body[field] = nest
		}
		nest[inner] = value
	}
	refuses := func(model string) bool { return strings.HasPrefix(r.Model, model) }
	effort, off := r.Effort, r.Thinking == "disabled"
	if len(r.Tools) > 0 && slices.ContainsFunc(strings.Fields(p.ToolsOrThinking), refuses) {
		off = true
	}
	if effort == "max" {
		effort = cmp.Or(p.MaxEffort, "high")
	}
	if off {
		effort = p.NoEffort
	}
	switch {
	case r.Thinking == "" || p.ThinkingField == "":
	case strings.HasSuffix(p.ThinkingField, ".type"):
		set(p.ThinkingField, r.Thinking)
	default:
		set(p.ThinkingField, !off)
	}
	if effort != "" && p.EffortField != "" {
		set(p.EffortField, effort)
	}
}

// joins reports whether m becomes a part of the message before it. A filler
// between them would look like the answer to that one: the model would go on to
// what m says and leave it at that.
func (w *writer) joins(m Message) bool {
	if m.Role != "user" {
		return false
	}
	if w.last.Role == "user" {
		return true
	}
	hasPicture := slices.ContainsFunc(m.Content, func(p message.Part) bool { return p.Ref != "" })
	mayHold := w.last.Role == "tool" && !hasPicture // no result may hold a picture
	return mayHold && (m.Aside || w.ended)
}

// fillerBetween is what has to be said between two messages. The results of one
// reply follow each other; after them it is the model's turn.
func fillerBetween(last, next string) (Message, bool) {
	switch last + " " + next {
	case "tool user":
		return Message{Role: "assistant", Content: Text(fillUnit)}, true
	case "assistant assistant", "system assistant":
		return Message{Role: "user", Content: Text(fillUser)}, true
	}
	return Message{}, false
}

func (p PresetInfo) message(m Message) wireMessage {
	w := wireMessage{Role: m.Role, Content: m.Content.String(), ToolCallID: p.callID(m.CallID), said: m.Content}
	if m.Role != "assistant" {
		return w
	}
	for i, c := range m.Calls {
		call := wireCall{ID: p.callID(c.ID), Type: "function",
			Function: wireFunction{Name: c.Name, Arguments: p.arguments(cmp.Or(c.Arguments, "{}"))}}
		if call.Extra = p.back("extra_content", c.Opaque); i == 0 && call.Extra == nil {
			call.Extra = json.RawMessage(p.OpaqueStandIn)
		}
		w.ToolCalls = append(w.ToolCalls, call)
	}
	if w.Content == "" && len(m.Calls) == 0 {
		w.Content = fillEmpty
	}
	if w.Details = p.back("reasoning_details", m.Opaque); w.Details != nil {
		return w // it holds the reasoning, too
	}
	reasoning := m.Reasoning
	needed := len(m.Calls) > 0 || p.ReasoningAlways
	if needed && reasoning == "" {
		reasoning = p.ReasoningPlaceholder
	}
	switch p.ReasoningField {
	case "reasoning_content":
		w.ReasoningContent = reasoning
	case "reasoning":
		w.Reasoning = reasoning
	case "thinking":
		w.Thinking = reasoning
	}
	return w
}

// callID maps an id to nine letters or digits where that is demanded: 46 bits
// of its digest, so that two ids of one life do not meet.
func (p PresetInfo) callID(id string) string {
	if !p.ShortIDs || id == "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(36)
	return text[:9]
}
