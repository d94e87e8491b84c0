package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"lethe/agent/tools"
	"lethe/agent/work"
	"lethe/blobs"
	"lethe/mind"
)

// Gate checks a final answer before it is posted and ends the turn. The daemon holds it, so no model can turn it off.
type Gate struct {
	Check  string          // a command that has to exit 0; it has the answer as its standard input
	Schema json.RawMessage // a JSON Schema that the answer has to fit
}

// ReadSchema reads the schema of a gate, nil without one. A model may have written it: one with references can
// lead back to itself, or be endlessly large when each is followed.
func ReadSchema(schema json.RawMessage) (*jsonschema.Resolved, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, errors.New("the schema is not a JSON Schema: it has to be one JSON object")
	}
	s.Schema = versionOf(s.Schema)
	text, err := json.Marshal(s) // with its keys as the library reads them
	if err != nil {
		return nil, fmt.Errorf("the schema is not a JSON Schema: %w", err)
	}
	if bytes.Contains(text, []byte(`"$ref":`)) || bytes.Contains(text, []byte(`"$dynamicRef":`)) {
		return nil, errors.New("the schema has a $ref: write it without")
	}
	r, err := s.Resolve(nil)
	if err != nil {
		err = fmt.Errorf("the schema is not a JSON Schema: %w", err)
	}
	return r, err
}

// versionOf returns the name that the library knows for a version of JSON Schema: draft-07 reads those before it, and
// the newest one, which has no name here, all others.
func versionOf(name string) string {
	if strings.Contains(name, "/draft-0") {
		return "http://json-schema.org/draft-07/schema#"
	}
	return ""
}

// Unanswered returns why silence is no answer yet: somebody spoke in the middle of the turn, and nothing was said there
// since. It returns "" once an answer of the turn was refused.
func Unanswered(s *mind.State, text string) string {
	wasAsked := len(s.Refusals) > 0
	if strings.TrimSpace(text) != mind.Nothing || wasAsked {
		return ""
	}
	spoke := false
	for _, e := range slices.Backward(s.Live) {
		switch {
		case e.Final():
			return ""
		case e.Kind == mind.Reply && spoke:
			return "somebody spoke in the middle of this turn, and " + mind.Nothing + " answers that, too. If it needs no " +
				"answer, say " + mind.Nothing + " again"
		case e.Kind == mind.Inbound:
			isUser := strings.Contains("\n"+e.Text, "\n[USER:")
			spoke = spoke || isUser && !slices.Contains(s.Said, e.Room)
		}
	}
	return ""
}

// Fits returns why a text does not fit the schema, or "".
func (g Gate) Fits(text string) string {
	schema, err := ReadSchema(g.Schema)
	switch {
	case err != nil:
		return err.Error()
	case schema == nil:
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "it has to be one JSON value with nothing around it: " + err.Error()
	}
	if err := schema.Validate(v); err != nil {
		return "it does not fit the schema: " + err.Error()
	}
	return ""
}

// maxRefusals bounds the answers that are refused in one turn.
const maxRefusals = 3

// Verdict judges a final answer.
type Verdict struct {
	Why    string // it does not pass; "" when it does
	Broken bool   // the check could not be run, which no answer mends
	work.Found
}

// Refuses reports whether an answer is refused: a turn refuses no answer twice, and
// at most maxRefusals.
func (v Verdict) Refuses(s *mind.State, text string) bool {
	if v.Why == "" || v.Broken {
		return false
	}
	wasRefused := slices.Contains(s.Refusals, mind.RefusalOf(blobs.Unescape(text)))
	return len(s.Refusals) < maxRefusals && !wasRefused
}

// Caveat tells whoever reads an answer that counts although it does not pass, and which checks of plans are lost.
func (v Verdict) Caveat() (text string) {
	if v.Why != "" {
		why, _, _ := strings.Cut(v.Why, tools.CheckOutput)
		text = fmt.Sprintf("(This answer did not pass: %s.)\n", why)
	}
	if v.Lost != "" {
		text += fmt.Sprintf("(Plans: %s.)", v.Lost)
	}
	return strings.TrimSpace(text)
}
