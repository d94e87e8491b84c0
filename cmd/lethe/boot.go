package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

// hintTime is the longest that a turn waits for a hint; 0 leaves that to the
// agent. Tests that look for one on a busy machine set it.
var hintTime time.Duration

// rehearsalPace is the delay between the pieces of an answer of the offline model.
var rehearsalPace = 8 * time.Millisecond

// hostOptions are what the flags and config.toml say of how identities run.
func (p *program) hostOptions(log *slog.Logger) host.Options {
	o := p.runs.Options
	o.Secrets, o.Log, o.Report, o.HintTime, o.Pace = p.tokenFiles(), log, p.report, hintTime, rehearsalPace
	for _, h := range p.settings.Serve.Hooks {
		o.Webhooks = append(o.Webhooks, h.Agent+"/"+h.Trigger)
	}
	return o
}

// identity is the identity of the flags, or the default one. It is booted if it is
// not there yet; fresh says so.
func (p *program) identity(h *host.Host) (id home.Identity, fresh bool, err error) {
	name := p.runs.name
	switch {
	case name == "" && p.runs.fresh:
		return id, false, usagef("--new boots another identity: name it with --name")
	case name == "":
		id, err = p.find("")
		if err == nil && p.runs.soul == "" {
			return id, false, nil
		}
		if err != nil && !errors.Is(err, home.ErrNotFound) {
			return id, false, err
		}
		name = cmp.Or(p.settings.DefaultIdentity, config.DefaultName)
	}
	soul, err := readSoul(p.runs.soul)
	if err = cmp.Or(err, checkName(name)); err != nil {
		return id, false, err
	}
	id, err = h.Boot(home.BootOptions{Name: name, Soul: soul, Rooms: p.runs.Rooms})
	if !errors.Is(err, home.ErrExists) {
		return id, err == nil, err
	}
	if soul != "" || p.runs.fresh {
		return id, false, hint(err, "a soul is for life: boot another identity with --name, "+
			"or leave out --soul and --new to resume %s", name)
	}
	return id, false, nil
}

func readSoul(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := config.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read soul %s: %w", path, home.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", usagef("read soul %s: it is empty", path)
	}
	return string(text), nil
}

// checkName refuses what cannot name an identity.
func checkName(name string) error {
	if !home.ValidName(name) {
		return usagef("%q is not a name for an identity: a lower-case letter, then up to 31 of a-z, 0-9 and -", name)
	}
	return nil
}

// logTo writes log lines for people to out.
func (p *program) logTo(out io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if p.verbose {
		o.Level = slog.LevelDebug
	}
	if p.json {
		return slog.New(slog.NewJSONHandler(redacting{out}, o))
	}
	return slog.New(slog.NewTextHandler(redacting{out}, o))
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
