package adopt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sqlite is the program that reads SQLite files.
const sqlite = "lethe-sqlite"

var errNoSQLite = errors.New("the program lethe-sqlite is missing; in Lethe's source: go install ./cmd/lethe-sqlite")

// findSQLite looks beside this program, and in PATH.
func findSQLite() (string, error) {
	own, _ := os.Executable()
	for _, name := range []string{filepath.Join(filepath.Dir(own), sqlite), sqlite} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errNoSQLite
}

// Rows is Options.Rows for a directory.
func (s *Store) Rows(ctx context.Context, file, query string) (io.ReadCloser, error) {
	if s.dir == "" {
		return nil, errors.New("SQLite file in a zip")
	}
	program, err := findSQLite()
	if err != nil {
		return nil, err
	}
	rows := &rows{cmd: exec.CommandContext(ctx, program, filepath.Join(s.dir, file), query)}
	rows.cmd.Stderr = &rows.stderr
	if rows.ReadCloser, err = rows.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return rows, rows.cmd.Start()
}

// rows are what the program prints.
type rows struct {
	io.ReadCloser
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Close ends the program, and returns its error.
func (r *rows) Close() error {
	closed := r.ReadCloser.Close()
	err := r.cmd.Wait()
	if said := strings.TrimSpace(r.stderr.String()); err != nil && said != "" {
		return errors.New(said)
	}
	return errors.Join(err, closed)
}
