package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"lethe/blobs"
	"lethe/internal/status"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// Gate is what a final answer has to pass before it counts: what is posted, and ends
// the turn. The daemon holds it, so no model can turn it off.
type Gate struct {
	Check  string          // a command that has to exit 0; it has the answer as its standard input
	Schema json.RawMessage // a JSON Schema that the answer has to fit
}

const (
	maxRefusals = 3 // in one turn
	checkTime   = 10 * time.Minute
)

// resolve reads the schema.
func (g Gate) resolve() (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(g.Schema, &s); err != nil {
		return nil, errors.New("the schema is not a JSON Schema: it has to be one JSON object")
	}
	var whole any
	_ = json.Unmarshal(g.Schema, &whole) // it is valid JSON
	if left := maxSchema; !spread(whole, whole, &left) {
		return nil, fmt.Errorf(
			"the schema is too large when each $ref is followed, at most %d objects, or has one that leads back to itself or elsewhere than to #/$defs/…: write it without",
			maxSchema,
		)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		err = fmt.Errorf("the schema is not a JSON Schema: %w", err)
	}
	return r, err
}

// maxSchema bounds the objects in a schema, each $ref followed.
const maxSchema = 2000

// spread reports whether a part of a schema has no more objects than left, which it lowers, and only
// references that can be followed. A model wrote it, and one that leads back to itself has no end.
func spread(part, whole any, left *int) bool {
	switch v := part.(type) {
	case []any:
		for _, e := range v {
			if !spread(e, whole, left) {
				return false
			}
		}
	case map[string]any:
		if *left--; *left < 0 {
			return false
		}
		for key, e := range v {
			to, isText := e.(string)
			switch key = strings.ToLower(key); { // as the library reads them
			case !isText:
			case key == "$id" || key == "$dynamicref":
				return false
			case key == "$ref":
				path, below := strings.CutPrefix(to, "#/")
				e = whole
				for _, name := range strings.Split(path, "/") {
					m, _ := e.(map[string]any)
					e = m[name]
				}
				if !below || e == nil {
					return false
				}
			}
			if !spread(e, whole, left) {
				return false
			}
		}
	}
	return true
}

// Validate refuses a gate whose schema makes no sense.
func (g Gate) Validate() error {
	if len(g.Schema) == 0 {
		return nil
	}
	_, err := g.resolve()
	return err
}

// fits returns why a text does not fit the schema, or "".
func (g Gate) fits(text string) string {
	schema, err := g.resolve()
	if err != nil {
		return err.Error()
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

// verdict is what the gate says of a final answer.
type verdict struct {
	why    string // it does not pass; "" when it does
	broken bool   // the check could not be run, which no answer mends
}

// examine holds a final answer against the gate, and listens for commands meanwhile. An
// answer that a /stop or the end of the daemon leaves undecided is added to what is lost.
func (a *Agent) examine(ctx context.Context, t *thought) (v verdict, err error) {
	g, reply := a.cfg.Gate, t.reply
	if g.Check == "" && len(g.Schema) == 0 || len(reply.Calls) > 0 || reply.Finish == "length" {
		return verdict{}, nil
	}
	text := blobs.Unescape(spoken(reply))
	if len(g.Schema) > 0 {
		v.why = g.fits(text)
	}
	if v.why != "" || g.Check == "" {
		return v, nil
	}
	a.show(status.Acting, "check")
	ran, stopped := false, false
	err = a.during(ctx, func(ctx context.Context) {
		v.why, ran = a.tools.Check(ctx, g.Check, text, checkTime)
		stopped = ctx.Err() != nil
	})
	if err == nil && stopped {
		if err = t.drop(); err == nil {
			err = &llm.Error{Kind: llm.Canceled}
		}
	}
	if v.why != "" {
		v = verdict{fmt.Sprintf("the check `%s` %s", g.Check, v.why), !ran}
	}
	return v, err
}

// refuses reports whether an answer is refused: the same one is not refused twice in a
// turn, and none when maxRefusals were.
func (v verdict) refuses(s *mind.State, text string) bool {
	return v.why != "" && !v.broken && len(s.Refusals) < maxRefusals &&
		!slices.Contains(s.Refusals, mind.RefusalOf(blobs.Unescape(text)))
}

// note tells the model.
func (v verdict) note() string {
	return fmt.Sprintf("%s: %s\nSet this right and answer again.", mind.RefusedText, v.why)
}

// caveat tells whoever reads an answer that counts although it does not pass.
func (v verdict) caveat() string {
	if v.why == "" {
		return ""
	}
	why, _, _ := strings.Cut(v.why, tools.CheckOutput)
	return fmt.Sprintf("(This answer did not pass: %s.)", why)
}
