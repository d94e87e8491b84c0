// Command lethe runs agents that live for months: see lethe --help, and
// README.md for a tour.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"lethe/host"
	"lethe/internal/bench"
	"lethe/internal/secret"
)

func main() {
	host.Main()  // BASH runs this program again, to confine commands
	bench.Main() // lethe bench runs it as what it compares with
	os.Exit(run(os.Args[1:]))
}

// run is the whole program; it returns the exit code.
func run(args []string) int {
	ctx, stop := signals()
	defer stop()
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	rememberKeys()
	return p.execute(ctx, args)
}

// rememberKeys makes known which values of the environment nobody may see.
func rememberKeys() {
	for _, t := range transports() {
		secret.Add(os.Getenv(t.variable))
	}
	host.HideKeys()
}

// sameSignal is how long a signal may come again and still be the same: wrappers
// such as timeout(1) send it to the process and to its group.
const sameSignal = 300 * time.Millisecond

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
			if <-ch; time.Since(first) > sameSignal {
				os.Exit(exitInterrupt)
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel() }
}
