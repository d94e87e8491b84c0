package tools

import (
	"encoding/json"
	"path"
	"strings"
)

// trigger is the name of the trigger that p is the file of, or "".
func (p place) trigger() string {
	if name, ok := strings.CutSuffix(p.own, ".toml"); ok {
		return path.Base(name)
	}
	return ""
}

// TriggerOf returns the name in the identity's directory of the trigger that a call is to
// write, and the text that it writes there; "" when it writes none.
func TriggerOf(tool string, args json.RawMessage) (name, text string) {
	var a struct{ Path, Content, New string }
	if tool != "WRITE_FILE" && tool != "EDIT_FILE" || json.Unmarshal(args, &a) != nil {
		return "", ""
	}
	name, self := strings.CutPrefix(strings.TrimSpace(a.Path), "self/")
	if p, err := (&Set{}).self(name); self && err == nil && p.trigger() != "" {
		return p.name, a.Content + a.New
	}
	return "", ""
}
