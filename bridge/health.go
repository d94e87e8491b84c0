package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lethe/bridge/health"
	"lethe/chat"
	"lethe/internal/status"
)

// ReadHealth reports on every bridge of home that was ever opened, by name. A
// bridge whose files cannot be read is reported with that as its Error; the error
// is for the directory of the bridges.
func ReadHealth(home string) ([]health.Health, error) {
	entries, err := os.ReadDir(filepath.Join(home, "bridges"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list bridges: %w", err)
	}
	var all []health.Health
	for _, e := range entries {
		dir := filepath.Join(home, "bridges", e.Name())
		if _, err := os.Lstat(filepath.Join(dir, "lock")); err != nil && !errors.Is(err, fs.ErrPermission) || !chat.ValidRoom(e.Name()) {
			continue // never opened, or nothing of ours
		}
		h := health.Read(dir, e.Name())
		h.In, err = countIn(filepath.Join(dir, "inbox.jsonl"))
		h.Note(err)
		h.Out, err = countOut(home, dir)
		h.Note(err)
		all = append(all, h)
	}
	return all, nil
}

func countIn(path string) (int, error) {
	data, err := readInbox(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	l, _, err := foldInbox(data)
	if err != nil {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return len(l.waiting), err
}

func countOut(home, dir string) (n int, err error) {
	const most = 10_000 // so that asking costs little
	files, err := os.ReadDir(peersDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") || !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		st, _, rerr := readPeer(filepath.Join(peersDir(dir), f.Name()))
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		if st.Line != nil {
			n++
		}
		more, rerr := countAfter(chat.Path(home, st.Room), st.Cursor, most-n)
		n, err = n+more, errors.Join(err, rerr)
	}
	return n, err
}

// countAfter counts the lines of agents after a cursor, up to most.
func countAfter(path string, c chat.Cursor, most int) (n int, err error) {
	for more := true; more && n < most; {
		b, err := chat.Read(path, c, 0)
		if err != nil {
			return n, err
		}
		for _, l := range b.Lines {
			if l.Agent {
				n++
			}
		}
		c, more = b.Next, b.More
	}
	return min(n, most), nil
}

// Working says whether an identity of home is working on something that room waits for: when
// to show that it types. It reads the status files of the identities, which is cheap.
func Working(home, room string) bool {
	for s := range status.All(home) {
		if s.BusyIn(room) && status.Alive(s.PID) {
			return true
		}
	}
	return false
}
