package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/screen"
)

// hintOf returns the advice for an error, or "".
func (app *app) hintOf(err error) string {
	return strings.NewReplacer("‹", "lethe ", "›", app.again).Replace(app.advice(err))
}

// advice is hintOf with ‹ and › around commands.
func (app *app) advice(err error) string {
	var hinted interface{ Hint() string }
	var running *home.RunningError
	var elsewhere *home.ElsewhereError
	switch {
	case errors.As(err, &hinted):
		return hinted.Hint()
	case errors.As(err, &running):
		id := running.Identity
		return fmt.Sprintf("talk to it with: ‹chat %s›; stop it with: ‹stop %s›", app.roomOf(id), id.Name)
	case errors.As(err, &elsewhere):
		return elsewhereAdvice(elsewhere)
	}
	for _, kind := range known {
		if kind.hint != "" && is(err, kind.errs...) {
			return kind.hint
		}
	}
	switch {
	case is(err, home.ErrCorrupt, blobs.ErrDigest):
		return corruptAdvice(err)
	case errors.Is(err, fs.ErrPermission):
		return "the home has to belong to you: see --home"
	}
	return ""
}

func elsewhereAdvice(elsewhere *home.ElsewhereError) string {
	name := elsewhere.Identity.Name
	switch {
	case elsewhere.Host != "":
		return fmt.Sprintf("run it there; or have it go on here: ‹take %s›", name)
	case elsewhere.Mirror:
		return fmt.Sprintf("begin another life with it: ‹fork %s›; or, if the life that it mirrors is no more: "+
			"lethe import ARCHIVE --restore", name)
	}
	return "run it there; to take it back, import here what is exported there"
}

func corruptAdvice(err error) string {
	if errors.Is(err, home.ErrCorrupt) && errors.Is(err, fs.ErrNotExist) {
		return "restore the missing file from a backup; what was said and done is still in blobs/. " +
			"Keep this home as it is until then"
	}
	copied := ""
	if errors.Is(err, blobs.ErrNotFound) {
		copied = "; if this is a copy of a home that ran meanwhile, copy it again, " +
			"blobs/ last or while nothing runs (docs/archive.md)"
	}
	return fmt.Sprintf("nothing was changed%s; ‹check› tells what is damaged and can be mended; "+
		"or restore the damaged file from a backup, and keep this home as it is until then", copied)
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
