// Command lethe runs agents that live for months: see lethe --help, and
// README.md for a tour.
package main

import (
	"os"

	"lethe/tools"
)

func main() {
	tools.MaybeSandbox() // BASH runs this program again, as its sandbox
	os.Exit(run(os.Args[1:]))
}
