package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lethe/home"
	"lethe/internal/lazy"
)

var (
	numbered = lazy.Regexp(`^(e|epoch ?)(0|[1-9]\d{0,8})$`)
	labels   = lazy.Regexp(`^[a-z][a-z0-9_-]{0,31}$`)
)

// ParseMoment reads a moment of a life as people write it: now, e39, epoch 4, a label, or a time.
func ParseMoment(text string, now time.Time) (m home.Moment, err error) {
	m.Text = text
	switch at := numbered().FindStringSubmatch(text); {
	case text == "", text == "now":
	case ValidLabel(text):
		m.Label = text
	case at != nil && at[1] == "e" && at[2] != "0":
		m.Entry, err = strconv.Atoi(at[2])
	case at != nil && at[1] != "e":
		k, _ := strconv.Atoi(at[2]) // digits, by the pattern
		m.Epoch = &k
	default:
		if m.At, err = moment("the moment", strings.TrimSuffix(text, " ago"), now); err != nil {
			err = &InvalidError{fmt.Errorf("%q is no moment", text),
				"it is now, e39, epoch 4, a label, 2026-05-01, 2026-05-01T12:00:00Z or 2h ago"}
		}
		if err == nil && m.At.After(now) {
			err = &InvalidError{fmt.Errorf("%s is still to come", text), "the present moment is: now"}
		}
	}
	return m, err
}

// ValidLabel reports whether a text may be the name of a moment: it is no other way to say one.
func ValidLabel(text string) bool {
	return labels().MatchString(text) && text != "now" && !numbered().MatchString(text)
}
