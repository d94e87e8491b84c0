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
func (p *program) logTo(out io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if p.verbose {
		level = slog.LevelDebug
	}
	if p.json {
		return slog.New(slog.NewJSONHandler(redacting{out}, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewTextHandler(redacting{out}, &slog.HandlerOptions{Level: level}))
}

// redacting writes whole lines, without secrets.
type redacting struct{ to io.Writer }

func (r redacting) Write(line []byte) (int, error) {
	_, err := r.to.Write(secret.Bytes(line))
	return len(line), err
}

// logFile opens the log of identities that live inside a chat, where the
// terminal is taken. It is begun anew when it has grown over a megabyte.
func (p *program) logFile() (*os.File, error) {
	path := filepath.Join(p.home.Dir, "lethe.log")
	mode := os.O_APPEND
	if fi, err := os.Stat(path); err == nil && fi.Size() > 1<<20 {
		mode = os.O_TRUNC
	}
	f, _, err := durable.OpenRegular(path, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	return f, err
}
