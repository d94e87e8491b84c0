package tools

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Child makes an identity that works on the brief.
type Child struct {
	Brief  string `json:"brief"`
	Soul   string `json:"soul,omitempty"`
	Tools  loose  `json:"tools,omitempty" about:"names of yours; default: all but JOIN, LEAVE"`
	Model  string `json:"model,omitempty"`
	USD    loose  `json:"usd,omitempty"`
	Schema loose  `json:"schema,omitempty"`
	Check  string `json:"check,omitempty"`
	Files  string `json:"files,omitempty" about:"-"` // of the workspace, which alone it may write; "": all
}

// maxSoul bounds the soul of a child with what its result has to pass, in bytes.
const maxSoul = 16 << 10

// effectOf is the child that a SPAWN makes.
func (s Child) effectOf() (Effect, error) { return s, s.check() }

func (s Child) check() error {
	switch {
	case strings.TrimSpace(s.Brief) == "":
		return errors.New("brief is empty: say what is to be done")
	case len(s.Brief) > maxMessage || len(s.Soul)+len(s.Schema)+len(s.Check) > maxSoul:
		return fmt.Errorf("the brief has %d bytes, at most %d are taken, and soul, schema and check %d, at most "+
			"%d: write the rest to a file and name it",
			len(s.Brief), maxMessage, len(s.Soul)+len(s.Schema)+len(s.Check), maxSoul)
	case strings.ContainsAny(s.Model, " \t\r\n") || len(s.Model) > 100:
		return fmt.Errorf("%s is not the name of a model: leave it out to use yours", quote(s.Model))
	}
	_, err := s.Limit()
	return err
}

// Names returns the tools that the child is limited to; nil does not limit it.
func (s Child) Names() []string {
	between := func(r rune) bool { return (r < 'A' || r > 'Z') && r != '_' }
	return strings.FieldsFunc(strings.ToUpper(string(s.Tools)), between)
}

// Limit returns the most that the child may cost; 0 if the call does not say.
func (s Child) Limit() (usd float64, err error) {
	if s.USD == "" {
		return 0, nil
	}
	usd, err = strconv.ParseFloat(strings.Trim(string(s.USD), "$ "), 64)
	isAmount := usd > 0 && !math.IsInf(usd, 0) // no NaN is above 0
	if err != nil || !isAmount {
		return 0, fmt.Errorf("usd is %s: give an amount above 0, like 0.50", quote(string(s.USD)))
	}
	return usd, nil
}
