package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/agent/tools/mcp"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/bridge/report"
	"lethe/bridge/serve"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/archive"
	"lethe/cmd/lethe/check"
	"lethe/cmd/lethe/exit"
	"lethe/internal/seal"
	"lethe/life"
	"lethe/life/event"
)

// kind is errors with one exit code, and the advice for those without a hint of their own. The %s of the advice stands
// for the command of lethe.
type kind struct {
	code    int
	errs    []any // values, or pointers to variables of their types
	advice  string
	command string
}

// kinds lists the errors of all packages that give theirs no code. The first kind that fits counts.
var kinds = []kind{
	{code: exit.Usage, errs: []any{
		new(*host.SettingsError), new(*report.InvalidError), new(*config.Error), home.ErrHear,
		archive.ErrRecipient, events.ErrAfter,
	}},
	{code: exit.Usage, errs: []any{serve.ErrUnencrypted},
		advice: "give tls_cert and tls_key in [serve] of config.toml; or --allow-unencrypted, if that is meant"},
	{code: exit.Running, errs: []any{home.ErrErasing},
		advice:  "every command finishes it, or warns why it cannot; where the life is damaged, begin with: %s",
		command: "check --repair"},
	{code: exit.Running, errs: []any{check.ErrInUse}, advice: "stop what runs first: %s", command: "stop NAME"},
	{code: exit.Running, errs: []any{
		new(*home.RunningError), new(*home.ElsewhereError), bridge.ErrRunning, archive.ErrImporting,
		host.ErrHired,
	}},
	{code: exit.Bound, errs: []any{host.ErrBound}},
	{code: exit.NoKey, errs: []any{archive.ErrKey}, advice: "name a file with the age key: --identity FILE"},
	{code: exit.NoKey, errs: []any{llm.ErrNoKey},
		advice:  "%s asks for it and keeps it; or set it in the environment, or add --offline to try without one",
		command: "init"},
	{code: exit.NoKey, errs: []any{serve.ErrToken, telegram.ErrToken, seal.ErrLost}},
	{code: exit.Newer, errs: []any{home.ErrNewer, event.ErrUnknown}, advice: "use that one; nothing was changed"},
	{code: exit.Corrupt, errs: []any{archive.ErrDamaged},
		advice: "nothing was imported; get the archive again from where it comes"},
	{code: exit.Corrupt, errs: []any{access.ErrPeople},
		advice: "until it is mended nobody may speak; put it back from a copy, or move it away and allow anew"},
	{code: exit.Corrupt, errs: []any{new(*life.CorruptError), home.ErrCorrupt, blobs.ErrDigest}},
	{code: exit.NotFound, errs: []any{home.ErrAmbiguous}, advice: "give more digits"},
	{code: exit.NotFound, errs: []any{report.ErrNoQuestion}, advice: "what is open: %s", command: "questions"},
	{code: exit.NotFound, errs: []any{mcp.ErrNoServer}, advice: "all servers: %s", command: "mcp list"},
	{code: exit.NotFound, errs: []any{access.ErrNotListed}, advice: "all ids: %s", command: "bridge telegram who"},
	{code: exit.NotFound, errs: []any{home.ErrNotFound, blobs.ErrNotFound, report.ErrNoMatch}},
	{code: exit.Interrupt, errs: []any{context.Canceled}},
	{code: exit.Failed, errs: []any{archive.ErrSecret},
		advice: "encrypt it, with --to; or erase the key from the life first"},
	{code: exit.Failed, errs: []any{events.ErrGone},
		advice: "the log was put back or replaced; leave out --after to begin anew"},
}

// fits reports whether an error is of a kind.
func (k kind) fits(err error) bool {
	return slices.ContainsFunc(k.errs, func(target any) bool {
		if value, ok := target.(error); ok {
			return errors.Is(err, value)
		}
		return errors.As(err, target)
	})
}

// CodeOf returns the exit code of an error.
func CodeOf(err error) int {
	if err == nil {
		return exit.Done
	}
	if code, given := exit.Code(err); given {
		return code
	}
	var elsewhere *home.ElsewhereError
	if errors.As(err, &elsewhere) && elsewhere.Host != "" {
		return exit.Elsewhere
	}
	for _, kind := range kinds {
		if kind.fits(err) {
			return kind.code
		}
	}
	return exit.Failed
}

// HintOf returns the advice for an error, or "".
func (app *App) HintOf(err error) string {
	hint, given := exit.HintOf(err)
	var running *home.RunningError
	var elsewhere *home.ElsewhereError
	switch {
	case given:
		return hint
	case errors.As(err, &running):
		id := running.Identity
		return fmt.Sprintf("talk to it with: %s; stop it with: %s",
			app.Lethe("chat %s", app.RoomOf(id)), app.Lethe("stop %s", id.Name))
	case errors.As(err, &elsewhere):
		return app.elsewhereAdvice(elsewhere)
	}
	for _, kind := range kinds {
		if kind.advice != "" && kind.fits(err) {
			return strings.Replace(kind.advice, "%s", app.Lethe("%s", kind.command), 1)
		}
	}
	switch {
	case errors.Is(err, home.ErrCorrupt), errors.Is(err, blobs.ErrDigest):
		return app.corruptAdvice(err)
	case errors.Is(err, fs.ErrPermission):
		return "the home has to belong to you: see --home"
	}
	return ""
}

func (app *App) elsewhereAdvice(elsewhere *home.ElsewhereError) string {
	name := elsewhere.Identity.Name
	switch {
	case elsewhere.Identity.Self == "": // a bridge
		return "stop it there, and start it here again"
	case elsewhere.Host != "":
		return fmt.Sprintf("its rooms are here, for %s and %s; for the rest run this at %s, or have it go on here: %s",
			app.Lethe("say ROOM TEXT"), app.Lethe("chat ROOM"), elsewhere.Host, app.Lethe("take %s", name))
	case elsewhere.Mirror:
		return fmt.Sprintf("begin another life with it: %s; or, if the life that it mirrors is no more: "+
			"lethe import ARCHIVE --restore", app.Lethe("fork %s", name))
	}
	return "run it there; to take it back, import here what is exported there"
}

func (app *App) corruptAdvice(err error) string {
	if errors.Is(err, home.ErrCorrupt) && errors.Is(err, fs.ErrNotExist) {
		return "restore the missing file from a backup; what was said and done is still in blobs/. " +
			"Keep this home as it is until then"
	}
	copied := ""
	if errors.Is(err, blobs.ErrNotFound) {
		copied = "; if this is a copy of a home that ran meanwhile, copy it again, " +
			"blobs/ last or while nothing runs (docs/archive.md)"
	}
	return fmt.Sprintf("nothing was changed%s; %s tells what is damaged and can be mended; "+
		"or restore the damaged file from a backup, and keep this home as it is until then", copied, app.Lethe("check"))
}

// Report prints an error as one line, and its hint; with --json, as one object.
func (app *App) Report(err error) {
	app.Fail(Plain(err), app.HintOf(err), CodeOf(err))
}

// Plain returns the message of an error in words that are not Go's.
func Plain(err error) string {
	return strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
}

// AddressTaken adds advice to an error if another program has the address: setting names another one.
func AddressTaken(err error, setting string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return exit.Hint(err, "another program listens there; %s names another address", setting)
}
