package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/sandbox"
	"lethe/internal/test/lethetest"
)

func TestBashOutputAndExit(t *testing.T) {
	for _, mode := range []string{BashSandbox, BashTrusted} {
		id := newIdentity(t, func(c *Config) { c.Bash = mode })
		id.gives("out\nerr\nmore\n[exit 0]", "BASH", "command", "echo out; echo err >&2; echo more")
		r := id.do("BASH", "command", "printf 'no newline'; exit 3")
		if string(r.Body) != "no newline\n[exit 3]" || !r.Err {
			t.Errorf("got %q, err %v", r.Body, r.Err)
		}
		if r := id.do("BASH", "command", "kill -9 $$"); !r.Err || !strings.HasPrefix(string(r.Body), "[killed by signal 9 (killed)") {
			t.Errorf("got %q, err %v", r.Body, r.Err)
		}
		if got := id.ok("BASH", "command", "cat; pwd; echo $HOME"); got != id.work+"\n"+id.dir+"/sandbox/home\n[exit 0]" {
			t.Errorf("standard input or directory: %q", got)
		}
		out := id.do("BASH", "command", "cat ../LIFE.md "+id.home+"/config.toml")
		if confined := strings.Contains(id.description("BASH"), "It is confined"); confined != (mode == BashSandbox) || confined != out.Err {
			t.Errorf("%s is described as confined: %v, and the home is hidden: %v", mode, confined, out.Err)
		}
	}
}

// Where there is to be no network, neither a call reaches it nor a trigger or a check, and the model is told.
func TestBashOffline(t *testing.T) {
	const try = "exec 3<>/dev/tcp/127.0.0.1/9"
	for _, mode := range []string{BashSandbox, BashTrusted} {
		open := newIdentity(t, func(c *Config) { c.Bash = mode })
		lethetest.Words(t, string(open.do("BASH", "command", try).Body), "Connection refused")
		id := newIdentity(t, func(c *Config) { c.Bash, c.Offline = mode, true })
		lethetest.Words(t, id.description("BASH"), "he network is cut off")
		lethetest.Words(t, string(id.do("BASH", "command", try).Body), "Permission denied")
		why, _ := id.Check(t.Context(), try, "", nil, time.Minute)
		lethetest.Words(t, why, "Permission denied")
		printed, failure := id.RunTrigger(t.Context(), "t", try+" 2>&1")
		lethetest.Words(t, printed+failure, "ermission denied")
	}
}

func TestBashArguments(t *testing.T) {
	id := newIdentity(t, nil)
	id.fails([]string{"command is empty"}, "BASH", "command", " ")
	id.fails([]string{"zero byte"}, "BASH", "command", "echo \x00")
	id.fails([]string{"too long", "WRITE_FILE"}, "BASH", "command", strings.Repeat("x", maxCommand+1))
	id.fails([]string{"integer", "soon"}, "BASH", "command", "true", "timeout", "soon")
	id.ok("BASH", "command", ": "+strings.Repeat("x", maxCommand-2), "timeout", "5")
}

func TestBashEndsInTime(t *testing.T) {
	id := newIdentity(t, nil)
	id.fails([]string{"partial\n", "[timeout after 1 s: it and everything it started was killed"}, "BASH", "command",
		"echo partial; sleep 60; true", "timeout", 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Result, 1)
	go func() { ended <- id.doCtx(ctx, "BASH", "command", "echo ready; touch ready; sleep 1000") }()
	lethetest.Eventually(t, "the command runs", func() bool { _, err := os.Stat(filepath.Join(id.work, "ready")); return err == nil })
	cancel()
	lethetest.Words(t, string((<-ended).Body), "ready\n", "[interrupted: it and everything")
}

func TestBashOutputIsBoundedAndReachable(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.MaxOutput = 64 << 10 })
	const size = 16 << 20
	r := id.do("BASH", "command", fmt.Sprintf("echo first; head -c %d /dev/zero | tr '\\0' 'x'; echo; echo last", size))
	if r.Err || len(r.Body) > 66<<10 {
		t.Fatalf("err %v, %d bytes", r.Err, len(r.Body))
	}
	lethetest.Words(t, string(r.Body), "first\nxxx", "xxx\nlast\n[exit 0", fmt.Sprintf("[… %d bytes", size+12-64<<10), ".output/e12.1.txt")
	fi, err := os.Stat(filepath.Join(id.work, ".output/e12.1.txt"))
	if err != nil || fi.Size() != size+12 {
		t.Fatalf("kept %v, %v", fi, err)
	}
	if got := id.ok("READ_FILE", "path", ".output/e12.1.txt", "offset", 3); !strings.HasSuffix(got, "]\nlast\n") {
		t.Errorf("read back %q", clip(got, 200))
	}
}

