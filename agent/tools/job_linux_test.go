package tools

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

// jobIdentity is an identity whose BASH calls become jobs after wait.
func jobIdentity(t *testing.T, wait time.Duration) (*identity, chan struct{}) {
	t.Helper()
	ended := make(chan struct{}, 100)
	id := newIdentity(t, func(c *Config) { c.BashWait, c.JobEnded, c.MaxOutput = wait, func() { ended <- struct{}{} }, 1<<10 })
	t.Cleanup(id.StopJobs)
	return id, ended
}

// job starts a job.
func (id *identity) job(n int, command string, pairs ...any) string {
	id.t.Helper()
	id.next = n
	r := id.do("BASH", append([]any{"command", command, "background", 1}, pairs...)...)
	if r.Err || r.Job != n {
		id.t.Fatalf("job %d: %s", r.Job, r.Body)
	}
	return string(r.Body)
}

func (id *identity) log(n int) string {
	text, _ := os.ReadFile(filepath.Join(id.dir, "jobs", strconv.Itoa(n), "log"))
	return string(text)
}

func TestCallGoesOnAsJob(t *testing.T) {
	id, ended := jobIdentity(t, time.Millisecond)
	id.next = 3
	lethetest.Words(t, string(id.do("BASH", "command", "echo begun; until [ -e go ]; do sleep 0.01; done; seq 500; echo done").Body),
		"[job 3 goes on", "at most 1h:", "READ_FILE self/jobs/3/log", "WRITE_FILE self/jobs/3/stop", "room dev")
	lethetest.Eventually(t, "its log", func() bool { return id.log(3) == "begun\n" })
	lethetest.Words(t, id.ok("READ_FILE", "path", "self/jobs/3/log"), "[self/jobs/3/log: lines 1-1 of 1", "\nbegun\n")
	lethetest.Words(t, id.ok("READ_FILE", "path", "self/jobs/3/command"), "until [ -e go ]")
	lethetest.Words(t, id.ok("LIST", "path", "self/jobs"), "3/")
	id.fails([]string{"only stop"}, "WRITE_FILE", "path", "self/jobs/3/log", "content", "x")
	s, err := ReadJob(id.dir, 3)
	if err != nil || !s.Ended.IsZero() {
		t.Errorf("state of a job that runs: %+v, %v", s, err)
	}
	id.file("go", "")
	<-ended
	s = ReadJobs(id.dir)[0]
	if s.Ended.IsZero() || !strings.HasPrefix(s.End, "exit 0") {
		t.Errorf("state of a job that has ended: %+v", s)
	}
	lethetest.Words(t, string(id.JobOutput(3)), "begun\n1\n", "self/jobs/3/log: READ_FILE it …]", "500\ndone\n[exit 0")
	lethetest.Words(t, id.ok("READ_FILE", "path", "self/jobs/3/log", "offset", -3), "lines 501-503 of 503", "done\n[exit 0")
	if id.ForgetJob(3); len(id.Jobs()) != 0 {
		t.Errorf("it is not forgotten: %+v", id.Jobs())
	}
}

func TestQuickCallIsNoJob(t *testing.T) {
	id, _ := jobIdentity(t, time.Minute)
	id.next = 1
	id.gives("out\n[exit 0]", "BASH", "command", "echo out")
	if _, err := os.Stat(filepath.Join(id.dir, "jobs")); err == nil {
		t.Error("a call that ended has left a directory")
	}
}

