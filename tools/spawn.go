package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Spawn is what SPAWN is called with.
type Spawn struct {
	Brief  string `json:"brief"`
	Soul   string `json:"soul,omitempty"`
	Tools  loose  `json:"tools,omitempty" about:"names of yours; default: all but JOIN, LEAVE"`
	Model  string `json:"model,omitempty"`
	USD    loose  `json:"usd,omitempty"`
	Schema loose  `json:"schema,omitempty"`
	Check  string `json:"check,omitempty"`
}

// loose is a string that models also write as a number, a list or an object.
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	*l = loose(s)
	return nil
}

// maxSoul bounds the soul of a child with what its result has to pass, in bytes.
const maxSoul = 16 << 10

// ParseSpawn decodes the arguments of SPAWN exactly as the tool does. The log must
// hold the child's name and the line of its brief before the tool runs.
func ParseSpawn(args []byte) (s Spawn, err error) {
	if err := Decode(args, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

func (s Spawn) check() error {
	switch {
	case strings.TrimSpace(s.Brief) == "":
		return errors.New("brief is empty: say what is to be done")
	case len(s.Brief) > maxMessage || len(s.Soul)+len(s.Schema)+len(s.Check) > maxSoul:
		return fmt.Errorf("the brief has %d bytes, at most %d are taken, and soul, schema and check %d, at most %d: write the rest to a file and name it", len(s.Brief), maxMessage, len(s.Soul)+len(s.Schema)+len(s.Check), maxSoul)
	case strings.ContainsAny(s.Model, " \t\r\n") || len(s.Model) > 100:
		return fmt.Errorf("%s is not the name of a model: leave it out to use yours", quote(s.Model))
	}
	_, err := s.Limit()
	return err
}

// Names are the tools that the child is limited to; none leaves it all that it may have.
func (s Spawn) Names() []string {
	return strings.FieldsFunc(strings.ToUpper(string(s.Tools)), func(r rune) bool { return (r < 'A' || r > 'Z') && r != '_' })
}

// Limit is what the child may cost, 0 where the call does not say.
func (s Spawn) Limit() (usd float64, err error) {
	if s.USD == "" {
		return 0, nil
	}
	usd, err = strconv.ParseFloat(strings.Trim(string(s.USD), "$ "), 64)
	if err != nil || usd <= 0 || math.IsInf(usd, 0) || math.IsNaN(usd) {
		return 0, fmt.Errorf("usd is %s: give an amount above 0, like 0.50", quote(string(s.USD)))
	}
	return usd, nil
}

// spawnTool is SPAWN; do makes the child.
func spawnTool(do func(call string, s Spawn) (string, error)) Tool {
	return immediate(newTool("SPAWN", func(_ context.Context, c Call, s Spawn) (Result, error) {
		if err := s.check(); err != nil {
			return Result{}, err
		}
		said, err := do(c.ID, s)
		return Result{Body: []byte(said)}, err
	}))
}

// Has reports whether a tool is offered.
func (s *Set) Has(name string) bool {
	return slices.ContainsFunc(s.tools, func(t Tool) bool { return t.Name == name })
}
