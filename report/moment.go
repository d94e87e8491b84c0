package report

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"lethe/agent"
)

var (
	epochPattern = regexp.MustCompile(`^epoch[ =]?(\d{1,9})$`)
	entryPattern = regexp.MustCompile(`^e([1-9]\d{0,8})$`)
	labelPattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
)

// ParseMoment reads a moment of a life as people write it: now, e39, epoch 4, a label, or a time.
func ParseMoment(text string, now time.Time) (m agent.Moment, err error) {
	text = strings.TrimSpace(text)
	if d := epochPattern.FindStringSubmatch(text); d != nil {
		k, err := strconv.Atoi(d[1])
		return agent.Moment{Epoch: &k}, err
	}
	if d := entryPattern.FindStringSubmatch(text); d != nil {
		m.Entry, err = strconv.Atoi(d[1])
		return m, err
	}
	if text == "" || text == "now" {
		return m, nil
	}
	if ValidLabel(text) {
		return agent.Moment{Label: text}, nil
	}
	if m.At, err = moment("the moment", strings.TrimSuffix(text, " ago"), now); err != nil {
		return m, &InvalidError{errors.New(err.Error()), "or now, e39, epoch 4 or a label"}
	}
	return m, nil
}

// ValidLabel reports whether a text may be the name of a moment: it is no other way to say one.
func ValidLabel(text string) bool {
	return labelPattern.MatchString(text) && text != "now" && !entryPattern.MatchString(text) && !epochPattern.MatchString(text)
}
