package agent

import (
	"bytes"
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

// readSchema reads the schema of a gate, nil where there is none. A model may have written it: one with references can
// lead back to itself, or be endlessly large when each is followed.
func readSchema(schema json.RawMessage) (*jsonschema.Resolved, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, errors.New("the schema is not a JSON Schema: it has to be one JSON object")
	}
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

// fits returns why a text does not fit the schema, or "".
func (g Gate) fits(text string) string {
	schema, err := readSchema(g.Schema)
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
	if v.why = g.fits(text); v.why != "" || g.Check == "" {
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

// caveat tells whoever reads an answer that counts although it does not pass.
func (v verdict) caveat() string {
	if v.why == "" {
		return ""
	}
	why, _, _ := strings.Cut(v.why, tools.CheckOutput)
	return fmt.Sprintf("(This answer did not pass: %s.)", why)
}
