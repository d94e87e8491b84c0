package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// hears checks which rooms a directory leads to.
func hears(t *testing.T, subs, want string) {
	t.Helper()
	if rooms, err := Rooms(subs); err != nil || strings.Join(rooms, " ") != want {
		t.Fatalf("Rooms = %q, %v, want %q", rooms, err, want)
	}
}

func TestSubscribe(t *testing.T) {
	home := t.TempDir()
	chats, subs := Dir(home), filepath.Join(home, "agents", "51c0", "subs")
	hears(t, subs, "") // a missing directory
	for range 2 {      // doing it again changes nothing
		for _, room := range []string{"ops", "dev"} {
			lethetest.Must(t, Subscribe(subs, chats, room))
		}
	}
	// Through the link of a name: the target is right for the directory that it stands in.
	names := filepath.Join(home, "names")
	lethetest.Must(t, os.Mkdir(names, 0o700))
	lethetest.Must(t, os.Symlink("../agents/51c0", filepath.Join(names, "ada")))
	lethetest.Must(t, os.Remove(filepath.Join(subs, "dev.md")))
	lethetest.Must(t, Subscribe(filepath.Join(names, "ada", "subs"), chats, "dev"))
	link := filepath.Join(subs, "dev.md")
	if target, err := os.Readlink(link); err != nil || target != "../../../chats/dev.md" {
		t.Fatalf("the link says %q, %v", target, err)
	}
	if fi, err := os.Stat(filepath.Join(chats, "dev.md")); err != nil || fi.Mode() != 0o600 || fi.Size() != 0 {
		t.Fatalf("the room is %v, %v", fi, err)
	}
	echo(t, link, "through the link\n")
	want(t, readAll(t, Path(home, "dev"), Cursor{}), "through the link")

	// A room's lines survive another subscription to it, and its link the room.
	other := filepath.Join(home, "agents", "77aa", "subs")
	lethetest.Must(t, Subscribe(other, chats, "dev"))
	want(t, readAll(t, filepath.Join(other, "dev.md"), Cursor{}), "through the link")
	lethetest.Must(t, os.Remove(filepath.Join(chats, "ops.md")))
	for name, do := range map[string]func(string) error{
		"notes.txt": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"plain.md":  func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"dir.md":    func(p string) error { return os.Mkdir(p, 0o700) },
		"Upper.md":  func(p string) error { return os.Symlink("../../../chats/dev.md", p) },
		"noext":     func(p string) error { return os.Symlink("../../../chats/dev.md", p) },
	} {
		lethetest.Must(t, do(filepath.Join(subs, name)))
	}
	hears(t, subs, "dev ops")
	lethetest.Must(t, Unsubscribe(subs, "dev"))
	lethetest.Must(t, Unsubscribe(subs, "dev"))
	lethetest.Must(t, Unsubscribe(filepath.Join(home, "nowhere"), "dev"))
	hears(t, subs, "ops")
	want(t, readAll(t, Path(home, "dev"), Cursor{}), "through the link")
}

func TestSubscribeRefuses(t *testing.T) {
	home := t.TempDir()
	chats, subs := Dir(home), filepath.Join(home, "subs")
	for _, room := range []string{"", "../x", "A", "a/b"} {
		if Subscribe(subs, chats, room) == nil || Unsubscribe(subs, room) == nil {
			t.Errorf("%q is taken for a room", room)
		}
	}
	if _, err := os.Stat(chats); err == nil {
		t.Error("a refused subscription made a directory")
	}
	write(t, filepath.Join(subs, "dev.md"), "a person's notes")
	if Subscribe(subs, chats, "dev") == nil || Unsubscribe(subs, "dev") == nil {
		t.Error("a file is taken for a link")
	}
	if got, _ := os.ReadFile(filepath.Join(subs, "dev.md")); string(got) != "a person's notes" {
		t.Errorf("the file is now %q", got)
	}
}

func TestSubscribeMendsLink(t *testing.T) {
	home := t.TempDir()
	chats, subs := Dir(home), filepath.Join(home, "agents", "51c0", "subs")
	link := filepath.Join(subs, "dev.md")
	lethetest.Must(t, os.MkdirAll(subs, 0o700))
	for _, old := range []string{"/nowhere/dev.md", "../subs/dev.md", filepath.Join(chats, "ops.md")} {
		lethetest.Must(t, os.Symlink(old, link))
		lethetest.Must(t, Subscribe(subs, chats, "dev"))
		if target, _ := os.Readlink(link); target != "../../../chats/dev.md" {
			t.Fatalf("in place of %q the link says %q", old, target)
		}
		lethetest.Must(t, os.Remove(link))
	}
	// A link that leads there in other words is a person's, and stays.
	abs := filepath.Join(chats, "dev.md")
	lethetest.Must(t, os.Symlink(abs, link))
	lethetest.Must(t, Subscribe(subs, chats, "dev"))
	if target, _ := os.Readlink(link); target != abs {
		t.Fatalf("the link says %q", target)
	}
}
