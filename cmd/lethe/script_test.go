//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lethe/internal/sandbox"
)

// raceOptions keep a program with the race detector from sleeping a second
// before it exits.
const raceOptions = "atexit_sleep_ms=0"

// setUp gives a script a home of its own, and no key.
func setUp(e *testscript.Env) error {
	js := &jobs{named: map[string]*job{}}
	e.Values[jobsKey{}] = js
	e.Values[botKey{}] = new(botServer)
	e.Defer(js.end)
	e.Setenv("HOME", e.WorkDir)
	e.Setenv("GORACE", raceOptions)
	e.Setenv("GOGC", "400") // what lives for moments has nothing to collect
	e.Setenv("LETHE_HOME", filepath.Join(e.WorkDir, "home"))
	return nil
}

// scriptCommands are what the scripts use beside the commands of testscript:
//
//	code N PROGRAM ARG...      run it and check the exit code; stdout and stderr look at the rest
//	start JOB PROGRAM ARG...   run it in the background, with output in JOB.out and JOB.err
//	daemon JOB ARG...          start JOB lethe run ARG..., and wait until it is ready
//	signal NAME JOB            send KILL, TERM, INT or HUP
//	exits JOB N [soon]         wait for its end, and check the exit code; 137 is kill -9
//	await FILE REGEXP [N]      wait until a file has N (1) matches
//	count N FILE REGEXP        a file has exactly so many matches
//	capture VAR FILE REGEXP    await, and keep the first group of the first match
//	put FILE TEXT              append text and a newline, as echo >> does
//	edit FILE OLD NEW          replace bytes in a file
//	until REGEXP PROGRAM ARG...  run it again and again until stdout matches
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":    atLeast(2, scriptCode),
	"start":   atLeast(2, scriptStart),
	"daemon":  atLeast(1, scriptDaemon),
	"signal":  atLeast(2, scriptSignal),
	"exits":   atLeast(2, scriptExits),
	"await":   atLeast(2, scriptAwait),
	"count":   atLeast(3, scriptCount),
	"capture": atLeast(3, scriptCapture),
	"put":     atLeast(2, scriptPut),
	"edit":    atLeast(3, scriptEdit),
	"until":   atLeast(2, scriptUntil),
}

// patience is how long a script waits for what has to happen. What has to happen
// soon takes two seconds where nothing else is done, and a minute or for ever when
// something is waited for that should not be.
const (
	patience = 90 * time.Second
	soon     = 20 * time.Second
)

// atLeast is a command of scripts with so many arguments, or more.
func atLeast(
	least int, run func(ts *testscript.TestScript, args []string),
) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("called wrongly: see scriptCommands")
		}
		need(ts, args, least)
		run(ts, args)
	}
}

// need stops a script that calls a command wrongly.
func need(ts *testscript.TestScript, args []string, least int) {
	if len(args) < least {
		ts.Fatalf("called wrongly: see scriptCommands")
	}
}

