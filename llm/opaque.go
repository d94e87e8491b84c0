package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// back is what goes back in a field; nil for what is no JSON.
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
	if n < 0 || piece["data"] != nil || name(piece) != name(d.opaque[n]) {
		d.opaque, d.thought = append(d.opaque, object{}), d.details.Len()
		n++
	}
	for field, value := range piece {
		if text, ok := value.(string); ok && (field == "text" || field == "summary") {
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

// whole is what the provider wants back. Where nothing is signed, that is nothing; nor where a reply does not go back as
// it was, and something is signed with what it says.
func (d *draft) whole() string {
	said := d.text.String()
	for _, c := range d.calls {
		said += c.args.String()
	}
	plain, signed, bound := false, false, false
	for _, o := range d.opaque {
		proof := word(o["signature"])+word(o["data"]) != ""
		plain, signed, bound = plain || !proof, signed || proof, bound || plain && proof
	}
	if !signed || bound && strings.ContainsAny(said, marks) {
		return ""
	}
	text, _ := encode(d.opaque) // it was decoded: cannot fail
	return string(text)
}
