// Command lethe runs agents that live for months: see lethe --help, and
// README.md for a tour.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"lethe/agent/host"
	"lethe/internal/secret"
)

func main() {
	host.Main() // BASH runs this program again, to confine commands
	os.Exit(run(os.Args[1:]))
}

// run is the whole program; it returns the exit code.
func run(args []string) int {
	ctx, stop := signals()
	defer stop()
	app := newApp(os.Stdin, os.Stdout, os.Stderr)
	secret.Add(os.Getenv(botToken)) // nobody may see its value
	host.HideKeys()
	return app.execute(ctx, args)
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
				os.Exit(exitInterrupt)
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel() }
}
