package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lethe/internal/durable"
)

// asMember makes the test binary a member of the room in the directory that it
// names: see member.
const asMember = "LETHE_TEST_MEMBER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asMember); dir != "" {
		if err := member(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const memberSays = 150

// memory is all that a member has besides the room: what it wants to say, and
// what it has heard.
type memory struct {
	Said   int // lines posted; the intent, if any, is the next
	Intent []byte
	Inode  uint64
	From   int64

	Cursor Cursor
	Heard  []string
}

// member posts lines and hears the room, and can be killed at any moment: it
// writes its memory down before it acts on it, as an identity does in its log.
func member(dir string) error {
	path, state := filepath.Join(dir, "dev.md"), filepath.Join(dir, "memory.json")
	var m memory
	data, err := os.ReadFile(state)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	save := func() error {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		return durable.WriteFile(state, data, 0o600)
	}
	for {
		b, err := Read(path, m.Cursor, 1000)
		if err != nil {
			return err
		}
		if b.Realigned || b.Restarted {
			return fmt.Errorf("realigned %v, restarted %v", b.Realigned, b.Restarted)
		}
		m.Cursor = b.Next
		for _, l := range b.Lines {
			m.Heard = append(m.Heard, l.Text)
		}
		if m.Intent == nil && m.Said == memberSays {
			if err := save(); err != nil || len(b.Lines) == 0 {
				return err
			}
			continue
		}
		if m.Intent == nil {
			text := fmt.Sprintf("post %d", m.Said)
			if m.Intent, err = Format(true, "lethe", time.Now(), text); err != nil {
				return err
			}
			if m.Inode, m.From, err = End(path); err != nil {
				return err
			}
		}
		if err := save(); err != nil {
			return err
		}
		if _, _, err := Post(path, m.Intent, m.Inode, m.From); err != nil {
			return err
		}
		m.Said, m.Intent = m.Said+1, nil
	}
}

// A member is killed again and again while others write: it says each line
// once, and hears each line once.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dev.md")
	write(t, path, "")
	size := func() int64 {
		_, n, err := End(path)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	foreign, kills := 0, 0
	for done := false; !done; {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asMember+"="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }() // ends with the process
		grown := size() + rand.Int64N(400)
		spin := rand.IntN(20_000) // a moment within what a post does
		var err error
		for alive := true; alive; {
			select {
			case err = <-ended:
				alive, done = false, err == nil
			default:
				if size() < grown {
					continue
				}
				for range spin {
					_ = time.Now()
				}
				echo(t, path, fmt.Sprintf("foreign %d\n", foreign))
				foreign++
				_ = cmd.Process.Kill()
				err = <-ended
				alive = false
				kills++
			}
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			t.Fatal("the member failed by itself")
		}
	}
	t.Logf("killed %d times", kills)
	if kills < 3 {
		t.Fatalf("killed only %d times", kills)
	}

	data, err := os.ReadFile(filepath.Join(dir, "memory.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m memory
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	inRoom := texts(readAll(t, path, Cursor{}).Lines)
	count := map[string]int{}
	for _, text := range inRoom {
		count[text]++
	}
	for i := range memberSays {
		if n := count[fmt.Sprintf("post %d", i)]; n != 1 {
			t.Errorf("post %d is in the room %d times", i, n)
		}
	}
	if len(inRoom) != memberSays+foreign {
		t.Errorf("the room has %d lines, not %d", len(inRoom), memberSays+foreign)
	}
	if got, want := toJSON(t, m.Heard), toJSON(t, inRoom); got != want {
		t.Errorf("heard\n%s\nthe room\n%s", got, want)
	}
}
