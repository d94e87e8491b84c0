package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"lethe/internal/durable"
	"lethe/internal/secret"
)

// logTo writes log lines for people to out.
func (app *app) logTo(out io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if app.verbose {
		options.Level = slog.LevelDebug
	}
	if app.json {
		return slog.New(slog.NewJSONHandler(redacting{out}, options))
	}
	return slog.New(slog.NewTextHandler(redacting{out}, options))
}

// redacting writes whole lines, without secrets.
type redacting struct{ to io.Writer }

func (r redacting) Write(line []byte) (int, error) {
	_, err := r.to.Write(secret.Bytes(line))
	return len(line), err
}

// logFile opens the log of identities that live inside a chat, where the
// terminal is taken. It is begun anew when it has grown over a megabyte.
func (app *app) logFile() (*os.File, error) {
	path := filepath.Join(app.home.Dir, "lethe.log")
	mode := os.O_APPEND
	if fi, err := os.Stat(path); err == nil && fi.Size() > 1<<20 {
		mode = os.O_TRUNC
	}
	f, _, err := durable.OpenRegular(path, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	return f, err
}
