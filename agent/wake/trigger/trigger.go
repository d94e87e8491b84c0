// Package trigger reads the files that say when an identity wakes by itself, and counts
// their times:
//
//	t, err := trigger.Parse("brief", data, zone) // agents/<self>/triggers/brief.toml
//	next := t.Next(time.Now())                   // zero: never again
//	n, due := t.Missed(last, time.Now())         // after an hour, or a week, without power
//
// It is pure: no clock, no file, no state. What a trigger has done is in LIFE, under its
// Signer. docs/triggers.md has the form of the files, agent/tools/TRIGGERS.md what an identity is told of it.
package trigger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"lethe/chat"
	"lethe/internal/pattern"
)

const (
	MaxTriggers = 100      // of one identity
	MaxBytes    = 16 << 10 // of a file
	MaxSay      = 4000     // characters

	defaultGrace = 12 * time.Hour
	longest      = 366 * 24 * time.Hour
	day          = 24 * time.Hour
)

// A Trigger is one file. Exactly one of At, Every, Cron, Watch and Mail is set.
type Trigger struct {
	Name  string
	When  string // that one, as it is written
	At    time.Time
	Every time.Duration // whole seconds
	Cron  string
	Watch string // a path, as it is written
	Mail  string // a directory, as it is written
	Zone  *time.Location
	Run   string // a command, or ""
	Adopt string // sources of other agents' histories, or ""
	Room  string // "" if the file names no room
	Say   string
	Grace time.Duration
	Quiet string // as it is written

	cron     cron
	from, to int    // of Quiet, in minutes of the day
	seed     uint64 // see For
}

// Kinds are the keys of the kinds of triggers; a file has one. Keys are all keys.
var (
	Kinds = []string{"cron", "every", "at", "watch", "mail"}
	Keys  = append(slices.Clone(Kinds), "say", "run", "adopt", "room", "tz", "quiet", "grace")
)

var nameForm = pattern.Lazy(`^[a-z0-9][a-z0-9-]{0,31}$`)

// ValidName reports whether a trigger may have a name.
func ValidName(name string) bool { return nameForm().MatchString(name) }

// Parse reads a trigger from its file. Local times are of zone unless the file names a tz. The
// error is one line for the author of the file: key, value, and how to write it.
func Parse(name string, data []byte, zone *time.Location) (Trigger, error) {
	t := Trigger{Name: name, Zone: zone}
	if !ValidName(name) {
		return t, fmt.Errorf("the name %.60q: write at most 32 of a-z, 0-9 and -, such as morning-brief.toml", name)
	}
	if len(data) > MaxBytes {
		return t, fmt.Errorf("the file has %d bytes: at most %d are read", len(data), MaxBytes)
	}
	k := map[string]string{}
	_, err := toml.Decode(string(data), &k)
	var p toml.ParseError
	if errors.As(err, &p) {
		return t, fmt.Errorf("line %d: %s", p.Position.Line, p.Message)
	}
	if err != nil {
		return t, fmt.Errorf("%w: write a text in quotes, such as every = \"10m\"", err)
	}
	delete(k, "slow") // of earlier versions, whose pauses grew up to it
	for _, key := range slices.Sorted(maps.Keys(k)) {
		switch {
		case !slices.Contains(Keys, key):
			return t, fmt.Errorf("%.60q is no key of a trigger: the keys are %s", key, strings.Join(Keys, ", "))
		case strings.TrimSpace(k[key]) == "" || strings.ContainsRune(k[key], 0):
			return t, fmt.Errorf("%s = %.60q: write a text in quotes, such as every = \"10m\"", key, k[key])
		}
	}
	t.Watch, t.Mail, t.Run, t.Room, t.Say = k["watch"], k["mail"], k["run"], k["room"], k["say"]
	t.Adopt = k["adopt"]
	if err := t.times(k); err != nil {
		return t, err
	}
	return t, t.check()
}

// times reads the keys that say when.
func (t *Trigger) times(k map[string]string) (err error) {
	found := slices.DeleteFunc(slices.Clone(Kinds), func(key string) bool { return k[key] == "" })
	if len(found) != 1 {
		return fmt.Errorf("it has %d of the keys %s: write exactly one of them", len(found), strings.Join(Kinds, ", "))
	}
	t.When = found[0] + " " + k[found[0]]
	if tz := k["tz"]; tz != "" {
		if t.Zone, err = time.LoadLocation(tz); err != nil {
			return fmt.Errorf("tz = %.60q is no time zone: write one such as \"Europe/Berlin\" or \"UTC\"", tz)
		}
	}
	if at := k["at"]; at != "" {
		if t.At, err = parseAt(at, t.Zone); err != nil {
			return err
		}
	}
	if t.Cron = k["cron"]; t.Cron != "" {
		if t.cron, err = parseCron(t.Cron); err == nil && t.Next(time.Unix(0, 0)).IsZero() {
			err = errors.New("no such day ever comes")
		}
		if err != nil {
			return fmt.Errorf("cron = %.60q: %w", t.Cron, err)
		}
	}
	if t.Quiet = k["quiet"]; t.Quiet != "" {
		if t.from, t.to, err = parseQuiet(t.Quiet); err != nil {
			return err
		}
	}
	if t.Every, err = span(k, "every", 0, time.Second); err != nil {
		return err
	}
	t.Grace, err = span(k, "grace", defaultGrace, time.Minute)
	return err
}

// span reads the key of a duration.
func span(k map[string]string, key string, usual, least time.Duration) (time.Duration, error) {
	if k[key] == "" {
		return usual, nil
	}
	d, err := time.ParseDuration(k[key])
	inBounds := d >= least && d <= longest
	if err != nil || !inBounds || d%time.Second != 0 {
		return 0, fmt.Errorf("%s = %.60q: write whole seconds, minutes and hours, from %s to 8784h, such as \"10m\" "+
			"or \"24h\"", key, k[key], strings.TrimSuffix(least.String(), "0s"))
	}
	return d, nil
}

// check refuses what does not fit together.
func (t *Trigger) check() error {
	said := utf8.RuneCountInString(t.Say)
	tellsNothing := t.Say == "" && t.Run == "" && t.Adopt == ""
	isClock := t.Watch == "" && t.Mail == ""
	switch {
	case t.Room != "" && !chat.ValidRoom(t.Room):
		return fmt.Errorf("room = %.60q is no name of a room", t.Room)
	case said > MaxSay:
		return fmt.Errorf("say has %d characters: at most %d", said, MaxSay)
	case t.Mail != "" && t.Run != "":
		return errors.New("mail takes no run: each file is a message as it is")
	case t.Adopt != "" && (!isClock || t.Say != "" || t.Run != ""):
		return errors.New("adopt goes with a time alone: nobody is told")
	case isClock && tellsNothing:
		return errors.New("neither say nor run: write in say what the line tells you")
	}
	return nil
}

// Signer returns the name that signs the lines of the trigger.
func (t Trigger) Signer() string {
	switch {
	case t.Watch != "":
		return "watch-" + t.Name
	case t.Mail != "":
		return "mail-" + t.Name
	}
	return "cron-" + t.Name
}
