package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// hintError is an error with a line of advice.
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

// checkRooms refuses texts that cannot name a room.
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

// known lists errors with their exit codes, and advice for errors without a hint of their own. The first that fits
// counts. ‹ and › stand around a command of lethe.
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
	for _, kind := range known {
		if is(err, kind.errs...) {
			return kind.code
		}
	}
	return exitFailed
}
