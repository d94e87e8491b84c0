package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lethe/internal/test/lethetest"

	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/test/botapi"
)

// asBridge makes the test binary a bridge that dies: see mortal.
const asBridge = "LETHE_TEST_TELEGRAM"

// mortal is a bridge in a process of its own, with Telegram in another.
type mortal struct {
	Home, URL, Token string
	// Dies is the step of a durable write, counted over all, in front of or behind
	// which it is killed; 0: it is not.
	Dies int
}

func beBridge() int {
	var m mortal
	if err := json.Unmarshal([]byte(os.Getenv(asBridge)), &m); err != nil {
		panic(err)
	}
	steps := make(chan int, 1)
	steps <- 0
	durable.Fault = func(stage durable.Stage, op, path string) error {
		n := <-steps + 1
		if n == m.Dies {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing goes on
		}
		steps <- n
		return nil
	}
	store, err := blobs.Open(filepath.Join(m.Home, "blobs"))
	if err != nil {
		panic(err)
	}
	watcher := chat.NewWatcher(20*time.Millisecond, nil)
	go func() { _ = watcher.Run(context.Background()) }() // ends with the process
	err = Run(context.Background(), Config{
		Home: m.Home, Store: store, Watcher: watcher, Token: m.Token, Settings: Settings{BaseURL: m.URL}, tune: quick,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// grave runs mortals, one after the other.
type grave struct {
	*stage
	dm    botapi.Chat
	m     mortal
	kills int
}

// live runs a bridge until it dies by itself or until says so, and kills it then.
func (g *grave) live(dies int, until func() bool) {
	g.t.Helper()
	g.m.Dies = dies
	env, err := json.Marshal(g.m)
	lethetest.Must(g.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asBridge+"="+string(env))
	cmd.Stderr = g.log
	lethetest.Must(g.t, cmd.Start())
	dead := make(chan error, 1)
	go func() { dead <- cmd.Wait() }() // ends with the process
	g.kills++
	g.within("the bridge dies, or has done what it should", func() bool {
		select {
		case <-dead:
			if !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
				g.t.Fatal("the bridge ended by itself")
			}
			dead <- nil
			return true
		default:
			return until()
		}
	})
	_ = cmd.Process.Kill()
	<-dead
}

// echo is the agent: it answers each line of a person once, until ctx ends.
func (g *grave) echo(ctx context.Context) {
	var c chat.Cursor
	path := chat.Path(g.home, "dev")
	for ctx.Err() == nil {
		b, err := chat.Read(path, c, 0)
		if err != nil {
			g.t.Error(err)
			return
		}
		for _, l := range b.Lines {
			if l.Agent {
				continue
			}
			line, err := chat.Format(true, "lethe", time.Now(), answer(plainWords(l.Text)))
			if err == nil {
				_, _, err = chat.Append(path, line)
			}
			if err != nil {
				g.t.Error(err)
				return
			}
		}
		c = b.Next
		sleep(ctx, 3*time.Millisecond)
	}
}

// answer is a text of two parts, both of them its own.
func answer(to string) string {
	word := strings.ReplaceAll(to, " ", "-") + " "
	return "re: **" + to + "**\n\n" + strings.Repeat(word, MaxUnits/len(word))
}

var fileTag = regexp.MustCompile(`^(\[photo [^\]]*hash=[0-9a-f]+\]|q[0-9a-f]{6}) `) // or the id of a question

func plainWords(text string) string { return fileTag.ReplaceAllString(text, "") }

// The bridge is killed in front of and behind steps of durable writes, every one with
// LETHE_LONG=1, and at any moment: what came in is in the room once and in order, what went out
// is there in order and whole, and at most one message is there twice for each time it died.
func TestKilled(t *testing.T) {
	st := stageOf(t, "")
	ada := st.ada()
	g := &grave{stage: st, dm: ada.dm}
	g.m = mortal{Home: st.home, URL: st.cfg.BaseURL, Token: st.Token()}
	ctx, cancel := context.WithCancel(context.Background())
	agent := make(chan struct{})
	go func() { defer close(agent); g.echo(ctx) }()
	t.Cleanup(func() { cancel(); <-agent })

	said := 0
	var asked []status.Question
	say := func() {
		text := fmt.Sprintf("message %d", said)
		switch said % 4 {
		case 2:
			st.SendPhoto(ada.dm, ada.User, []byte(text), text)
		case 3:
			q := status.Question{Question: chat.Question{ID: fmt.Sprintf("q%06x", said), Text: "?", Options: []string{text},
				For: []string{"Ada"}}, Room: "dev"}
			asked = append(asked, q)
			st.asks("", asked...)
			st.PressOld(ada.dm, ada.User, 0, q.ID+" 1")
		default:
			ada.says(text)
		}
		said++
	}
	answered := func() bool {
		texts := st.Texts(ada.dm)
		return len(texts) > 1 && texts[len(texts)-2] == fmt.Sprintf("re: message %d", said-1) && st.Pending() == 0
	}
	stride, random := 9, 3
	if os.Getenv("LETHE_LONG") != "" {
		stride, random = 1, 20
	}
	survived := 0
	for dies := 1; survived < 2; dies += stride {
		say()
		alive := false
		g.live(dies, func() bool { alive = answered(); return alive })
		if alive { // it did all there is to do before it came to that step
			survived++
		}
		if dies > 400 {
			t.Fatal("a bridge with nothing to do writes on and on")
		}
	}
	steps := g.kills
	for range random {
		say()
		end := time.Now().Add(time.Duration(rand.IntN(250)) * time.Millisecond)
		g.live(0, func() bool { return time.Now().After(end) })
	}
	say()
	g.live(0, answered)
	t.Logf("killed %d times at a step, %d times at a random moment", steps, g.kills-steps)

	var heard, want []string
	for _, l := range st.lines("dev") {
		if !l.Agent {
			heard = append(heard, plainWords(l.Text))
		}
	}
	for i := range said {
		want = append(want, fmt.Sprintf("message %d", i))
	}
	equalAll(t, "the room", heard, want...)
	g.checkSent(said)
}

// checkSent checks what the chat has got: every part of every answer, in order.
func (g *grave) checkSent(said int) {
	g.t.Helper()
	var want []string
	for i := range said {
		for _, m := range Render(answer(fmt.Sprintf("message %d", i)), MaxUnits) {
			want = append(want, m.Text)
		}
	}
	sent := g.Texts(g.dm)
	got := slices.Compact(slices.Clone(sent))
	g.t.Logf("%d messages came twice", len(sent)-len(got))
	if len(sent)-len(got) > g.kills {
		g.t.Errorf("%d messages came twice, and it died %d times", len(sent)-len(got), g.kills)
	}
	equalAll(g.t, "the chat", got, want...)
}
