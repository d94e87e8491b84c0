package lethetest

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // its flags must be there before init sets one
)

// Property tests draw the same cases each time, so that a failure is the work of the change at hand. With LETHE_LONG=1,
// as each night, they draw others, and print the seed that repeats a failure.
func init() {
	if os.Getenv("LETHE_LONG") != "" {
		return
	}
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
