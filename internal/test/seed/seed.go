// Package seed has property tests draw the same cases each time, so that a failure is the work of the change at hand.
// With LETHE_LONG=1, as each night, they draw others, and print the seed that repeats a failure. A package whose tests
// import rapid imports this one, too, and no other: it costs each process that a test starts two milliseconds.
package seed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // its flags must be there before init sets one
)

func init() {
	if os.Getenv("LETHE_LONG") != "" {
		return
	}
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
