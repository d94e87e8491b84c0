package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	deepseek "github.com/cohesion-org/deepseek-go"
)

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

// callDraft is a call that is not whole yet.
type callDraft struct {
	index    int
	id, name string
	args     strings.Builder
	letters  letters // of args
	opaque   string
}

func (d *draft) addCall(f fragment) {
	c, index := d.callOf(f)
	if c == nil {
		c = &callDraft{index: index, id: f.ID}
	}
	name, args := f.Function.Name, c.letters.decode(argumentsOf(f))
	if d.isRepeated(f, args) {
		return
	}
	if !slices.Contains(d.calls, c) {
		d.calls = append(d.calls, c)
		d.weight += 256 // what an empty call costs here
	}
	d.current[index] = c
	c.id = cmp.Or(c.id, f.ID)
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

// callOf returns the call that a fragment goes on with, nil if it begins one, and the number of the call. A fragment
// without a name goes on with the call of its id, of its number, or else with the last one. One with a name and without
// a number begins a call.
func (d *draft) callOf(f fragment) (c *callDraft, index int) {
	named := f.Function.Name != ""
	if !named && f.ID != "" {
		i := slices.IndexFunc(d.calls, func(c *callDraft) bool { return c.id == f.ID })
		if i >= 0 {
			return d.calls[i], d.calls[i].index
		}
	}
	switch {
	case f.Index != nil:
		index = *f.Index
	case named || len(d.calls) == 0:
		index = d.numbered
	default:
		index = d.calls[len(d.calls)-1].index
	}
	c = d.current[index]
	isTail := !named && f.ID == ""
	goesOn := isTail && len(d.calls) > 0
	if c == nil && goesOn {
		last := d.calls[len(d.calls)-1]
		return last, last.index
	}
	d.numbered = max(d.numbered, index+1)
	if c != nil && c.isOver(f) {
		c = nil
	}
	return c, index
}

// isRepeated reports whether a fragment has a whole call that has come before: some servers send all of it again.
func (d *draft) isRepeated(f fragment, args string) bool {
	return isObject(args) && slices.ContainsFunc(d.calls, func(c *callDraft) bool {
		sameName := f.Function.Name == "" || f.Function.Name == c.name
		sameNumber := f.Index != nil && *f.Index == c.index
		sameCall := f.ID == c.id
		if f.ID == "" {
			sameCall = sameNumber
		}
		return sameCall && sameName && c.args.String() == args
	})
}

// isObject reports whether a text is a whole object of JSON.
func isObject(text string) bool { return strings.HasPrefix(text, "{") && json.Valid([]byte(text)) }

// argumentsOf returns the arguments in a fragment: text, or the JSON itself where text belongs.
func argumentsOf(f fragment) (args content) {
	raw := f.Function.Arguments
	if len(raw) == 0 || string(raw) == "null" {
		return args
	}
	if raw[0] != '"' {
		args.text = string(raw)
		return args
	}
	_ = args.UnmarshalJSON(raw) // a string: cannot fail
	return args
}

// isOver reports whether a fragment of the same index begins another call: some
// servers send parallel calls so. Others repeat the id, or make up a new one, on
// each fragment of one call: so the call before must be complete, and, without
// ids, the fragment, too.
func (c *callDraft) isOver(f fragment) bool {
	hasIDs := f.ID != "" || c.id != ""
	if !hasIDs && f.Function.Name != "" {
		return isObject(c.args.String()) && isObject(argumentsOf(f).text)
	}
	bothHaveIDs := f.ID != "" && c.id != ""
	hasOtherID := bothHaveIDs && f.ID != c.id
	if !hasOtherID || f.Function.Name == "" {
		return false
	}
	if c.args.Len() == 0 {
		return f.Function.Name != c.name
	}
	return json.Valid([]byte(c.args.String()))
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
