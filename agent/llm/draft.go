package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// draft is a reply that is not whole yet.
type draft struct {
	text, reasoning strings.Builder
	calls           []*callDraft       // in order of appearance
	current         map[int]*callDraft // by index, the call that its fragments go to
	numbered        int                // calls begun; it numbers a call without an index
	weight          int                // weighted characters that came, against maxReply
	reply           Reply
	on              func(Delta)
	progress        func() // told of each event that brings something
	preset          PresetInfo
	opaque          []object        // what the provider wants back
	details         strings.Builder // the texts in it, if they are no reasoning
	thought         int             // where the text of its newest object begins
}

type callDraft struct {
	index    int
	id, name string
	args     strings.Builder
	opaque   string
}

func newDraft(p PresetInfo, on func(Delta), progress func()) *draft {
	return &draft{current: map[int]*callDraft{}, on: on, progress: progress, preset: p}
}

// read reads the events of an answer to their end. One with a finish reason is whole, whatever ends it.
func (d *draft) read(s *stream) (Reply, error) {
	event := d.event
	if d.preset.Dialect == Anthropic {
		event = d.happen
	}
	for {
		data, err := s.next()
		if err == nil {
			err = event(data, s.redact)
		}
		switch {
		case err != nil && d.reply.Finish != "":
			return d.finish()
		case err != nil:
			return Reply{}, err
		case d.weight > maxReply:
			return Reply{}, garbage("the reply is larger than %d MB", maxReply>>20)
		}
	}
}

func unreadable(data []byte, redact func(string) string) error {
	return garbage("unreadable event in the stream: %s", redact(string(data[:min(len(data), 4096)])))
}

// event adds one event of any known dialect of OpenAI's. One that tells an error is an *Error.
func (d *draft) event(data []byte, redact func(string) string) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return unreadable(data, redact)
	}
	if c.Choices == nil || c.Error != nil {
		if p, ok := parseProblem(data); ok {
			return p.error(0, redact)
		}
	}
	d.reply.Model = cmp.Or(d.reply.Model, c.Model)
	if u := c.Usage; u != nil {
		u.PromptCacheHitTokens = max(u.PromptCacheHitTokens, u.Details.Cached)
		d.count(u.StreamUsage)
		d.reply.Usage.Written = min(max(u.Details.Written, 0), d.reply.Usage.Input)
		d.progress()
	}
	for _, choice := range c.Choices { // none in the chunk that brings the usage
		if choice.Index == 0 { // only one answer was asked for
			d.add(choice)
			d.progress()
		}
	}
	return nil
}

// count takes over a provider's numbers, bounded to numbers that make sense.
func (d *draft) count(u deepseek.StreamUsage) {
	in := max(u.PromptTokens, 0)
	out := max(u.CompletionTokens, u.TotalTokens-in, 0) // some count reasoning in the total only
	if in+out == 0 {
		return
	}
	d.reply.Usage = Usage{
		Input:     in,
		Cached:    min(max(u.PromptCacheHitTokens, 0), in),
		Output:    out,
		Reasoning: min(max(u.CompletionTokensDetails.ReasoningTokens, 0), out),
	}
}

func (d *draft) add(c choice) {
	d.reply.Finish = cmp.Or(c.FinishReason, d.reply.Finish)
	text := c.Delta.Content.text
	reasoning := cmp.Or(c.Delta.ReasoningContent.text, c.Delta.Reasoning.text) + c.Delta.Content.thinking
	d.text.WriteString(text)
	d.reasoning.WriteString(reasoning)
	d.weight += Weight(text) + Weight(reasoning)
	if text != "" || reasoning != "" {
		d.on(Delta{Text: text, Reasoning: reasoning})
	}
	if d.preset.OpaqueField == "reasoning_details" {
		var details []object
		_ = json.Unmarshal(c.Delta.Details, &details) // what is none says nothing
		for _, piece := range details {
			d.detail(piece)
		}
		d.weight += len(c.Delta.Details)
	}
	for _, f := range c.Delta.ToolCalls {
		d.addCall(f)
	}
}

func (d *draft) addCall(f fragment) {
	index := d.index(f)
	c := d.current[index]
	if c == nil || c.isOver(f) {
		c = &callDraft{index: index, id: f.ID}
		d.calls = append(d.calls, c)
		d.current[index] = c
		d.weight += 256 // what an empty call costs here
	}
	c.id = cmp.Or(c.id, f.ID)
	name, args := f.Function.Name, ""
	if json.Unmarshal(f.Function.Arguments, &args) != nil {
		args = string(f.Function.Arguments)
	}
	if c.args.Len() == 0 && c.name != name {
		c.name += name
	}
	c.args.WriteString(args)
	if d.preset.OpaqueField == "extra_content" && len(f.Extra) > len("null") {
		c.opaque = string(f.Extra)
	}
	d.on(Delta{}) // a call is on its way
	d.weight += Weight(name) + Weight(args)
}

