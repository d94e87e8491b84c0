package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// OpenRegular follows a user's own links, wherever they lead, and no others.
func TestOpenRegular(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	in := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.Mkdir(in("chats"), 0o700), os.MkdirAll(in("far/away"), 0o700), os.WriteFile(in("far/room"), []byte("x\n"), 0o600),
		os.Symlink("far/away", in("jump")), os.Symlink("../jump/../room", in("chats/own")), os.Symlink(in("chats/own"), in("chats/chain")),
		os.Symlink(in("far/new"), in("chats/dangling")), os.Symlink("loop", in("chats/loop")), os.Symlink(in("far"), in("chats/dir")),
		syscall.Mkfifo(in("chats/pipe"), 0o600))
	must(t, err)
	for name, want := range map[string]string{"far/room": "far/room", "chats/own": "far/room", "chats/chain": "far/room",
		"chats/dangling": "far/new"} {
		f, _, err := OpenRegular(in(name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
		if f.Name() != in(want) {
			t.Errorf("%s is %s, want %s", name, f.Name(), in(want))
		}
	}
	for name, want := range map[string]error{"chats/loop": syscall.ELOOP, "chats/dir": ErrNotRegular,
		"chats/pipe": ErrNotRegular, "chats/none": os.ErrNotExist} {
		if _, _, err := OpenRegular(in(name), os.O_RDONLY, 0); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, _, err := OpenRegular(in("chats/pipe"), os.O_WRONLY, 0); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe, to be written: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a link of another user")
	}
	must(t, os.Lchown(in("chats/own"), 65534, 65534))
	for _, name := range []string{"chats/own", "chats/chain"} {
		if _, _, err := OpenRegular(in(name), os.O_RDONLY, 0); err == nil ||
			!strings.Contains(err.Error(), in("chats/own")+": another user made this link") {
			t.Errorf("%s, which leads through the link of another user: %v", name, err)
		}
	}
	if _, _, err := Append(in("chats/own"), []byte("y\n"), 0o600); err == nil {
		t.Error("Append follows the link of another user")
	}
	if err := Overwrite(in("chats/own"), nil, 0o600); err == nil {
		t.Error("Overwrite follows the link of another user")
	}
}
