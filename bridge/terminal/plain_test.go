package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/lethetest"
)

// plainly runs Plain over input and returns what came out.
func plainly(t *testing.T, home, input string, change func(*Config)) (out, errs string, err error) {
	t.Helper()
	var o, e lethetest.Log
	cfg := Config{Home: home, Room: "dev", User: "ada", In: strings.NewReader(input), Out: &o, Err: &e,
		Timeout: 20 * time.Second, Poll: 50 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	err = Plain(t.Context(), cfg)
	return o.String(), e.String(), err
}

func TestPlain(t *testing.T) {
	answer := func(text string) func(*actor, message) {
		return func(a *actor, l message) {
			if l.Name == "ada" {
				a.turn(l, func() { a.say(strings.ReplaceAll(text, "%", l.Text)) })
			}
		}
	}
	for _, c := range []struct {
		name, input string
		hears       func(*actor, message)
		out         string
		sent        []string
	}{
		{"each line is a message, and all answers are waited for", "one\n\n  \ntwo\r\nthree", answer("you said %\nand more"),
			"lethe: you said one\n  and more\nlethe: you said two\n  and more\nlethe: you said three\n  and more\n",
			[]string{"one", "two", "three"}},
		{"a file has the command that writes it", "look",
			answer("here\n[photo a.png image/png 8 KB hash=0123456789abcdef]\n[photo $(x) image/png 8 KB hash=0123456789abcdef]"),
			"lethe: here\n  [photo a.png image/png 8 KB hash=0123456789abcdef]\n  → lethe cat 0123456789abcdef > a.png\n  [photo " +
				"$(x) image/png 8 KB hash=0123456789abcdef]\n",
			[]string{"look"}},
		{"others are shown, also of the same name", "hi\n", func(a *actor, l message) {
			if l.Name != "ada" || l.Text != "hi" {
				return
			}
			a.turn(l, func() {
				appendLine(t, a.home, "dev", false, "ada", "from my phone")
				appendLine(t, a.home, "dev", false, "bob", "hello \x1b[31mred\x1b]0;title\x07")
				a.say("done")
			})
			a.set(func(s *status.Status) { s.Heard["dev"] = 1 << 20 })
		}, "ada: from my phone\nbob: hello ␛[31mred␛]0;title␇\nlethe: done\n", []string{"hi", "from my phone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			appendLine(t, home, "dev", true, "lethe", "from before, not shown")
			a := newActor(t, home, "lethe", "dev")
			a.hear(func(l message) { c.hears(a, l) })
			out, errs, err := plainly(t, home, c.input, nil)
			if err != nil || errs != "" || out != c.out {
				t.Errorf("printed %q, %q, %v; want %q", out, errs, err, c.out)
			}
			var mine []string
			for _, l := range texts(t, home, "dev") {
				if text, ok := strings.CutPrefix(l, "ada: "); ok {
					mine = append(mine, text)
				}
			}
			if !slices.Equal(mine, c.sent) {
				t.Errorf("the room has %q", mine)
			}
		})
	}
}

func TestPlainJSON(t *testing.T) {
	home := t.TempDir()
	a := newActor(t, home, "lethe", "dev")
	a.hear(func(l message) { a.turn(l, func() { a.say("a <b>\nc \u009b31m \u007f") }) })
	out, _, err := plainly(t, home, "hi\n", func(c *Config) { c.JSON = true })
	lethetest.Must(t, err)
	var got struct {
		Room, Name, Text string
		Agent            bool
		At               time.Time
	}
	lethetest.Must(t, json.Unmarshal([]byte(out), &got))
	if strings.ContainsAny(out, "\u009b\u007f") || got.Room != "dev" || got.Name != "lethe" || !got.Agent ||
		got.Text != "a <b>\nc \u009b31m \u007f" || time.Since(got.At) > time.Hour {
		t.Errorf("printed %q", out)
	}
}

func TestNobodyListens(t *testing.T) {
	// A status of a process that is no more, and one that hears another room.
	home := t.TempDir()
	gone := newActor(t, home, "gone", "dev")
	gone.set(func(s *status.Status) { s.PID = deadPID(t) })
	newActor(t, home, "elsewhere", "ops")

	out, errs, err := plainly(t, home, "hi\n", nil)
	if err != nil || out != "" || errs != "nobody is listening in room dev; start one with: lethe run\n" {
		t.Errorf("out %q, stderr %q, err %v", out, errs, err)
	}
	if got := texts(t, home, "dev"); !slices.Equal(got, []string{"ada: hi"}) {
		t.Errorf("the room has %q; the line waits there for whoever comes", got)
	}
}

func TestPlainInputErrors(t *testing.T) {
	home := t.TempDir()
	newActor(t, home, "lethe", "dev")
	if _, _, err := plainly(t, home, " \n\n", nil); err != nil {
		t.Errorf("nothing to send: err %v", err)
	}
	if _, _, err := plainly(t, home, strings.Repeat("x", maxMessage+1), nil); err == nil {
		t.Error("a message over the bound was sent")
	}
	if _, _, err := plainly(t, home, "hi", func(c *Config) { c.Room = "../agents/x" }); err == nil {
		t.Error("a room outside of the rooms was joined")
	}
	broken := errors.New("broken pipe")
	_, _, err := plainly(t, home, "", func(c *Config) { c.In = io.MultiReader(strings.NewReader("a\n"), failing{broken}) })
	if !errors.Is(err, broken) {
		t.Errorf("err %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestPlainReportsWhatItCannotWrite(t *testing.T) {
	home := t.TempDir()
	a := newActor(t, home, "lethe", "dev")
	a.hear(func(l message) { a.turn(l, func() { a.say("yes") }) })
	broken := errors.New("closed")
	if _, _, err := plainly(t, home, "hi", func(c *Config) { c.Out = failing{broken} }); !errors.Is(err, broken) {
		t.Errorf("output: err %v", err)
	}
	// A room that is a directory can be neither read nor written.
	lethetest.Must(t, os.MkdirAll(filepath.Join(home, "chats", "bad.md"), 0o700))
	_, errs, err := plainly(t, home, "hi\n", func(c *Config) { c.Room = "bad" })
	if err == nil || !strings.HasPrefix(err.Error(), "send message: ") || !strings.Contains(errs, "bad.md") {
		t.Errorf("room: err %v, stderr %q", err, errs)
	}
}

func TestPlainEndsWithItsContext(t *testing.T) {
	home := t.TempDir()
	newActor(t, home, "lethe", "dev")
	in, hold := io.Pipe()
	defer hold.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- Plain(ctx, Config{Home: home, User: "ada", In: in, Out: io.Discard, Err: io.Discard})
	}()
	if _, err := hold.Write([]byte("before\n")); err != nil {
		t.Fatal(err)
	}
	lethetest.Eventually(t, "the line is in the room", func() bool { return len(texts(t, home, "dev")) == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("err %v", err)
	}
}

// deadPID is the number of a process that has ended.
func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	lethetest.Must(t, cmd.Run())
	return cmd.Process.Pid
}
