package tools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Question asks people. With Withdraw it asks nothing: it takes a question back.
type Question struct {
	Text     string
	Room     string // "": where the identity is answering
	Options  []string
	For      []string
	Until    time.Time // zero: no deadline
	Withdraw string    // the id of a question, or of the call that asked it
}

// Bounds of a question. A person has to see the options beside each other.
const (
	maxQuestion = 8 << 10 // bytes
	maxOptions  = 8
	maxOption   = 100 // bytes
	maxWait     = 366 * 24 * time.Hour
)

type waitArgs struct {
	Question string `json:"question,omitempty"`
	Room     string `json:"room,omitempty"`
	Options  loose  `json:"options,omitempty" about:"yes|no; red|other… takes any words"`
	For      loose  `json:"for,omitempty" about:"names, as in USER:ada"`
	Until    string `json:"until,omitempty" about:"2h, 3d or 2026-11-23 18:00"`
	Withdraw string `json:"withdraw,omitempty" about:"id of a question to take back"`
}

// question reads what is asked. A deadline may be a time in zone, or so long after now.
func (a waitArgs) question(now time.Time, zone *time.Location) (w Question, err error) {
	if a.Withdraw != "" {
		return Question{Withdraw: a.Withdraw}, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("not done: %w", err)
		}
	}()
	w.Text = strings.TrimSpace(a.Question)
	w.Options = list(string(a.Options), "|\n")
	w.For = list(string(a.For), ", \n\t;")
	for i, name := range w.For {
		w.For[i] = strings.TrimPrefix(strings.TrimPrefix(name, "@"), "USER:")
	}
	if a.Room != "" {
		if w.Room, err = roomNamed(a.Room); err != nil {
			return w, err
		}
	}
	switch {
	case w.Text == "" || len(w.Text) > maxQuestion:
		return w, fmt.Errorf("question has %d bytes: give 1 to %d", len(w.Text), maxQuestion)
	case len(w.Options) > maxOptions || slices.ContainsFunc(w.Options, func(o string) bool { return len(o) > maxOption }):
		return w, fmt.Errorf("give at most %d options of %d bytes each, with | between them", maxOptions, maxOption)
	}
	w.Until, err = deadline(strings.TrimSpace(a.Until), now, zone)
	return w, err
}

// list splits a text at any of the characters in at, without what is blank, and writes white space as one space.
func list(text, at string) (out []string) {
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(at, r) }) {
		if s = joined(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// deadline reads "2h", "3d", a time of RFC 3339 or one like "2026-11-20 18:00" in zone.
func deadline(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var at time.Time
	d, err := Duration(text)
	if err == nil && d <= maxWait {
		at = now.Add(d)
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04"} {
		if t, ferr := time.ParseInLocation(form, text, zone); ferr == nil {
			at = t
		}
	}
	if !at.After(now) || at.Sub(now) > maxWait {
		return at, fmt.Errorf("until %s: give how long to wait, like 90m, 2h or 3d, or a time to come within a "+
			"year, like %s", quote(text), now.Add(48*time.Hour).In(zone).Format("2006-01-02 15:04"))
	}
	return at.UTC().Truncate(time.Second), nil
}

// Duration reads "90m", "2h" or "3d".
func Duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if digits, ok := strings.CutSuffix(text, "d"); ok {
		var days int
		days, err = strconv.Atoi(digits)
		d = time.Duration(min(days, 1000)) * 24 * time.Hour
	}
	return d, err
}
