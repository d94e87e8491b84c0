//go:build unix

package main_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"lethe/agent/host"
	offline "lethe/agent/llm/rehearsal"
	program "lethe/cmd/lethe"
	"lethe/cmd/lethe/cli"
	"lethe/internal/durable"
	"lethe/internal/test/rehearsal"
	"lethe/internal/test/sharetest"
)

func TestMain(m *testing.M) {
	host.Main()
	sharetest.Serve()
	testscript.Main(m, map[string]func(){"lethe": func() {
		armFault()
		hurry()
		app := cli.New(os.Stdin, os.Stdout, os.Stderr)
		app.Runs.HintTime, app.Runs.Pace = time.Minute, 0
		offline.Strict = rehearsal.Strict
		os.Exit(program.Run(app, os.Args[1:]))
	}, "rehearse": rehearse})
}

// rehearse serves the offline model with the script that its argument names, until SIGTERM. With a second argument it
// takes pictures, and tells of each.
func rehearse() {
	steps, err := rehearsal.LoadScript(os.Args[1])
	if err != nil {
		panic(err)
	}
	saw := func(picture string) { fmt.Println("saw", picture) }
	server := httptest.NewServer(rehearsal.New(rehearsal.Options{Script: steps, Sees: len(os.Args) > 2, Saw: saw}))
	fmt.Printf("serving %s/\n", server.URL)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
}

// Environment of the program under test.
const (
	// killAt is a write to die at, "before:17" or "after:17"; the first is 1. With "fails:17" it fails, and all behind it.
	killAt = "LETHE_TEST_KILL_AT"
	// hangWhen is a file: when it is there, writes do not come back.
	hangWhen = "LETHE_TEST_HANG_WHEN"
	// traceTo is a file that gets a line for each write.
	traceTo = "LETHE_TEST_TRACE"
)

// armFault makes the program kill itself at one write, hang, or write down all of
// them. A sync is no write: kill -9 leaves the same behind before and after it.
func armFault() {
	at, hang, trace := os.Getenv(killAt), os.Getenv(hangWhen), os.Getenv(traceTo)
	if at == "" && hang == "" && trace == "" {
		return
	}
	var out *os.File
	if trace != "" {
		var err error
		if out, err = os.OpenFile(trace, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			panic(err)
		}
	}
	var steps atomic.Int64
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if op == "sync" || op == "syncdir" {
			return nil
		}
		n := steps.Load()
		if stage == durable.Before {
			n = steps.Add(1)
			if out != nil {
				fmt.Fprintln(out, op, filepath.Base(path))
			}
		}
		if _, err := os.Stat(hang); hang != "" && err == nil {
			select {}
		}
		var from int64
		if _, err := fmt.Sscanf(at, "fails:%d", &from); err == nil && n >= from && stage == durable.Before && !strings.Contains(path, "/store/") {
			return syscall.EIO
		}
		if at == fmt.Sprintf("%s:%d", stage, n) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
		return nil
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setUp,
		Cmds:                scriptCommands,
		Condition:           scriptCondition,
		Deadline:            time.Now().Add(8 * time.Minute),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
