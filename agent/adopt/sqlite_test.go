package adopt

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"lethe/internal/test/lethetest"
)

// The rows are those of the program in PATH, whose error is the reading's; without it a person is told what to install.
func TestRows(t *testing.T) {
	dir := lethetest.Dir(t)
	bin := filepath.Join(dir, "bin")
	lethetest.Write(t, filepath.Join(bin, sqlite), "#!/bin/sh\necho '{\"file\":\"'$1'\",\"query\":\"'$2'\"}'\necho broken >&2\nexit 1\n")
	lethetest.Must(t, os.Chmod(filepath.Join(bin, sqlite), 0o700))
	store, err := Source{Place: dir}.Open(&Options{})
	lethetest.Must(t, err)
	defer store.Close()
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	rows, err := store.Rows(t.Context(), "state.db", "q")
	lethetest.Must(t, err)
	line, err := bufio.NewReader(rows).ReadString('\n')
	lethetest.Must(t, err)
	lethetest.Equal(t, "the row", line, `{"file":"`+dir+`/state.db","query":"q"}`+"\n")
	if err := rows.Close(); err == nil || err.Error() != "broken" {
		t.Errorf("it ended with %v", err)
	}
	t.Setenv("PATH", dir)
	if _, err := store.Rows(t.Context(), "state.db", "q"); !errors.Is(err, errNoSQLite) {
		t.Errorf("without the program: %v", err)
	}
}
