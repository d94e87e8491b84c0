package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("file"), []byte("0123456789"), 0o600))
	must(t, errors.Join(os.Symlink(at("file"), at("link")), syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("dir"), 0o700)))
	for _, c := range []struct {
		most int64
		want string
		cut  bool
	}{{10, "0123456789", false}, {11, "0123456789", false}, {9, "012345678", true}} {
		data, cut, err := ReadRegular(at("file"), c.most)
		if err != nil || string(data) != c.want || cut != c.cut {
			t.Errorf("most %d: %q, %v, %v", c.most, data, cut, err)
		}
	}
	for _, name := range []string{"link", "pipe", "dir"} {
		if _, _, err := ReadRegular(at(name), 10); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := ReadRegular(at("none"), 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

func TestReadWhole(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("file"), []byte("0123456789"), 0o600))
	err := errors.Join(os.Symlink(at("file"), at("link")), os.Symlink("/dev/zero", at("endless")), syscall.Mkfifo(at("pipe"), 0o600),
		os.Mkdir(at("dir"), 0o700), os.WriteFile(at("sparse"), nil, 0o600), os.Truncate(at("sparse"), 1<<40))
	must(t, err)
	for _, name := range []string{"file", "link"} {
		if data, err := ReadWhole(at(name), 10); err != nil || string(data) != "0123456789" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, want := range map[string]error{
		"link": ErrTooLarge, "sparse": ErrTooLarge, "endless": ErrNotRegular, "pipe": ErrNotRegular, "dir": ErrNotRegular, "none": os.ErrNotExist,
	} {
		if _, err := ReadWhole(at(name), 9); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
