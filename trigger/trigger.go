// Package trigger reads the files that say when an identity wakes by itself, and counts
// their times:
//
//	t, err := trigger.Parse("brief", data, zone) // agents/<self>/triggers/brief.toml
//	next := t.Next(time.Now())                   // zero: never again
//	n, due := t.Missed(last, time.Now())         // after an hour, or a week, without power
//
// It is pure: no clock, no file, no state. What a trigger has done is in LIFE, under its
// Signer. docs/triggers.md has the form of the files, Guide what an identity is told of it.
package trigger

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"lethe/chat"
)

// Guide is what an identity reads as self/TRIGGERS.md.
//
//go:embed TRIGGERS.md
var Guide string

const (
	MaxTriggers = 100      // of one identity
	MaxBytes    = 16 << 10 // of a file
	MaxSay      = 4000     // characters

	defaultGrace = 12 * time.Hour
	day          = 24 * time.Hour
)

// A Trigger is one file. Exactly one of At, Every, Cron, Watch and Mail is set.
type Trigger struct {
	Name  string
	At    time.Time
	Every time.Duration // whole seconds
	Slow  time.Duration // with Every and Run; zero: it stays at Every
	Cron  string
	Watch string // a path, as it is written
	Mail  string // a directory, as it is written
	Zone  *time.Location
	Run   string // a command; zero: none
	Room  string // zero: not said
	Say   string
	Grace time.Duration
	Quiet string // as it is written

	cron     cron
	from, to int    // of Quiet, in minutes of the day
	seed     uint64 // see For
}

// keys is the form of a file.
type keys struct {
	At    string `toml:"at"`
	Every string `toml:"every"`
	Slow  string `toml:"slow"`
	Cron  string `toml:"cron"`
	TZ    string `toml:"tz"`
	Watch string `toml:"watch"`
	Mail  string `toml:"mail"`
	Run   string `toml:"run"`
	Room  string `toml:"room"`
	Say   string `toml:"say"`
	Grace string `toml:"grace"`
	Quiet string `toml:"quiet"`
}

