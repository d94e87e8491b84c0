package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"lethe/agent"
	"lethe/archive"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
	"lethe/check"
	"lethe/config"
	"lethe/erase"
	"lethe/life"
	"lethe/life/event"
	"lethe/llm"
	"lethe/report"
)

// Exit codes.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitNotFound  = 3
	exitRunning   = 4
	exitNoKey     = 5
	exitCorrupt   = 6
	exitNewer     = 7
	exitInterrupt = 130
)

// usageError is a command that was called wrongly.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// hintError is an error with a line that says what to do.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }
func (e hintError) Hint() string  { return e.hint }

func hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hintError{err, fmt.Sprintf(format, args...)}
}

// checkRooms refuses what cannot name a room.
func checkRooms(rooms ...string) error {
	for _, room := range rooms {
		if !chat.ValidRoom(room) {
			return usagef("%q is not the name of a room: up to 64 of a-z, 0-9, - and _, a letter or digit first", room)
		}
	}
	return nil
}

// codeOf is the exit code of an error.
func codeOf(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, new(usageError)), errors.As(err, new(*agent.SettingsError)), errors.As(err, new(*report.InvalidError)), errors.As(err, new(*config.Error)),
		errors.Is(err, agent.ErrHear), errors.Is(err, erase.ErrText), errors.Is(err, archive.ErrRecipient):
		return exitUsage
	case errors.As(err, new(*agent.RunningError)), errors.Is(err, bridge.ErrRunning), errors.Is(err, check.ErrInUse), errors.Is(err, erase.ErrBusy),
		errors.As(err, new(*agent.ElsewhereError)), errors.Is(err, archive.ErrImporting), errors.Is(err, agent.ErrErasing):
		return exitRunning
	case errors.Is(err, llm.ErrNoKey), errors.As(err, new(tokenError)), errors.Is(err, archive.ErrKey):
		return exitNoKey
	case errors.Is(err, agent.ErrNewer), errors.Is(err, event.ErrUnknown):
		return exitNewer
	case errors.Is(err, agent.ErrCorrupt), errors.Is(err, blobs.ErrDigest), errors.As(err, new(*life.CorruptError)), errors.Is(err, archive.ErrDamaged),
		errors.Is(err, access.ErrPeople):
		return exitCorrupt
	case errors.Is(err, agent.ErrNotFound), errors.Is(err, agent.ErrAmbiguous),
		errors.Is(err, blobs.ErrNotFound), errors.As(err, new(*blobs.AmbiguousError)), errors.Is(err, report.ErrNoMatch), errors.Is(err, report.ErrNoQuestion), errors.Is(err, erase.ErrNowhere),
		errors.Is(err, access.ErrNoSuchCode), errors.Is(err, access.ErrNotListed):
		return exitNotFound
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	}
	return exitFailed
}

// hintOf is what to do about an error, where there is something.
func (p *program) hintOf(err error) string {
	var hinted interface{ Hint() string }
	var running *agent.RunningError
	var elsewhere *agent.ElsewhereError
	switch {
	case errors.As(err, &hinted):
		return hinted.Hint()
	case errors.As(err, new(*blobs.AmbiguousError)), errors.Is(err, agent.ErrAmbiguous):
		return "give more digits"
	case errors.As(err, &running):
		return fmt.Sprintf("talk to it with: %s; stop it with: %s", p.lethe("chat %s", p.roomOf(running.Identity)), p.lethe("stop %s", running.Identity.Name))
	case errors.As(err, &elsewhere) && elsewhere.Mirror:
		return fmt.Sprintf("begin another life with it: %s; or, if the life that it mirrors is no more: lethe import ARCHIVE --restore", p.lethe("fork %s", elsewhere.Identity.Name))
	case errors.As(err, &elsewhere):
		return "run it there; to take it back, import here what is exported there"
	case errors.Is(err, agent.ErrErasing):
		return "every command finishes it, or warns why it cannot; where the life is damaged, begin with: " + p.lethe("fsck --repair")
	case errors.Is(err, archive.ErrKey):
		return "name a file with the age key: --identity FILE"
	case errors.Is(err, archive.ErrDamaged):
		return "nothing was imported; get the archive again from where it comes"
	case errors.Is(err, access.ErrPeople):
		return "until it is mended nobody may speak; put it back from a copy, or move it away and pair anew"
	case codeOf(err) == exitNewer:
		return "use that one; nothing was changed"
	case errors.Is(err, llm.ErrNoKey):
		return "set the key in the environment, or add --offline to try without one"
	case errors.Is(err, agent.ErrCorrupt) && errors.Is(err, fs.ErrNotExist):
		return "restore the missing file from a backup; what was said and done is still in blobs/. Keep this home as it is until then"
	case errors.Is(err, agent.ErrCorrupt), errors.Is(err, blobs.ErrDigest):
		copied := ""
		if errors.Is(err, blobs.ErrNotFound) {
			copied = "; if this is a copy of a home that ran meanwhile, copy it again, blobs/ last or while nothing runs (docs/archive.md)"
		}
		return fmt.Sprintf("nothing was changed%s; %s tells what is damaged and can be mended; or restore the damaged file from a backup, and keep this home as it is until then", copied, p.lethe("fsck"))
	case errors.Is(err, fs.ErrPermission):
		return "the home has to belong to you: see --home"
	}
	return ""
}

// report prints an error as one line, and its hint; with --json, as one object.
func (p *program) report(err error) {
	text, what := oneLine(plain(err)), p.hintOf(err)
	if p.json {
		printLine(p.err, struct {
			Error string `json:"error"`
			Hint  string `json:"hint,omitempty"`
			Code  int    `json:"code"`
		}{text, what, codeOf(err)})
		return
	}
	fmt.Fprintln(p.err, "lethe: "+text)
	if what != "" {
		fmt.Fprintln(p.err, "hint: "+what)
	}
}

// note tells something on standard error that is no failure. kind is "note" or
// "warning".
func (p *program) note(kind, format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	if p.json {
		printLine(p.err, map[string]string{kind: text})
		return
	}
	fmt.Fprintf(p.err, "%s: %s\n", kind, text)
}

// plain is the message of an error, in words that are not Go's.
func plain(err error) string {
	return strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
}

func oneLine(s string) string {
	return chat.Sanitize(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}
