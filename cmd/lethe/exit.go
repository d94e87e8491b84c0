package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/telegram"
	"lethe/chat"
	"lethe/cmd/lethe/archive"
	"lethe/cmd/lethe/check"
	"lethe/cmd/lethe/erase"
	"lethe/internal/screen"
	"lethe/life"
	"lethe/life/event"
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
	exitElsewhere = 8
	exitInterrupt = 130
)

// codedError is an error with its exit code.
type codedError struct {
	error
	code int
}

func (e codedError) Unwrap() error { return e.error }

// usageError says that a command was called wrongly.
func usageError(err error) error { return codedError{err, exitUsage} }

// tokenError says that a token is missing, cannot be read, or is refused.
func tokenError(err error) error { return codedError{err, exitNoKey} }

func usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

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

// is reports whether an error is one of several: values, or pointers to variables of their types.
func is(err error, targets ...any) bool {
	return slices.ContainsFunc(targets, func(target any) bool {
		if value, ok := target.(error); ok {
			return errors.Is(err, value)
		}
		return errors.As(err, target)
	})
}

// known are errors with their exit codes, the first that fits counts, and what to do about those that have no hint of
// their own. ‹ and › stand around a command of lethe.
var known = []struct {
	code int
	hint string
	errs []any
}{
	{exitUsage, "", []any{
		new(*host.SettingsError), new(*report.InvalidError), new(*config.Error), home.ErrHear, erase.ErrText,
		archive.ErrRecipient, events.ErrAfter,
	}},
	{exitUsage, "give tls_cert and tls_key in [serve] of config.toml; or --allow-unencrypted, if that is meant",
		[]any{serve.ErrUnencrypted}},
	{exitRunning, "every command finishes it, or warns why it cannot; where the life is damaged, begin with: " +
		"‹check --repair›",
		[]any{home.ErrErasing}},
	{exitRunning, "stop what runs first: ‹stop NAME›", []any{check.ErrInUse}},
	{exitRunning, "", []any{
		new(*home.RunningError), new(*home.ElsewhereError), bridge.ErrRunning, erase.ErrBusy, archive.ErrImporting,
	}},
	{exitNoKey, "name a file with the age key: --identity FILE", []any{archive.ErrKey}},
	{exitNoKey, "‹init› asks for it and keeps it; or set it in the environment, or add --offline to try without one",
		[]any{llm.ErrNoKey}},
	{exitNoKey, "", []any{serve.ErrToken, telegram.ErrToken}},
	{exitNewer, "use that one; nothing was changed", []any{home.ErrNewer, event.ErrUnknown}},
	{exitCorrupt, "nothing was imported; get the archive again from where it comes", []any{archive.ErrDamaged}},
	{exitCorrupt, "until it is mended nobody may speak; put it back from a copy, or move it away and allow anew",
		[]any{access.ErrPeople}},
	{exitCorrupt, "", []any{new(*life.CorruptError), home.ErrCorrupt, blobs.ErrDigest}},
	{exitNotFound, "give more digits", []any{home.ErrAmbiguous}},
	{exitNotFound, "what is open: ‹questions›", []any{report.ErrNoQuestion}},
	{exitNotFound, "all ids: ‹bridge telegram who›", []any{access.ErrNotListed}},
	{exitNotFound, "", []any{home.ErrNotFound, blobs.ErrNotFound, report.ErrNoMatch, erase.ErrNowhere}},
	{exitInterrupt, "", []any{context.Canceled}},
	{exitFailed, "encrypt it, with --to; or erase the key from the life first", []any{archive.ErrSecret}},
	{exitFailed, "the log was put back or replaced; leave out --after to begin anew", []any{events.ErrGone}},
}

// codeOf is the exit code of an error.
func codeOf(err error) int {
	var coded codedError
	var elsewhere *home.ElsewhereError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &elsewhere) && elsewhere.Host != "":
		return exitElsewhere
	}
	for _, k := range known {
		if is(err, k.errs...) {
			return k.code
		}
	}
	return exitFailed
}

// hintOf is what to do about an error, where there is something.
func (app *app) hintOf(err error) string {
	return strings.NewReplacer("‹", "lethe ", "›", app.again).Replace(app.advice(err))
}

func (app *app) advice(err error) string {
	var hinted interface{ Hint() string }
	var running *home.RunningError
	var elsewhere *home.ElsewhereError
	switch {
	case errors.As(err, &hinted):
		return hinted.Hint()
	case errors.As(err, &running):
		return fmt.Sprintf("talk to it with: ‹chat %s›; stop it with: ‹stop %s›", app.roomOf(running.Identity),
			running.Identity.Name)
	case errors.As(err, &elsewhere) && elsewhere.Host != "":
		return fmt.Sprintf("run it there; or have it go on here: ‹take %s›", elsewhere.Identity.Name)
	case elsewhere != nil && elsewhere.Mirror:
		return fmt.Sprintf("begin another life with it: ‹fork %s›; or, if the life that it mirrors is no more: "+
			"lethe import ARCHIVE --restore", elsewhere.Identity.Name)
	case elsewhere != nil:
		return "run it there; to take it back, import here what is exported there"
	}
	for _, k := range known {
		if k.hint != "" && is(err, k.errs...) {
			return k.hint
		}
	}
	switch {
	case errors.Is(err, home.ErrCorrupt) && errors.Is(err, fs.ErrNotExist):
		return "restore the missing file from a backup; what was said and done is still in blobs/. " +
			"Keep this home as it is until then"
	case is(err, home.ErrCorrupt, blobs.ErrDigest):
		copied := ""
		if errors.Is(err, blobs.ErrNotFound) {
			copied = "; if this is a copy of a home that ran meanwhile, copy it again, " +
				"blobs/ last or while nothing runs (docs/archive.md)"
		}
		return fmt.Sprintf("nothing was changed%s; ‹check› tells what is damaged and can be mended; "+
			"or restore the damaged file from a backup, and keep this home as it is until then", copied)
	case errors.Is(err, fs.ErrPermission):
		return "the home has to belong to you: see --home"
	}
	return ""
}

// report prints an error as one line, and its hint; with --json, as one object.
func (app *app) report(err error) {
	text, what := oneLine(plain(err)), app.hintOf(err)
	if app.json {
		_ = printLine(app.err, struct {
			Error string `json:"error"`
			Hint  string `json:"hint,omitempty"`
			Code  int    `json:"code"`
		}{text, what, codeOf(err)})
		return
	}
	fmt.Fprintln(app.err, "lethe: "+text)
	if what != "" {
		fmt.Fprintln(app.err, "hint: "+what)
	}
}

// plain is the message of an error, in words that are not Go's.
func plain(err error) string {
	return strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
}

func oneLine(s string) string {
	breaks := func(r rune) bool { return r == '\n' || r == '\r' }
	return screen.Sanitize(strings.Join(strings.FieldsFunc(s, breaks), "; "))
}

// quoted writes a word for a shell.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`&|;<>()*?[]{}!#~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
