package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/lethetest"
)

// asBridge makes the test binary a bridge with its state in the directory that
// it names: see mortalBridge.
const asBridge = "LETHE_TEST_BRIDGE"

// killedAt says before or after which write, sync or rename the bridge waits to be killed.
const killedAt = "LETHE_TEST_KILLED_AT"

// mortalHears is how many messages the other side of a mortal bridge has for it.
const mortalHears = 120

func mortalMessage(i int) Message {
	m := message(fmt.Sprint("id", i), []string{"ada", "bob"}[i%2], fmt.Sprintf("line %d", i))
	m.At = noon.Add(time.Duration(i/8) * time.Second)
	if i%5 == 0 {
		m.Text = "ok"
	}
	return m
}

// mortalBridge takes in what the other side has, from the newest place on, and
// carries dev to a peer, which is a file. It can be killed at any moment. It ends
// when all is in.
func mortalBridge(dir string) error {
	var steps atomic.Int64
	if last, err := strconv.ParseInt(os.Getenv(killedAt), 10, 64); err == nil {
		durable.Fault = func(durable.Stage, string, string) error {
			if steps.Add(1) == last {
				fmt.Println("now")
				time.Sleep(time.Hour)
			}
			return nil
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watcher := chat.NewWatcher(0, nil)
	b, err := Open(Config{Home: dir, Name: "pager", Watcher: watcher})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return watcher.Run(ctx) })
	g.Go(func() error { return b.Run(ctx) })
	g.Go(func() error { return b.Deliver(ctx, ada, mortalFile(filepath.Join(dir, "sent"))) })
	g.Go(func() error {
		defer cancel()
		for next := 0; next < mortalHears; {
			to := min(mortalHears, next+1+rand.IntN(6))
			var batch []Message
			for i := max(0, next-2); i < to; i++ { // some are repeated
				batch = append(batch, mortalMessage(i))
			}
			if err := b.Accept(batch...); err != nil {
				return err
			}
			next = to
		}
		for ctx.Err() == nil && b.size() > 0 { // what an earlier life took
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return b.Close()
}

func (b *Bridge) size() int {
	b.io.Lock()
	defer b.io.Unlock()
	return len(b.inbox.waiting)
}

// mortalFile is the other side: what it got is one line each in a file, each line of an agent
// in two parts.
type mortalFile string

func (mortalFile) Parts(_ Peer, l Line) ([]Part, error) {
	var parts []Part
	for _, which := range []string{"a", "b"} {
		data, err := json.Marshal(fmt.Sprintf("%d %s", l.From, which))
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Data: data})
	}
	return parts, nil
}

func (path mortalFile) Send(_ context.Context, _ Peer, part Part) error {
	f, err := os.OpenFile(string(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(slices.Clone(part.Data), '\n'))
	return err
}

// A bridge is killed at random steps while it works, both ways, until it is done.
func TestKilled(t *testing.T) {
	home := t.TempDir()
	most := lethetest.Sample(4, 12, 200) // kills
	prepare := start(t, home)
	lethetest.Must(t, prepare.ensurePeer(ada.Key, ada.Room))
	prepare.abandon()
	agentSays(t, home, "before it was born")
	kills := 0
	for done := false; !done; {
		step := 1 + rand.IntN(150)
		if kills == most {
			step = 0
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asBridge+"="+home, fmt.Sprint(killedAt, "=", step))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err = errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		if n, _ := out.Read(make([]byte, 1)); n > 0 {
			_ = cmd.Process.Kill()
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			t.Fatal("the bridge failed by itself")
		}
		if done = err == nil; !done {
			kills++
			// A kill can come between the end of Close and that of the process.
			if h := healthOf(t, home); h.State != Stopped && (h.State != Dead || (h.Ailment() == "")) {
				t.Fatalf("after a kill the bridge is %+v", h)
			}
			for range 3 {
				agentSays(t, home, fmt.Sprint("while it was dead ", kills))
			}
		}
	}
	lethetest.Tried(t, kills)
	if kills < 3 {
		t.Errorf("killed only %d times", kills)
	}
	if h := healthOf(t, home); h.State != Stopped {
		t.Errorf("at the end the bridge is %+v", h)
	}
	// What was said last may still have to go out.
	b := newPager(t, home)
	b.start()
	end := b.deliver(ada, mortalFile(filepath.Join(home, "sent")))
	lethetest.Eventually(t, "all is sent", func() bool {
		sent, err := os.ReadFile(filepath.Join(home, "sent"))
		return err == nil && strings.HasSuffix(string(sent), fmt.Sprintf("\"%d b\"\n", lastHeard(t, home)))
	})
	end()
	checkMortal(t, home)
}

// lastHeard is where the last line begins that the peer gets.
func lastHeard(t *testing.T, home string) (from int64) {
	for _, l := range lines(t, home, "dev") {
		if l.Agent {
			from = l.From
		}
	}
	return from
}

func checkMortal(t *testing.T, home string) {
	var want [2][]string
	for i := range mortalHears {
		want[i%2] = append(want[i%2], mortalMessage(i).Text)
	}
	got := map[string][]string{}
	var out []string
	for _, l := range lines(t, home, "dev") {
		if l.Agent {
			out = append(out, fmt.Sprintf("%d a", l.From), fmt.Sprintf("%d b", l.From))
		}
		got[l.Name] = append(got[l.Name], l.Text)
	}
	equal(t, "ada said", got["ada"], want[0]...)
	equal(t, "bob said", got["bob"], want[1]...)
	data, err := os.ReadFile(filepath.Join(home, "sent"))
	lethetest.Must(t, err)
	sent := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(string(data), `"`, ""), " ", "_"))
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], " ", "_")
	}
	equal(t, "sent, without repetitions", slices.Compact(slices.Clone(sent)), out...)
	t.Logf("%d parts sent, %d of them twice", len(out), len(sent)-len(out))
}
