package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// draft is a reply that is not whole yet.
type draft struct {
	text, reasoning strings.Builder
	letters         struct{ text, reasoning letters }
	tags            thoughts
	calls           []*callDraft       // in order of appearance
	current         map[int]*callDraft // by index, the call that its fragments go to
	numbered        int                // calls begun; it numbers a call without an index
	weight          int                // weighted characters that came, against maxReply
	reply           Reply
	on              func(Delta)
	progress        func() // told of each event that brings something
	told            brought
	preset          PresetInfo
	opaque          []object        // what the provider wants back
	details         strings.Builder // the texts in it, if they are no reasoning
	thought         int             // where the text of its newest object begins
}

func newDraft(p PresetInfo, on func(Delta), progress func()) *draft {
	return &draft{current: map[int]*callDraft{}, on: on, progress: progress, preset: p}
}

// read reads the events of an answer to their end. One with a finish reason is whole, whatever ends it.
func (d *draft) read(s *stream) (Reply, error) {
	event := d.event
	switch d.preset.Dialect {
	case Anthropic:
		event = d.happen
	case Ollama:
		event, s.bare = d.chat, true
	}
	for {
		data, err := s.next()
		if err == nil {
			err = event(data, s.redact)
		}
		d.endAt(err)
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

// endAt notes the end of an answer that came without a reason, as some servers end one: it has said something, and all
// that the server meant to send has come, with the usage.
func (d *draft) endAt(err error) {
	hasContent := d.text.Len() > 0 || len(d.calls) > 0
	isWhole := hasContent && d.reply.Usage.Output > 0
	if d.reply.Finish == "" && isWhole && errors.Is(err, errDone) {
		d.reply.Finish = "stop"
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
	}
	for _, choice := range c.Choices { // none in the chunk that brings the usage
		if choice.Index == 0 { // only one answer was asked for
			if choice.Message != nil && d.weight == 0 { // the answer in one piece
				choice.Delta = *choice.Message
			}
			d.add(choice)
		}
	}
	d.tell()
	return nil
}

// brought is what the events of an answer have brought so far.
type brought struct {
	weight int
	finish string
	usage  Usage
}

// tell calls progress if the last event has brought something. Some servers keep a connection alive by empty ones.
func (d *draft) tell() {
	now := brought{d.weight, d.reply.Finish, d.reply.Usage}
	if now != d.told {
		d.told = now
		d.progress()
	}
}

// count takes over a provider's numbers, bounded to numbers that make sense.
func (d *draft) count(u deepseek.StreamUsage) {
	in, cached := max(u.PromptTokens, 0), max(u.PromptCacheHitTokens, 0)
	if cached > in { // a server that counts them apart
		in += cached
	}
	out := max(u.CompletionTokens, u.TotalTokens-in, 0) // some count reasoning in the total only
	if in+out == 0 {
		return
	}
	d.reply.Usage = Usage{
		Input:     in,
		Cached:    cached,
		Output:    out,
		Reasoning: min(max(u.CompletionTokensDetails.ReasoningTokens, 0), out),
	}
}

func (d *draft) add(c choice) {
	d.reply.Finish = worse(d.reply.Finish, ending(c.FinishReason))
	text := d.letters.text.decode(c.Delta.Content)
	reasoning := d.letters.reasoning.decode(c.Delta.ReasoningContent)
	if reasoning == "" {
		reasoning = d.letters.reasoning.decode(c.Delta.Reasoning)
	}
	d.say(text, reasoning+c.Delta.Content.thinking)
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

// say adds text, and thoughts that came in a field of their own. Where there is no such field, they stand in the text.
func (d *draft) say(text, reasoning string) {
	d.weight += Weight(text) + Weight(reasoning)
	hasField := d.preset.Dialect == Anthropic || reasoning != ""
	if hasField && d.tags.at == undecided {
		d.tags.at = inField
	}
	if text != "" && d.tags.at != inField {
		tagged, said, all := d.tags.take(d.text.String(), text)
		if all { // all that was shown so far were thoughts
			d.text.Reset()
			d.on(Delta{Reset: true})
		}
		text, reasoning = said, reasoning+tagged
	}
	d.text.WriteString(text)
	d.reasoning.WriteString(reasoning)
	if text != "" || reasoning != "" {
		d.on(Delta{Text: text, Reasoning: reasoning})
	}
}

func (d *draft) finish() (Reply, error) {
	reasoning, text := d.tags.rest()
	d.text.WriteString(text)
	d.reasoning.WriteString(reasoning)
	saysNothing := d.text.Len() == 0 && len(d.calls) == 0
	neverEnds := d.tags.at == thinking && d.reply.Finish != "length"
	if saysNothing && neverEnds {
		return Reply{}, &Error{Kind: Garbage, Blank: true, Message: "the reply is thoughts that never end"}
	}
	sort.SliceStable(d.calls, func(i, j int) bool { return d.calls[i].index < d.calls[j].index })
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
	Delta   piece  `json:"delta"`
	Message *piece `json:"message"` // in the place of Delta where a server does not stream
}

type piece struct {
	Content          content         `json:"content"`
	ReasoningContent content         `json:"reasoning_content"`
	Reasoning        content         `json:"reasoning"`
	ToolCalls        []fragment      `json:"tool_calls"`
	Details          json.RawMessage `json:"reasoning_details"`
}