// A job is stopped by its identity, by a timeout and for a log that is too long, and
// with it dies all that it started.
func TestJobIsStopped(t *testing.T) {
	id, ended := jobIdentity(t, time.Minute)
	const detached = `(setsid sleep 1000 & echo $! >> pids; wait) & until [ -s pids ]; do sleep 0.01; done; `
	for n, c := range []struct{ command, how string }{
		{detached + "touch ready; wait", "stopped by you"},
		{detached + "exec sleep 1000", "timeout after 1 s"},
		{detached + "yes", "too much output: it wrote more than 128 MB"},
	} {
		n++
		_ = os.Remove(filepath.Join(id.work, "pids"))
		id.job(n, c.command, "timeout", map[bool]int{true: 1, false: 600}[n == 2])
		if n == 1 {
			lethetest.Eventually(t, "it runs", func() bool { _, err := os.Stat(filepath.Join(id.work, "ready")); return err == nil })
			id.gives("job 1 is being stopped. A line tells its end", "WRITE_FILE", "path", "self/jobs/1/stop", "content", "")
		}
		<-ended
		if s, _ := ReadJob(id.dir, n); !strings.HasPrefix(s.End, c.how) {
			t.Errorf("%s ended as %+v", c.command, s)
		}
		pid := strings.TrimSpace(lethetest.Read(t, filepath.Join(id.work, "pids")))
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s outlives job %d", pid, n)
		}
		id.ForgetJob(n)
	}
	if fi, err := os.Stat(filepath.Join(id.dir, "jobs/3/log")); err != nil || fi.Size() > maxSpool+1000 {
		t.Errorf("log %v, %v", fi, err)
	}
	id.fails([]string{"no job 1 runs"}, "WRITE_FILE", "path", "self/jobs/1/stop", "content", "")
}

func TestJobsAreBounded(t *testing.T) {
	id, ended := jobIdentity(t, time.Millisecond)
	for n := range maxJobs {
		id.job(n+1, "sleep 1000")
	}
	id.next = maxJobs + 1
	id.fails([]string{"8 jobs run already"}, "BASH", "command", "true", "background", 1)
	id.fails([]string{"was killed", "could not go on as a job: 8 jobs run already"}, "BASH", "command", "sleep 1000")
	id.StopJobs()
	for _, s := range id.Jobs() {
		if !strings.HasPrefix(s.End, "stopped with the daemon") {
			t.Errorf("job %d ended as %q", s.ID, s.End)
		}
		id.ForgetJob(s.ID)
	}
	for n := range keptJobs + maxJobs {
		<-ended
		if n < keptJobs {
			id.job(n+100, "sleep 0.5") // longer than it takes to note a job, on a busy disk too
		}
		id.ForgetJob(n + 100 - maxJobs)
	}
	if left := ReadJobs(id.dir); len(left) != keptJobs || left[0].ID != 100 {
		t.Errorf("%d are kept, from %d on", len(left), left[0].ID)
	}
}

// A call that ends with its context is none, whether or not that is a job's beginning.
func TestEndedContextMakesNoJob(t *testing.T) {
	id, _ := jobIdentity(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan Result, 1)
	id.next = 1
	go func() { result <- id.doCtx(ctx, "BASH", "command", "touch ready; sleep 1000") }()
	lethetest.Eventually(t, "it runs", func() bool { _, err := os.Stat(filepath.Join(id.work, "ready")); return err == nil })
	cancel()
	if r := <-result; r.Job != 0 || len(id.Jobs()) > 0 || !strings.HasPrefix(string(r.Body), "[interrupted") {
		t.Errorf("%+v", r)
	}
}

func TestJobHasNoSecrets(t *testing.T) {
	const key = "sk-0123456789-of-the-daemon"
	secret.Add(key)
	id, ended := jobIdentity(t, time.Minute)
	id.job(1, "sleep 0.5; echo a key "+key)
	<-ended
	if log := id.log(1); !strings.HasPrefix(log, "a key [secret*") {
		t.Errorf("log %q", log)
	}
	if s, _ := ReadJob(id.dir, 1); strings.Contains(s.Command, key) {
		t.Errorf("command %q", s.Command)
	}
	pieces := &spool{bound: 100}
	for _, b := range []string{"sk-01", "23456789-of-the", "-daemon, sk-0", "x sk", "-"} {
		_, _ = pieces.Write([]byte(b))
	}
	if pieces.close(""); strings.Contains(string(pieces.result()), key) || !strings.HasSuffix(string(pieces.result()), "*], sk-0x sk-") {
		t.Errorf("in pieces: %q", pieces.result())
	}
}
