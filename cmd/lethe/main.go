// Command lethe runs agents that live for months: see lethe --help, and
// README.md for a tour.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"lethe/agent/host"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/internal/secret"
)

func main() {
	collectLater()
	host.Main() // BASH runs this program again, to confine commands
	os.Exit(run(cli.New(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
}

// collectLater has the first collection come at 8 MB of heap, Go's usual 4 MB times two: a start makes 3.5 MB, and ends
// before it. Then all is as usual.
func collectLater() {
	if os.Getenv("GOGC") == "" {
		runtime.SetFinalizer(new([4]*byte), func(*[4]*byte) { debug.SetGCPercent(100) })
		debug.SetGCPercent(200)
	}
}

// run is the whole program; it returns the exit code.
func run(app *cli.App, args []string) int {
	ctx, stop := signals()
	defer stop()
	secret.Add(os.Getenv(bot.Variable)) // nobody may see its value
	host.HideKeys()
	return execute(ctx, app, args)
}

// execute runs a command line, and returns the exit code.
func execute(ctx context.Context, app *cli.App, args []string) int {
	app.JSON = wantsJSON(args)
	root := newRootCommand(app)
	root.SetArgs(args)
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		app.Report(err)
	}
	app.Flush()
	return cli.CodeOf(err)
}

// wantsJSON looks for --json before the flags are parsed, which may fail.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// signals ends a context at the first SIGINT or SIGTERM; the second ends the
// process at once.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-ch
		cancel()
		for first := time.Now(); ; {
			// Wrappers such as timeout(1) send the same signal to the process and to its group.
			if <-ch; time.Since(first) > 300*time.Millisecond {
				os.Exit(exit.Interrupt)
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel() }
}
