//go:build unix

package main_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// TestBridgeTakenOver kills, and later drains, a host with its bridge, whose processes are real. Another host, which came when
// the first one had been alone, answers people through the bridge: within 45 s and 3 s.
func TestBridgeTakenOver(t *testing.T) {
	if !lethetest.Long() {
		t.Skip("it waits as long as hosts do: LETHE_LONG=1")
	}
	server := botapi.New("")
	url, ends := server.Start()
	t.Cleanup(ends)
	t.Setenv("TELEGRAM_BOT_TOKEN", server.Token())
	sites := newSites(t, directoryEngine(t, 3), 3, fmt.Sprintf("[telegram]\nbase_url = %q\n", url))
	bridge := func(s *site) (*exec.Cmd, chan struct{}) {
		cmd := s.command("bridge", "telegram")
		cmd.Stdout, cmd.Stderr = &s.err, &s.err
		gone := begin(t, cmd)
		t.Cleanup(func() { end(cmd, gone) })
		return cmd, gone
	}
	eve := server.User("eve")
	chat := server.Private(eve)
	answers := func(n int, at *site, since time.Time, most time.Duration) {
		t.Helper()
		server.Say(chat, eve, fmt.Sprintf("what is %d*7?", n))
		want := fmt.Sprintf("%d*7 = %d", n, n*7)
		for !strings.Contains(strings.Join(server.Texts(chat), "\n"), want) {
			if time.Since(since) > 3*time.Minute {
				t.Fatalf("no answer: %q\n%s", server.Texts(chat), at.err.String())
			}
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(since)
		t.Logf("answered by %s after %.1f s", filepath.Base(at.dir), took.Seconds())
		if took > most {
			t.Errorf("after %v", took)
		}
		if got := strings.Count(strings.Join(server.Texts(chat), "\n"), want); got != 1 {
			t.Errorf("%d answers", got)
		}
	}

	first, second, third := sites[0], sites[1], sites[2]
	first.boot([]string{"ada"}, func(string) string { return "dev" })
	first.start("ada")
	at, gone := bridge(first)
	server.Say(chat, eve, "hello, let me in")
	allow := regexp.MustCompile(`allow (\d+)`)
	lethetest.Eventually(t, "the bot asks for leave", func() bool {
		return allow.MatchString(strings.Join(server.Texts(chat), "\n"))
	})
	first.lethe("bridge", "telegram", "allow", fmt.Sprint(eve.ID), "eve", "--room", "dev")
	answers(2, first, time.Now(), time.Minute)
	time.Sleep(150 * time.Second) // it is alone, and says so by its pace

	first.kill()
	_ = at.Process.Kill()
	<-gone
	killed := time.Now()
	second.start()
	_, gone = bridge(second)
	answers(3, second, killed, 45*time.Second)

	third.start()
	bridge(third)
	time.Sleep(time.Minute) // they know each other
	second.mu.Lock()
	second.ends = true
	second.mu.Unlock()
	drained := time.Now()
	third.lethe("hosts", "drain", hostID(t, second))
	<-gone
	t.Logf("the drained host ends its bridge after %.1f s", time.Since(drained).Seconds())
	answers(4, third, time.Now(), 3*time.Second)
	<-second.gone
	if v := server.Violations(); len(v) > 0 {
		t.Error(v)
	}
}

// hostID returns the number of a host.
func hostID(t testing.TB, s *site) string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "share", "host-*"))
	return strings.TrimSpace(lethetest.Read(t, files[0]))
}