func scriptCode(ts *testscript.TestScript, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	got := 0
	if exit != nil {
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// job is a process in the background.
type job struct {
	cmd  *exec.Cmd
	done chan struct{}
}

type jobsKey struct{}

type jobs struct{ named map[string]*job }

// end kills what a script left running.
func (js *jobs) end() {
	for _, j := range js.named {
		_ = j.cmd.Process.Kill()
		<-j.done
	}
}

func jobOf(ts *testscript.TestScript, name string) *job {
	j := ts.Value(jobsKey{}).(*jobs).named[name]
	if j == nil {
		ts.Fatalf("no job %s", name)
	}
	return j
}

func scriptStart(ts *testscript.TestScript, args []string) {
	name := args[0]
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Args[0] = args[1]
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	var files []*os.File
	for _, end := range []string{".out", ".err"} {
		f, err := os.Create(ts.MkAbs(name + end))
		ts.Check(err)
		files = append(files, f)
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	ts.Check(cmd.Start())
	j := &job{cmd, make(chan struct{})}
	ts.Value(jobsKey{}).(*jobs).named[name] = j
	go func() { // ends with the process, which jobs.end kills
		_ = cmd.Wait()
		for _, f := range files {
			f.Close()
		}
		close(j.done)
	}()
}

// passed are the variables that a script's background processes get: testscript
// does not tell all of its own.
var passed = []string{"PATH", "HOME", "GORACE", "GOGC", "LETHE_HOME", "TELEGRAM_BOT_TOKEN", "TMPDIR",
	"DEEPSEEK_API_KEY", "LETHE_API_KEY", killAt, hangWhen}

func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range passed {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func scriptDaemon(ts *testscript.TestScript, args []string) {
	scriptStart(ts, append([]string{args[0], "lethe", "run"}, args[1:]...))
	j := jobOf(ts, args[0])
	scriptWait(ts, args[0]+" is ready", func() bool {
		select {
		case <-j.done:
			ts.Fatalf("%s ended before it was ready:\n%s", args[0], ts.ReadFile(args[0]+".err"))
		default:
		}
		return strings.Contains(ts.ReadFile(args[0]+".out"), "ready ")
	})
}

func scriptWait(ts *testscript.TestScript, what string, ok func() bool) {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

var signalNames = map[string]os.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}

func scriptSignal(ts *testscript.TestScript, args []string) {
	sig, ok := signalNames[args[0]]
	if !ok {
		ts.Fatalf("no signal %s", args[0])
	}
	ts.Check(jobOf(ts, args[1]).cmd.Process.Signal(sig))
}

func scriptExits(ts *testscript.TestScript, args []string) {
	limit := patience
	if len(args) > 2 && args[2] == "soon" {
		limit = soon
	}
	j := jobOf(ts, args[0])
	began := time.Now()
	select {
	case <-j.done:
	case <-time.After(limit):
		ts.Fatalf("%s has not ended within %v", args[0], limit)
	}
	got := j.cmd.ProcessState.ExitCode()
	if ws := j.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		got = 128 + int(ws.Signal())
	}
	ts.Logf("%s ended with %d after %v", args[0], got, time.Since(began).Round(time.Millisecond))
	if strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s: exit code %d, want %s\n%s", args[0], got, args[1], ts.ReadFile(args[0]+".err"))
	}
}

// scriptUntil is for what a program shows of another process's state.
func scriptUntil(ts *testscript.TestScript, args []string) {
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	began := time.Now()
	scriptWait(ts, args[1]+" prints "+args[0], func() bool {
		time.Sleep(min(time.Since(began)/10, time.Second)) // a start of a program takes more than a look
		ts.Check(ts.Exec(args[1], args[2:]...))
		return re.MatchString(ts.ReadFile("stdout"))
	})
}

// matches are the places where a file, which may be missing, matches.
func matches(ts *testscript.TestScript, file, expr string) (text string, all [][]string) {
	re, err := regexp.Compile("(?m)" + expr)
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Check(err)
	}
	return string(data), re.FindAllStringSubmatch(string(data), -1)
}

func scriptAwait(ts *testscript.TestScript, args []string) {
	n := 1
	if len(args) > 2 {
		n = atoi(ts, args[2])
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, all := matches(ts, args[0], args[1])
		if len(all) >= n {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited %v in vain for %q in %s:\n%s", patience, args[1], args[0], text)
		}
	}
}

func scriptCount(ts *testscript.TestScript, args []string) {
	text, all := matches(ts, args[1], args[2])
	if fmt.Sprint(len(all)) != args[0] {
		ts.Fatalf("%s matches %q %d times, want %s:\n%s", args[1], args[2], len(all), args[0], text)
	}
}

func scriptCapture(ts *testscript.TestScript, args []string) {
	scriptAwait(ts, args[1:])
	_, all := matches(ts, args[1], args[2])
	ts.Setenv(args[0], all[0][1])
}

func scriptPut(ts *testscript.TestScript, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	ts.Check(err)
	_, err = f.WriteString(strings.Join(args[1:], " ") + "\n")
	ts.Check(errors.Join(err, f.Close()))
}

func scriptEdit(ts *testscript.TestScript, args []string) {
	path := ts.MkAbs(args[0])
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%q is not in %s", args[1], args[0])
	}
	ts.Check(os.Chmod(path, 0o600))
	ts.Check(os.WriteFile(path, []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}

// scriptCondition knows sandbox: whether the kernel can confine commands.
func scriptCondition(cond string) (bool, error) {
	if cond == "sandbox" {
		return canConfine(), nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// canConfine tells whether the kernel has the Landlock that tools.BashSandbox
// needs.
func canConfine() bool {
	by, err := sandbox.Confiner()
	return err == nil && by == sandbox.Landlock
}