func TestBashOutputThatCannotBeKept(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.MaxOutput = 1 << 10 })
	outside := filepath.Join(id.home, "agents", "other")
	lethetest.Must(t, os.Symlink(outside, filepath.Join(id.work, ".output")))
	r := id.do("BASH", "command", "seq 10000")
	lethetest.Words(t, string(r.Body), "could not be kept", "[exit 0")
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("written through the link: %v", entries)
	}
}

func (id *identity) description(name string) string {
	for _, tool := range id.tools {
		if tool.Name == name {
			return tool.Description
		}
	}
	return ""
}

func TestExitLineTellsDurationsThatMatter(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		want string
	}{{999 * time.Millisecond, "[exit 2]"}, {1300 * time.Millisecond, "[exit 2, 1.3 s]"}} {
		if got, good := exitLine(sandbox.Outcome{Exit: 2}, nil, nil, time.Minute, c.took); got != c.want || good {
			t.Errorf("%v: %s", c.took, got)
		}
	}
	got, _ := exitLine(sandbox.Outcome{}, sandbox.ErrStuck, errTimeout, time.Minute, time.Minute)
	lethetest.Words(t, got, "timeout after 60 s", "takes long to die")
}

func TestBashThatNeverStopsWritingIsKilled(t *testing.T) {
	id := newIdentity(t, func(c *Config) { c.MaxOutput = 1 << 10 })
	id.fails([]string{"y\ny\n", "[too much output: it wrote more than 128 MB", "everything it started was killed"}, "BASH", "command", "yes")
	if fi, err := os.Stat(filepath.Join(id.work, ".output/e12.1.txt")); err != nil || fi.Size() > maxSpool {
		t.Errorf("kept %v, %v", fi, err)
	}
}

// Of the workspace a worker writes its files alone, whatever links stand there, and reads all.
func TestBashWritesFilesOnly(t *testing.T) {
	for _, mode := range []string{BashSandbox, BashTrusted} {
		id := newIdentity(t, func(c *Config) {
			c.Bash, c.Files = mode, []string{"mine", "dir", "new", "link", "deep/link/x", "../beside"}
		})
		outside := filepath.Join(t.TempDir(), "outside")
		for _, file := range []string{"mine", "other", "dir/x", "deep/x"} {
			lethetest.Write(t, filepath.Join(id.work, file), "was")
		}
		lethetest.Write(t, outside, "was")
		lethetest.Write(t, filepath.Join(id.work, "../beside"), "was")
		lethetest.Must(t, os.Symlink(outside, filepath.Join(id.work, "link")))
		lethetest.Must(t, os.Symlink("../other", filepath.Join(id.work, "dir/link")))
		lethetest.Must(t, os.Symlink("..", filepath.Join(id.work, "deep/link")))
		id.do("BASH", "command", "for f in mine other dir/x dir/y dir/link link new deep/x deep/link/x ../beside; do echo is > $f; done")
		for file, want := range map[string]string{"mine": "is\n", "dir/x": "is\n", "dir/y": "is\n", "other": "was", "deep/x": "was"} {
			lethetest.Holds(t, filepath.Join(id.work, file), want)
		}
		lethetest.Holds(t, outside, "was")
		lethetest.Holds(t, filepath.Join(id.work, "../beside"), "was")
		id.ok("WRITE_FILE", "path", "new", "content", "is")
		for _, file := range []string{"other", "dir/../other", "deep/link/other", "deep/link/x", "work/a.md"} {
			id.fails([]string{"refused", "may write only mine, dir"}, "WRITE_FILE", "path", file, "content", "is")
		}
		bounded := []string{"mine"}
		for n, files := range [][]string{nil, bounded} { // by those of the worker, and by those of a step
			if id.Files = id.Files[:max(n, 1)]; n == 1 {
				id.Files = nil
			}
			const check = `echo is > other; echo again > mine && echo x > "$TMPDIR/x" && cat dir/x`
			if why, ran := id.Check(t.Context(), check, "", files, time.Minute); why != "" || !ran {
				t.Error(why)
			}
			lethetest.Holds(t, filepath.Join(id.work, "other"), "was")
			lethetest.Holds(t, filepath.Join(id.work, "mine"), "again\n")
		}
		if why, ran := id.Check(t.Context(), "! echo is > mine", "", []string{}, time.Minute); why != "" || !ran {
			t.Error(why)
		}
		id.Check(t.Context(), "echo is > other", "", nil, time.Minute) // of who has no bounds
		lethetest.Holds(t, filepath.Join(id.work, "other"), "is\n")
	}
}