// index returns the number of a fragment's call. A fragment without a number begins
// a call if it has a name, and otherwise continues the last call.
func (d *draft) index(f fragment) int {
	if f.Index != nil {
		d.numbered = max(d.numbered, *f.Index+1)
		return *f.Index
	}
	if f.Function.Name != "" || d.numbered == 0 {
		d.numbered++
	}
	return d.numbered - 1
}

// isOver reports whether a fragment of the same index begins another call: some
// servers send parallel calls so. Others repeat the id, or make up a new one, on
// each fragment of one call: so the call before must be complete.
func (c *callDraft) isOver(f fragment) bool {
	hasOtherID := f.ID != "" && c.id != "" && f.ID != c.id
	if !hasOtherID || f.Function.Name == "" {
		return false
	}
	if c.args.Len() == 0 {
		return f.Function.Name != c.name
	}
	return json.Valid([]byte(c.args.String()))
}

func (d *draft) finish() (Reply, error) {
	slices.SortStableFunc(d.calls, func(a, b *callDraft) int { return cmp.Compare(a.index, b.index) })
	used := map[string]bool{}
	for _, c := range d.calls {
		if c.name == "" {
			if d.reply.Finish == "length" {
				continue // cut off before it had one
			}
			return Reply{}, garbage("a tool call has no name")
		}
		id := c.uniqueID(used)
		used[id] = true
		d.reply.Calls = append(d.reply.Calls, ToolCall{ID: id, Name: c.name, Arguments: c.args.String(), Opaque: c.opaque})
	}
	if d.reply.Finish == "tool_calls" && len(d.reply.Calls) == 0 {
		return Reply{}, garbage("the reply announces tool calls and has none")
	}
	d.reply.Text, d.reply.Reasoning, d.reply.Opaque = d.text.String(), d.reasoning.String(), d.whole()
	return d.reply, nil
}

// uniqueID returns the call's own id. If that is missing or another call's, it makes
// one up from the index.
func (c *callDraft) uniqueID(used map[string]bool) string {
	id := c.id
	for n := 0; id == "" || used[id]; n++ {
		id = fmt.Sprintf("call_%d", c.index)
		if n > 0 {
			id += fmt.Sprintf("_%d", n)
		}
	}
	return id
}

// back returns the JSON that goes back in a field; nil if the field takes no JSON back, or s is no JSON.
func (p PresetInfo) back(field, s string) json.RawMessage {
	if p.OpaqueField != field || !json.Valid([]byte(s)) {
		return nil
	}
	return json.RawMessage(s)
}

// detail adds a piece of OpenRouter's reasoning_details. Those of one text become one.
func (d *draft) detail(piece object) {
	n := len(d.opaque) - 1
	name := func(o object) string { return fmt.Sprint(o["type"], o["index"]) }
	continues := n >= 0 && name(piece) == name(d.opaque[n])
	if !continues || piece["data"] != nil {
		d.opaque, d.thought = append(d.opaque, object{}), d.details.Len()
		n++
	}
	for field, value := range piece {
		isText := field == "text" || field == "summary"
		if text, ok := value.(string); ok && isText {
			d.details.WriteString(text)
			value = d.details.String()[d.thought:]
		}
		if value != nil {
			d.opaque[n][field] = value
		}
	}
}

// marks are written in another way where a reply is kept.
const marks = "◰◱◲◳◆\x00"

// whole returns the JSON that the provider wants back. It is "" if no piece is signed. It is "", too, if a signature
// covers text of a reply that does not go back as it was.
func (d *draft) whole() string {
	said := d.text.String()
	for _, c := range d.calls {
		said += c.args.String()
	}
	plain, signed, bound := false, false, false
	for _, o := range d.opaque {
		proof := word(o["signature"])+word(o["data"]) != ""
		if proof {
			signed = true
			bound = bound || plain
		} else {
			plain = true
		}
	}
	isAltered := bound && strings.ContainsAny(said, marks)
	if !signed || isAltered {
		return ""
	}
	text, _ := encode(d.opaque) // it was decoded: cannot fail
	return string(text)
}

// chunk is one event of an answer: the library's types, and in place of some fields what other providers send there.
type chunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *struct {
		deepseek.StreamUsage
		Details struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type choice struct {
	deepseek.StreamChoices
	Delta struct {
		Content          content         `json:"content"`
		ReasoningContent content         `json:"reasoning_content"`
		Reasoning        content         `json:"reasoning"`
		ToolCalls        []fragment      `json:"tool_calls"`
		Details          json.RawMessage `json:"reasoning_details"`
	} `json:"delta"`
}

// fragment is a piece of a tool call.
type fragment struct {
	deepseek.ToolCall
	Index    *int            `json:"index"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // text, or the JSON itself where text belongs
	} `json:"function"`
}

// content is text, or Mistral's list of parts, in which thinking is a part of its own. Other values are passed over.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		_ = json.Unmarshal(raw, &c.text)
		return nil
	}
	var parts []struct {
		Text     string  `json:"text"`
		Thinking content `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}
