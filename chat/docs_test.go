package chat

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// page returns the fenced block of docs/rooms.md with this language.
func page(t *testing.T, lang string) string { return lethetest.Blocks(t, "rooms.md", lang)[0] }

func TestPageExample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dev.md")
	write(t, path, strings.ReplaceAll(page(t, "room"), "␤", "\u2028"))
	lines := readAll(t, path, Cursor{}).Lines
	if len(lines) != 4 {
		t.Fatalf("the page's room has %d messages, not 4", len(lines))
	}
	want := []struct {
		agent bool
		name  string
		lines int
	}{{false, "ada", 1}, {true, "lethe", 4}, {false, "unknown", 1}, {false, "bob", 1}}
	for i, w := range want {
		l := lines[i]
		if l.Agent != w.agent || l.Name != w.name || strings.Count(l.Text, "\n")+1 != w.lines {
			t.Errorf("message %d is %+v", i, l)
		}
	}
	if got := lines[3].At.Format("15:04:05"); got != "12:58:02" {
		t.Errorf("bob spoke at %s UTC", got)
	}

	var raw []byte
	for row := range strings.Lines(page(t, "hex")) {
		b, err := hex.DecodeString(strings.ReplaceAll(row[:48], " ", ""))
		lethetest.Must(t, err)
		raw = append(raw, b...)
	}
	if !bytes.Equal(trimEOL(raw), lines[0].Raw) || raw[len(raw)-1] != '\n' {
		t.Errorf("the page's bytes are %q, its first line %q", raw, lines[0].Raw)
	}

	var doc Cursor
	lethetest.Must(t, json.Unmarshal([]byte(page(t, "json")), &doc))
	c := readAll(t, path, Cursor{}).After(1)
	c.Inode = doc.Inode
	if got, want := toJSON(t, c), toJSON(t, doc); got != want {
		t.Errorf("the cursor after the first line is\n%s, the page says\n%s", got, want)
	}
}

// What the page says about a room is read, and written so that it is read again; of a title one line counts.
func TestPageAbout(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(Dir(home), "dev.toml"), page(t, "toml"))
	want := About{"The build", true, []string{"ann"}}
	if a, err := ReadAbout(home, "dev"); !reflect.DeepEqual(a, want) || err != nil {
		t.Errorf("the page says %+v, %v", a, err)
	}
	lethetest.Must(t, About{Title: " a\u2028b\n\x1b[2J" + strings.Repeat("é", 100)}.Write(home, "ops"))
	if a, err := ReadAbout(home, "ops"); err != nil || a.Title != "a b ␛[2J"+strings.Repeat("é", 72) || a.Archived {
		t.Errorf("read is %+v, %v", a, err)
	}
	if a, err := ReadAbout(home, "none"); !reflect.DeepEqual(a, About{}) || err != nil {
		t.Errorf("about a room of which nothing is written: %+v, %v", a, err)
	}
	write(t, filepath.Join(Dir(home), "bad.toml"), "title = ")
	if a, err := ReadAbout(home, "bad"); !reflect.DeepEqual(a, About{}) || err == nil {
		t.Errorf("of what is no TOML: %+v, %v", a, err)
	}
}

// The page's bridge, one line of shell, is a bridge.
func TestPageBridge(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".lethe", "chats", "dev.md")
	write(t, path, "")
	cmd := exec.Command("sh", "-c", page(t, "sh"))
	cmd.Env = append(os.Environ(), "HOME="+home, "USER=ada")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := readAll(t, path, Cursor{}).Lines
	if len(lines) != 1 || !lines[0].Tagged || lines[0].Name != "ada" || lines[0].Text != "the build is green" {
		t.Fatalf("heard %+v", lines)
	}
}
