//go:build unix

package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// story is what a user says in room dev, one after the other: a plain answer, two
// calls in one reply, a word in another room, two replies with a call each.
var story = []string{
	"remember that the deploy key is in vault 7",
	"run echo ran >> ran.txt and read ran.txt",
	"say the build is green in ops",
	"write alpha to a.txt then read a.txt",
}

// question comes at the end of every life.
const question = "what did I say about the deploy key?"

// TestKillBetweenAnyTwoWrites lives the same life again and again, kills the
// daemon with kill -9 before or after a write, append, rename and the like, from the
// making of the home to the last line of LIFE, and resumes it. Whatever the
// moment, nothing may be lost or doubled. It tries a sample of the moments; all of
// them with LETHE_LONG=1.
func TestKillBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(rehearsal.New(rehearsal.Options{}))
	t.Cleanup(server.Close)

	whole := newMortal(t, server.URL, "")
	whole.trace = filepath.Join(t.TempDir(), "trace")
	whole.live()
	trace := lethetest.Read(t, whole.trace)
	writes := strings.Split(strings.TrimSpace(trace), "\n")
	if len(writes) < 80 {
		t.Fatalf("the life has only %d writes:\n%s", len(writes), trace)
	}

	var moments []string
	for n, write := range writes {
		moments = append(moments, fmt.Sprintf("before:%d", n+1))
		// A temporary file or a directory means nothing before the next write.
		if op, _, _ := strings.Cut(write, " "); op != "write" && op != "mkdir" {
			moments = append(moments, fmt.Sprintf("after:%d", n+1))
		}
	}
	// From another beginning each day; 13 is no divisor of the writes of a commit.
	every := lethetest.Sample(53, 23, 1)
	var some []string
	for i := lethetest.Day() % every; i < len(moments); i += every {
		some = append(some, moments[i])
	}
	moments = some
	lethetest.Tried(t, len(moments))

	var all sync.WaitGroup
	slots := make(chan struct{}, 8) // most of a life is waiting
	for i, moment := range moments {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			m := newMortal(t, server.URL, moment)
			if i%5 == 2 { // and once more while it picks up the pieces
				m.again = fmt.Sprintf("before:%d", 1+i/5%25)
			}
			m.live()
		})
		if t.Failed() {
			break
		}
	}
	all.Wait()
}

// mortal is one life that is killed.
type mortal struct {
	*testing.T
	home   string
	url    string
	moment string // when the first daemon dies; "" never
	again  string // when the second does
	trace  string // file for the steps of the first

	err    bytes.Buffer // what the daemons say
	daemon *exec.Cmd
	gone   chan struct{} // closed when daemon has ended
	said   []string      // by the user, in room dev
}

func newMortal(t *testing.T, url, moment string) *mortal {
	return &mortal{T: t, home: filepath.Join(t.TempDir(), "home"), url: url, moment: moment}
}

// fail gives up this life.
func (m *mortal) fail(format string, args ...any) {
	room, _ := os.ReadFile(chat.Path(m.home, "dev"))
	var log []byte
	if id, err := m.identity(); err == nil {
		log, _ = os.ReadFile(id.LIFE())
	}
	m.Errorf("killed %s %s: %s\nroom dev:\n%s\nLIFE:\n%s\nthe daemons:\n%s", m.moment, m.again,
		fmt.Sprintf(format, args...), room, log, m.err.String())
}

// errDead says that the daemon ended while something was awaited of it.
var errDead = errors.New("the daemon is dead")

// live tells the story to one daemon after the other, until it is told, then
// asks the question and checks what is left.
func (m *mortal) live() {
	config := fmt.Sprintf("[model]\nbase_url = %q\nname = \"rehearsal\"\n", m.url)
	if !canConfine() {
		config += "[tools]\nbash = \"trusted\"\n"
	}
	lethetest.Write(m, filepath.Join(m.home, "config.toml"), config)
	deaths := []string{m.moment, m.again, ""}
	for i, death := range deaths {
		err := m.serve(death, i == len(deaths)-1)
		switch {
		case err == nil:
			m.check()
			return
		case !errors.Is(err, errDead) || i == len(deaths)-1:
			m.fail("daemon %d: %v", i+1, err)
			return
		}
		if len(m.said) < len(story) && m.answered() {
			m.say() // is heard at resume
		}
	}
}

// serve runs one daemon until it dies or the story is told and the question
// answered. Only the last one must live that long.
func (m *mortal) serve(death string, last bool) error {
	m.start(death)
	defer func() { end(m.daemon, m.gone) }()
	if err := m.await("ready", m.ready); err != nil {
		return err
	}
	for len(m.said) <= len(story) {
		if err := m.await("idle", m.idle); err != nil {
			return err
		}
		m.say()
	}
	if err := m.await("idle", m.idle); err != nil {
		return err
	}
	_ = m.daemon.Process.Signal(syscall.SIGTERM)
	<-m.gone
	if death != "" && !last { // it has outlived its moment, which lies in the end
		return errDead
	}
	if code := m.daemon.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}

func (m *mortal) start(death string) {
	m.daemon = bare(m, m.home, []string{"LETHE_API_KEY=x", killAt + "=" + death, traceTo + "=" + m.trace},
		"run", "--name", "ada", "--room", "dev", "--room", "ops")
	m.daemon.Stderr = &m.err
	m.gone = begin(m, m.daemon)
}

// await polls a condition that the running daemon has to bring about.
func (m *mortal) await(what string, ok func() bool) error {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(3 * time.Millisecond) {
		select {
		case <-m.gone:
			if ok() {
				return nil
			}
			return errDead
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not %s after %v", what, patience)
		}
	}
	return nil
}

func (m *mortal) identity() (home.Identity, error) { return home.Home{Dir: m.home}.Find("ada") }

// ready: this daemon, not the one before, shows a status.
func (m *mortal) ready() bool {
	_, ok := m.status()
	return ok
}

func (m *mortal) status() (status.Status, bool) {
	id, err := m.identity()
	if err != nil {
		return status.Status{}, false
	}
	s, err := status.Read(id.Dir)
	return s, err == nil && s.PID == m.daemon.Process.Pid
}

// idle: all that was said is heard and answered.
func (m *mortal) idle() bool {
	s, ok := m.status()
	if !ok || s.State != status.Idle || len(s.Answering) > 0 {
		return false
	}
	for _, room := range []string{"dev", "ops"} {
		if end, err := chat.End(chat.Path(m.home, room)); err != nil || s.Heard[room] != end.Size() {
			return false
		}
	}
	return true
}

// answered: each line has its answer. One that comes before would share it.
func (m *mortal) answered() bool {
	lines, _, _, err := chat.Tail(chat.Path(m.home, "dev"), 1000)
	return err == nil && len(lines) == 2*len(m.said)
}

// say appends the next line of the story, or the question.
func (m *mortal) say() {
	text := question
	if len(m.said) < len(story) {
		text = story[len(m.said)]
	}
	line, err := chat.Format(false, "grace", time.Now(), text)
	if err == nil {
		_, _, err = chat.Append(chat.Path(m.home, "dev"), line)
	}
	if err != nil {
		m.Error(err)
	}
	m.said = append(m.said, text)
}