const allKeys = "at, every, slow, cron, tz, watch, mail, run, room, say, grace, quiet"

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Parse reads a trigger from its file. Local times are those of zone, unless the file names
// a tz. The error is one line for whoever wrote the file: key, value, what to write.
func Parse(name string, data []byte, zone *time.Location) (Trigger, error) {
	t := Trigger{Name: name, Zone: zone}
	if !nameForm.MatchString(name) {
		return t, fmt.Errorf("the name %q: write at most 32 of a-z, 0-9 and -, such as morning-brief.toml", name)
	}
	if len(data) > MaxBytes {
		return t, fmt.Errorf("the file has %d bytes: at most %d are read", len(data), MaxBytes)
	}
	var k keys
	meta, err := toml.Decode(string(data), &k)
	if err != nil {
		return t, plain(err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return t, fmt.Errorf("%s is no key of a trigger: the keys are %s", unknown[0], allKeys)
	}
	for _, key := range meta.Keys() {
		if v := k.value(key.String()); strings.TrimSpace(v) == "" || strings.ContainsRune(v, 0) || !utf8.ValidString(v) {
			return t, fmt.Errorf("%s = %q: write a text, or leave the key out", key, v)
		}
	}
	t.Watch, t.Mail, t.Run, t.Room, t.Say = k.Watch, k.Mail, k.Run, k.Room, k.Say
	if err := t.times(k); err != nil {
		return t, err
	}
	return t, t.check(k)
}

// plain says in one line what the decoder found.
func plain(err error) error {
	var p toml.ParseError
	if errors.As(err, &p) {
		return fmt.Errorf("line %d: %s", p.Position.Line, p.Message)
	}
	_, text, _ := strings.Cut(err.Error(), "toml: ")
	text, _, _ = strings.Cut(text, ": incompatible types")
	return fmt.Errorf("%s: each value is a text in quotes, such as every = \"10m\"", text)
}

func (k keys) value(key string) string {
	return map[string]string{"at": k.At, "every": k.Every, "slow": k.Slow, "cron": k.Cron, "tz": k.TZ, "watch": k.Watch,
		"mail": k.Mail, "run": k.Run, "room": k.Room, "say": k.Say, "grace": k.Grace, "quiet": k.Quiet}[key]
}

// times reads the keys that say when.
func (t *Trigger) times(k keys) (err error) {
	kinds := slices.DeleteFunc([]string{k.At, k.Every, k.Cron, k.Watch, k.Mail}, func(v string) bool { return v == "" })
	if len(kinds) != 1 {
		return fmt.Errorf("it has %d of the keys at, every, cron, watch and mail: write exactly one of them", len(kinds))
	}
	if k.TZ != "" {
		if t.Zone, err = time.LoadLocation(k.TZ); err != nil {
			return fmt.Errorf("tz = %q is no time zone: write one such as \"Europe/Berlin\" or \"UTC\"", k.TZ)
		}
	}
	if k.At != "" {
		if t.At, err = parseAt(k.At, t.Zone); err != nil {
			return err
		}
	}
	if k.Cron != "" {
		if t.cron, err = parseCron(k.Cron); err != nil {
			return fmt.Errorf("cron = %q: %w", k.Cron, err)
		}
		if t.Cron = k.Cron; t.Next(time.Unix(0, 0)).IsZero() {
			return fmt.Errorf("cron = %q: no such day ever comes", k.Cron)
		}
	}
	if k.Quiet != "" {
		if t.from, t.to, err = parseQuiet(k.Quiet); err != nil {
			return err
		}
		t.Quiet = k.Quiet
	}
	t.Grace = defaultGrace
	for _, d := range []struct {
		key, value string
		to         *time.Duration
		least      time.Duration
	}{{"every", k.Every, &t.Every, time.Second}, {"slow", k.Slow, &t.Slow, time.Second}, {"grace", k.Grace, &t.Grace, time.Minute}} {
		if d.value == "" {
			continue
		}
		if *d.to, err = parseDuration(d.value); err != nil || *d.to < d.least || *d.to > 366*day || *d.to%time.Second != 0 {
			return fmt.Errorf("%s = %q: write whole seconds, minutes, hours or days, at least %s and at most 366d, such as \"10m\" or \"1h30m\"", d.key, d.value, d.least)
		}
	}
	return nil
}

// check refuses what does not fit together.
func (t *Trigger) check(k keys) error {
	switch {
	case k.Room != "" && !chat.ValidRoom(k.Room):
		return fmt.Errorf("room = %q is no name of a room", k.Room)
	case utf8.RuneCountInString(k.Say) > MaxSay:
		return fmt.Errorf("say has %d characters: at most %d", utf8.RuneCountInString(k.Say), MaxSay)
	case k.Slow != "" && (k.Every == "" || k.Run == ""):
		return errors.New("slow goes with every and run: it is how far the pauses grow while the command prints nothing")
	case t.Slow > 0 && t.Slow < t.Every:
		return fmt.Errorf("slow = %q is less than every = %q: write the longer pause", k.Slow, k.Every)
	case k.Mail != "" && k.Run != "":
		return errors.New("mail takes no run: each file is a message as it is")
	case k.Say == "" && k.Run == "" && k.Watch == "" && k.Mail == "":
		return errors.New("neither say nor run: write in say what the line tells you")
	}
	return nil
}

// When says in a few words when it fires.
func (t Trigger) When() string {
	switch {
	case t.Watch != "":
		return "watch " + t.Watch
	case t.Mail != "":
		return "mail " + t.Mail
	case t.Slow > 0:
		return fmt.Sprintf("every %s to %s", short(t.Every), short(t.Slow))
	case t.Every > 0:
		return "every " + short(t.Every)
	case t.Cron != "":
		return t.Cron
	}
	return t.At.Format("at 2006-01-02 15:04 -0700")
}

// short is 10m of 10m0s.
func short(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if len(text) < len(d.String()) {
		text += "m"
	}
	if cut, ok := strings.CutSuffix(text, "h0m"); ok {
		return cut + "h"
	}
	return text
}

// Signer is who signs the lines of a trigger.
func (t Trigger) Signer() string {
	switch {
	case t.Watch != "":
		return "watch-" + t.Name
	case t.Mail != "":
		return "mail-" + t.Name
	}
	return "cron-" + t.Name
}
